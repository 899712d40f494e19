"""What the tests need of the stand-in beside the clients: its control API."""

import json
import os
import unittest
from urllib.request import Request, urlopen

BASE = os.environ["UNDERSTUDY_URL"]


def control(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{BASE}/_understudy/{path}", data=data, method=method)
    with urlopen(request, timeout=60) as response:
        return json.load(response)


def advance(by):
    control("POST", "clock/advance", {"by": by})


def deliveries():
    """The attempts so far, oldest first, once nothing is in flight."""
    control("POST", "settle", {})
    return control("GET", "deliveries?limit=10000")["entries"]


class StandInTest(unittest.TestCase):
    """Begins with an empty account, where app.test answers 200 and down.test 503."""

    def setUp(self):
        control("POST", "reset")
        control("PUT", "stubs", [
            {"url": "https://down.test/*", "answers": [{"status": "503", "body": "busy"}]},
            {"url": "https://app.test/*", "answers": [{"status": "200"}]},
        ])
