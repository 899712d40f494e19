"""Understudy in tests: a local server for QStash and Workflow applications.

    from understudy_mock import Understudy

    with Understudy() as u:
        u.stub("https://payments.test/*", 503, 503, 200)
        ...  # publish with a client that uses u.url and u.token
        u.advance("1h")
        assert [d["response"].get("status") for d in u.deliveries()] == [503, 503, 200]

In pytest, the fixtures `understudy`, `understudy_module` and `understudy_function`
start and reset servers.
"""

from ._binary import binary
from ._explore import ExploreCase, ExploreError, ExploreFinding, explore
from ._server import Understudy, UnderstudyError, start_understudy
from .control_types import Delivery, Event, Exchange, Explanation, Progress, Stub
from .serve_flags import ServeFlags

__all__ = [
    "Delivery",
    "Event",
    "Exchange",
    "Explanation",
    "ExploreCase",
    "ExploreError",
    "ExploreFinding",
    "Progress",
    "ServeFlags",
    "Stub",
    "Understudy",
    "UnderstudyError",
    "binary",
    "explore",
    "start_understudy",
]
