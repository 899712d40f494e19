"""explore: the scenario is a function of a test."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.request
from pathlib import Path
from typing import Any, Callable, List, Optional, Set

import pytest

from understudy_mock import ExploreCase, ExploreError, UnderstudyError

Charge = Callable[[str, int], None]


def post(url: str, body: Any, **headers: str) -> None:
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {name.replace("_", "-"): value for name, value in headers.items()})
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()


def twice(payments: str, order: int) -> None:
    post(payments + "/charges", {"order": order})


def once(payments: str, order: int) -> None:
    post(payments + "/charges", {"order": order}, Idempotency_Key=str(order))


def checkout(charge: Charge, state: Optional[Callable[[], object]] = None) -> Callable[[ExploreCase], None]:
    """Return a scenario: an application charges an order that is published to it."""

    def scenario(c: ExploreCase) -> None:
        charged: Set[int] = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["order"]
                charge(c.outside("payments"), order)
                charged.add(order)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        app = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=app.serve_forever, args=(0.01,), daemon=True).start()
        c.cleanup(app.server_close)
        c.cleanup(app.shutdown)
        c.state(state or (lambda: list(charged)))
        url = f"{c.url}/v2/publish/http://127.0.0.1:{app.server_port}/charge"
        c.do(lambda: post(url, {"order": 1}, Authorization="Bearer " + c.token, Upstash_Deduplication_Id="1"))
        c.advance("1d")

    return scenario


def test_a_handler_that_charges_again_is_found_and_shown_again(understudy_explore: Callable[..., str]) -> None:
    with pytest.raises(ExploreError, match=r"duplicated effect: payments POST /charges \{order:1\}, 2 instead of 1") as found:
        understudy_explore(checkout(twice), outside={"payments": {"answer": {"status": 201}}}, depth=1)
    cases = [finding["case"] for finding in found.value.findings]
    assert any(case.endswith("=lost-answer") for case in cases)
    with pytest.raises(ExploreError) as again:
        understudy_explore(checkout(twice), case=cases[0])
    assert [finding["case"] for finding in again.value.findings] == cases[:1]


def test_nothing_is_found_in_a_handler_that_charges_once(understudy_explore: Callable[..., str]) -> None:
    assert "pairs; 0 findings" in understudy_explore(checkout(once), outside=["payments"])


def test_a_scenario_that_fails_without_a_fault_says_why(understudy_explore: Callable[..., str]) -> None:
    def fails(c: ExploreCase) -> None:
        raise RuntimeError("no database")

    with pytest.raises(ExploreError, match="the scenario fails without a fault: RuntimeError: no database"):
        understudy_explore(fails)


def test_an_application_that_is_not_reset_is_noticed(understudy_explore: Callable[..., str]) -> None:
    cases: List[int] = []

    def state() -> str:
        cases.append(1)
        return "later" if len(cases) > 5 else "first"

    with pytest.raises(ExploreError, match="the reset of the application is not complete"):
        understudy_explore(checkout(once, state), depth=1)


def test_a_wrong_argument_is_named(understudy_explore: Callable[..., str]) -> None:
    with pytest.raises(UnderstudyError, match="--depth: invalid value 9"):
        understudy_explore(checkout(once), depth=9)


def test_the_replay_file_of_a_finding_is_written(understudy_explore: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(ExploreError) as found:
        understudy_explore(checkout(twice), depth=1, faults=["lost-answer"], out=str(tmp_path))
    assert '"kind":"outcome"' in Path(found.value.findings[0]["replay"]).read_text("utf-8")
