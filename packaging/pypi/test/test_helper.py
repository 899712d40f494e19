"""The helper, as it is installed from the wheel."""

from __future__ import annotations

import asyncio
import datetime
import gc
import os
import re
import sys
import typing
import urllib.request

import pytest

import understudy_mock
from understudy_mock import Understudy, UnderstudyError, control_types, start_understudy

APP = "https://app.test/hook"


def publish(u: Understudy, url: str = APP, body: bytes = b"hello", **headers: str) -> None:
    request = urllib.request.Request(f"{u.url}/v2/publish/{url}", body, {"Authorization": f"Bearer {u.token}"})
    for name, value in headers.items():
        request.add_header("Svc-" + name, value)
    urllib.request.urlopen(request).close()


def ended(pid: int, seconds: float = 20) -> bool:
    """Wait for the end of any process; a zombie has ended."""
    import select

    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


class TestServer:
    def test_the_environment_names_its_address(self, understudy: Understudy) -> None:
        assert understudy.env["UNDERSTUDY_URL"] == understudy.url

    def test_the_token_opens_it(self, understudy: Understudy) -> None:
        understudy.stub(APP)
        publish(understudy)
        assert understudy.wait()[0]["url"] == APP

    def test_the_clock_is_manual(self, understudy: Understudy) -> None:
        assert understudy.clock()["mode"] == "manual"

    def test_a_with_block_stops_it(self) -> None:
        with start_understudy() as u:
            pid = u.pid
        assert ended(pid, 0)

    def test_stopping_twice_does_nothing(self) -> None:
        u = Understudy()
        u.stop()
        u.stop()

    def test_a_dropped_one_stops(self) -> None:
        u = Understudy()
        pid = u.pid
        del u
        gc.collect()
        assert ended(pid)

    def test_a_call_after_stop_says_that_it_was_stopped(self) -> None:
        with Understudy() as u:
            pass
        with pytest.raises(UnderstudyError, match="the server was stopped"):
            u.clock()

    @pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
    def test_a_call_to_a_killed_one_gives_its_exit_code(self) -> None:
        import signal

        with Understudy() as u:
            os.kill(u.pid, signal.SIGKILL)
            assert ended(u.pid)
            with pytest.raises(UnderstudyError, match="the server has ended with exit code -9"):
                u.clock()

    def test_a_proxy_of_the_environment_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with Understudy() as u:
            assert u.clock()["now"] > 0

    def test_a_missing_binary_says_what_to_do(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(understudy_mock._binary, "__file__", "/nowhere/_binary.py")
        monkeypatch.delenv("UNDERSTUDY_BINARY", raising=False)
        with pytest.raises(FileNotFoundError, match="install a wheel, or set UNDERSTUDY_BINARY"):
            understudy_mock.binary()


class TestFlags:
    def test_a_list_repeats_the_flag(self) -> None:
        with Understudy(stub=["https://a.test/*=500", "https://b.test/*=404"]) as u:
            assert [s["url"] for s in u.control("GET", "stubs")] == ["https://a.test/*", "https://b.test/*"]

    def test_a_mapping_is_names_and_values(self) -> None:
        with Understudy(rewrite={"https://app.test": "http://127.0.0.1:9"}) as u:
            assert u.control("GET", "rewrites") == {"https://app.test": "http://127.0.0.1:9"}

    def test_false_is_given(self) -> None:
        with Understudy(validate_responses=False, quiet=True, seed=7) as u:
            assert u.token

    def test_a_timedelta_is_a_duration(self) -> None:
        with Understudy(vector_lag=datetime.timedelta(seconds=2), max_backlog="7") as u:
            assert u.token

    def test_an_unknown_one_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnderstudyError, match='unknown flag --dialekt, did you mean "--dialect"'):
            Understudy(dialekt="svc")  # type: ignore[call-arg]

    def test_an_invalid_clock_is_refused(self) -> None:
        with pytest.raises(UnderstudyError, match='exit code 2; .*\n  .*--clock: invalid value'):
            Understudy(clock="moon")  # type: ignore[arg-type]

    def test_with_an_advertised_address_the_helper_still_reaches_it(self) -> None:
        with Understudy(advertise="http://understudy.test:8080") as u:
            assert u.url == "http://understudy.test:8080"
            assert u.clock()["now"] > 0

    def test_the_control_token_opens_the_control_api(self) -> None:
        with Understudy(control_token="secret", addr="0.0.0.0:0") as u:
            port = u.url.rsplit(":", 1)[1]
            request = urllib.request.Request(f"http://127.0.0.1:{port}/_understudy/clock", headers={"Host": "elsewhere.test"})
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(request)
            request.add_header("Authorization", "Bearer secret")
            assert urllib.request.urlopen(request).status == 200
            assert u.clock()["now"] > 0

    def test_the_control_token_of_the_environment_opens_the_control_api(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("UNDERSTUDY_CONTROL_TOKEN", "inherited")
        with Understudy() as u:
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(f"{u.url}/_understudy/clock")
            assert u.clock()["now"] > 0

    @pytest.mark.skipif(not os.path.exists("/proc"), reason="/proc")
    def test_the_control_token_is_not_among_the_arguments(self) -> None:
        with Understudy(control_token="hidden-token") as u, open(f"/proc/{u.pid}/cmdline") as arguments:
            assert "hidden-token" not in arguments.read()


class TestCalls:
    def test_stub_answers_in_turn(self, understudy: Understudy) -> None:
        understudy.stub("https://app.test/*", 503, {"status": 200, "body": "ok"})
        publish(understudy)
        understudy.advance("1h")
        assert [(d["attempt"], d["response"].get("body")) for d in understudy.deliveries()] == [(0, None), (1, "ok")]

    def test_stub_comes_before_the_ones_there_are(self, understudy: Understudy) -> None:
        understudy.stub("https://app.test/*", 500)
        stubs = understudy.stub(APP, 201, method="POST", header={"A": "b"}, per_message=True)
        assert stubs[0] == {"url": APP, "method": "POST", "header": {"A": "b"}, "perMessage": True, "answers": [{"status": 201}]}
        assert len(stubs) == 2

    def test_advance_says_what_it_caused(self, understudy: Understudy) -> None:
        understudy.stub(APP)
        publish(understudy, Delay="10m")
        before = understudy.clock()["now"]
        progress = understudy.advance(datetime.timedelta(minutes=10))
        assert progress == {"now": before + 600_000, "timersFired": 1, "attempts": 1, "failed": 0, "runsWoken": 0}

    def test_advance_to_a_time(self, understudy: Understudy) -> None:
        later = datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc)
        assert understudy.advance(to=later)["now"] == later.timestamp() * 1000

    def test_advance_to_a_time_without_zone_is_refused(self, understudy: Understudy) -> None:
        with pytest.raises(ValueError, match="must have a time zone"):
            understudy.advance(to=datetime.datetime(2100, 1, 1))

    def test_advance_until_idle(self, understudy: Understudy) -> None:
        understudy.stub(APP, 500)
        publish(understudy, Retries="2")
        assert understudy.advance(until="idle")["attempts"] == 2

    def test_advance_without_an_argument_is_refused(self, understudy: Understudy) -> None:
        with pytest.raises(UnderstudyError, match="must be one of") as refused:
            understudy.advance()
        assert refused.value.status == 400

    def test_wait_gives_what_matches(self, understudy: Understudy) -> None:
        understudy.stub("https://app.test/*", 404, 200)
        publish(understudy)
        assert understudy.wait(status=200, advance="1h")[0]["attempt"] == 1
        assert understudy.wait("requests", operation="publishMessage")[0]["response"].get("status") == 200
        assert understudy.wait("events", state="DELIVERED", url=APP)[0]["messageId"].startswith("msg_")

    def test_wait_says_how_many_matched_in_time(self, understudy: Understudy) -> None:
        with pytest.raises(UnderstudyError, match="0 of 2 deliveries matched in time") as late:
            understudy.wait(count=2, timeout=datetime.timedelta(milliseconds=1))
        assert late.value.status == 504

    def test_deliveries_are_filtered(self, understudy: Understudy) -> None:
        understudy.stub("https://*", 200)
        publish(understudy, "https://a.test/")
        publish(understudy, "https://b.test/")
        understudy.settle()
        assert [d["url"] for d in understudy.deliveries(url="https://b.test")] == ["https://b.test/"]
        assert len(understudy.deliveries(status=200, limit=1)) == 1

    def test_requests_are_filtered(self, understudy: Understudy) -> None:
        with pytest.raises(urllib.error.HTTPError):
            publish(understudy, Retries="many")
        refused = understudy.requests(refused=True)
        assert len(refused) == 1
        assert "must be an integer" in refused[0]["problems"][0]
        assert understudy.requests(refused=False) == []

    def test_a_failed_message_is_in_the_dlq(self, understudy: Understudy) -> None:
        understudy.stub(APP, 500)
        publish(understudy, Retries="0")
        understudy.settle()
        (entry,) = understudy.dlq()
        assert entry["responseStatus"] == 500
        assert understudy.dlq(url="https://other.test") == []

    def test_explain_gives_reasons(self, understudy: Understudy) -> None:
        understudy.stub(APP)
        publish(understudy, Delay="10m")
        message = understudy.messages(state="CREATED")[0]["messageId"]
        explanation = understudy.explain(message)
        assert explanation["kind"] == "message"
        assert explanation["reasons"][0]["until"] == explanation["now"] + 600_000

    def test_explain_of_an_unknown_id_is_refused(self, understudy: Understudy) -> None:
        with pytest.raises(UnderstudyError, match="no message, run, DLQ entry") as unknown:
            understudy.explain("msg/1 2")
        assert unknown.value.status == 404

    def test_reset_forgets_all(self, understudy: Understudy) -> None:
        understudy.stub(APP, 500)
        publish(understudy)
        understudy.wait("events", state="ERROR")
        understudy.advance("24h")
        before = understudy.clock()["now"]
        understudy.reset()
        assert understudy.deliveries() == []
        assert understudy.requests() == []
        assert understudy.control("GET", "stubs") == []
        assert understudy.clock()["now"] < before
        assert understudy.log == []


def test_a_thread_keeps_the_event_loop_free_for_deliveries(understudy: Understudy) -> None:
    async def scenario() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"hello")
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as app:
            port = app.sockets[0].getsockname()[1]
            await asyncio.to_thread(publish, understudy, f"http://127.0.0.1:{port}/", Delay="1h")
            await asyncio.to_thread(understudy.advance, "1h")
        assert [d["response"].get("status") for d in understudy.deliveries()] == [204]

    asyncio.run(scenario())


class TestTypes:
    """The types are generated; what the server answers has the keys that they name."""

    def test_they_resolve(self) -> None:
        for name, kind in vars(control_types).items():
            if typing.is_typeddict(kind):
                assert typing.get_type_hints(kind), name

    def test_a_delivery_has_the_keys_of_its_type(self, understudy: Understudy) -> None:
        understudy.stub(APP)
        publish(understudy)
        (delivery,) = understudy.wait()
        keys = set(delivery)
        assert control_types._Delivery.__required_keys__ <= keys <= set(typing.get_type_hints(control_types.Delivery))


def test_the_package_needs_no_other() -> None:
    from importlib.metadata import requires, version

    assert requires("understudy-mock") is None
    assert re.match(r"\d+\.\d+\.\d+", version("understudy-mock"))
