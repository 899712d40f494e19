"""A server process of one's own, and its control API."""

from __future__ import annotations

import datetime
import json
import math
import os
import shutil
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, IO, Any, Dict, Iterable, List, Literal, Mapping, NoReturn, Optional, Type, Union, cast, overload

from ._binary import binary
from .control_types import Answer, Clock, Delivery, DLQRow, Event, Exchange, Explanation, MessageRow, Progress, Stub
from .serve_flags import ServeFlags

if TYPE_CHECKING:  # what checks types has it; nothing needs it at runtime
    from typing_extensions import Unpack

Duration = Union[str, datetime.timedelta]
"""A duration as the server writes it, such as "90s", "24h" or "7d", or a timedelta."""

_START_LIMIT = 30.0  # seconds
_STOP_LIMIT = 10.0  # seconds, then the process is killed
_LOG_LINES, _LOG_BYTES = 200, 64 << 10  # what `log` gives at most
_CALL_MARGIN = 10.0  # seconds that a call may take beyond the time that the server allows it

_UNITS = (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0))


class UnderstudyError(Exception):
    """The server did not start, has ended, or refused a call.

    `status` is that of the refusal, None otherwise.
    """

    def __init__(self, message: str, status: Optional[int] = None) -> None:
        super().__init__(message)
        self.status = status


class Understudy:
    """A stand-in server in a process of its own, on a free port, with a manual clock.

    Keyword arguments are flags of `understudy serve`: `Understudy(clock="auto",
    vector_index=["docs=DENSE:3:COSINE"], rewrite={"https://app.test": app_url})`.
    The server stops when `stop` is called, when the `with` block or this process
    ends, and also when this process is killed.
    """

    url: str
    """Where clients send requests."""
    token: str
    """What clients authenticate with."""
    env: Dict[str, str]
    """The environment for clients: addresses, tokens and signing keys."""

    def __init__(self, **flags: Unpack[ServeFlags]) -> None:
        control_token = flags.pop("control_token", None)
        self._process = _Process({"addr": "127.0.0.1:0", "clock": "manual", **flags}, control_token)
        ready = self._process.ready
        self._control_token = ready.get("controlToken")  # from an argument, the environment or a settings file
        self.url = str(ready["url"])
        self.token = str(ready["token"])
        self.env = {str(k): str(v) for k, v in ready["env"].items()}
        self.region_url = str(ready["regionUrl"])
        self.management_url = str(ready["managementUrl"])
        self.vector_url = str(ready["vectorUrl"])
        self.kv_url = str(ready["kvUrl"])
        self.control_url = str(ready["listensAt"]) + "/_understudy"  # url may be that for other machines
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy

    def __enter__(self) -> Understudy:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Understudy {self.url} pid={self.pid}>"

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    @property
    def log(self) -> List[str]:
        """The last lines of the server's log, since the last reset."""
        return self._process.lines()

    def advance(
        self,
        by: Optional[Duration] = None,
        *,
        to: Union[None, int, datetime.datetime] = None,
        until: Optional[Literal["next", "idle"]] = None,
        timeout: Optional[Duration] = None,
    ) -> Progress:
        """Move the clock, and return when all deliveries that this caused have settled.

        Give one of: a duration (`advance("24h")`), a time (`to`, Unix ms or a datetime
        with a time zone), or `until`: the next timer, or until nothing but schedules is left.
        `timeout` is the real time that it may take, 60s by default.
        """
        if isinstance(to, datetime.datetime):
            if to.tzinfo is None:
                raise ValueError(f"to: invalid value {to!r}: must have a time zone")
            to = round(to.timestamp() * 1000)
        body = {"by": _duration(by), "to": to, "until": until, "timeout": _duration(timeout)}
        return cast(Progress, self.control("POST", "clock/advance", _given(body), timeout=timeout))

    def clock(self) -> Clock:
        """Return the mode and the time (Unix ms) of the clock."""
        return cast(Clock, self.control("GET", "clock"))

    def settle(self, timeout: Optional[Duration] = None) -> Clock:
        """Wait until no delivery is ready or in flight; 5s of real time by default."""
        return cast(Clock, self.control("POST", "settle", _given({"timeout": _duration(timeout)}), timeout=timeout))

    def stub(
        self,
        url: str,
        *answers: Union[int, Answer],
        method: Optional[str] = None,
        header: Optional[Mapping[str, str]] = None,
        per_message: bool = False,
    ) -> List[Stub]:
        """Answer deliveries to a URL without network, before the stubs that exist.

        In the URL, * matches any text. The answers are given in turn and the last one
        repeats; none means 200. An answer is a status or an `Answer`, such as
        `{"status": 503, "delay": "3s"}`. Return all stubs.
        """
        stub = _given(
            {
                "url": url,
                "method": method,
                "header": None if header is None else dict(header),
                "perMessage": per_message or None,
                "answers": [{"status": a} if isinstance(a, int) else a for a in answers] or None,
            }
        )
        return cast(List[Stub], self.control("POST", "stubs", stub))

    def deliveries(
        self,
        *,
        url: Optional[str] = None,
        message_id: Optional[str] = None,
        status: Optional[int] = None,
        limit: int = 10000,
    ) -> List[Delivery]:
        """Return the attempts to deliver, oldest first; `url` is a prefix."""
        query = {"url": url, "messageId": message_id, "status": status, "limit": limit}
        return cast(List[Delivery], self.control("GET", "deliveries", query=query)["entries"])

    def requests(
        self,
        *,
        operation: Optional[str] = None,
        path: Optional[str] = None,
        status: Optional[int] = None,
        refused: Optional[bool] = None,
        limit: int = 10000,
    ) -> List[Exchange]:
        """Return the requests of clients, oldest first; `path` is a prefix."""
        query = {"operationId": operation, "path": path, "status": status, "refused": refused, "limit": limit}
        return cast(List[Exchange], self.control("GET", "requests", query=query)["entries"])

    def messages(self, *, state: Optional[str] = None, url: Optional[str] = None, count: Optional[int] = None) -> List[MessageRow]:
        """Return the messages in their current state, newest first; `url` is a prefix."""
        query = {"state": state, "url": url, "count": count}
        return cast(List[MessageRow], self.control("GET", "messages", query=query)["messages"])

    def dlq(self, *, url: Optional[str] = None, count: Optional[int] = None) -> List[DLQRow]:
        """Return the DLQ, newest first; `url` is a prefix."""
        return cast(List[DLQRow], self.control("GET", "dlq", query={"url": url, "count": count})["entries"])

    @overload
    def wait(
        self,
        on: Literal["deliveries"] = "deliveries",
        *,
        count: int = 1,
        url: Optional[str] = None,
        message_id: Optional[str] = None,
        status: Optional[int] = None,
        timeout: Optional[Duration] = None,
        advance: Optional[Duration] = None,
    ) -> List[Delivery]: ...

    @overload
    def wait(
        self,
        on: Literal["requests"],
        *,
        count: int = 1,
        operation: Optional[str] = None,
        status: Optional[int] = None,
        timeout: Optional[Duration] = None,
        advance: Optional[Duration] = None,
    ) -> List[Exchange]: ...

    @overload
    def wait(
        self,
        on: Literal["events"],
        *,
        count: int = 1,
        url: Optional[str] = None,
        message_id: Optional[str] = None,
        state: Optional[str] = None,
        run_id: Optional[str] = None,
        timeout: Optional[Duration] = None,
        advance: Optional[Duration] = None,
    ) -> List[Event]: ...

    def wait(
        self,
        on: str = "deliveries",
        *,
        count: int = 1,
        url: Optional[str] = None,
        message_id: Optional[str] = None,
        status: Optional[int] = None,
        operation: Optional[str] = None,
        state: Optional[str] = None,
        run_id: Optional[str] = None,
        timeout: Optional[Duration] = None,
        advance: Optional[Duration] = None,
    ) -> Any:
        """Wait until `count` deliveries, requests or events match, and return those that do.

        Entries from before the call count as well. `url` is a prefix. `timeout` is real
        time, 5s by default; then an UnderstudyError says how many matched. With `advance`, a
        manual clock moves up to that far meanwhile.
        """
        condition = {
            "on": on,
            "count": count,
            "url": url,
            "messageId": message_id,
            "status": status,
            "operation": operation,
            "state": state,
            "workflowRunId": run_id,
            "timeout": _duration(timeout),
            "advance": _duration(advance),
        }
        return self.control("POST", "await", _given(condition), timeout=timeout)["entries"]

    def explain(self, id: str) -> Explanation:
        """Return why a message, a workflow run, a DLQ entry or a flow-control key is as it is."""
        return cast(Explanation, self.control("GET", "explain/" + urllib.parse.quote(id, safe="")))

    def reset(self) -> None:
        """Forget all but the configuration: messages, stubs, journals, log and time, of all accounts."""
        self.control("POST", "reset", query={"account": "*"})
        self._process.forget()

    def control(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        timeout: Optional[Duration] = None,
    ) -> Any:
        """Make any call of the control API, such as `control("PUT", "clock", {"mode": "auto"})`."""
        url = self.control_url + "/" + path
        if query:
            url += "?" + urllib.parse.urlencode({k: _text(v) for k, v in query.items() if v is not None})
        request = urllib.request.Request(url, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if self._control_token:
            request.add_header("Authorization", "Bearer " + self._control_token)
        try:
            with self._opener.open(request, timeout=_seconds(timeout, 60.0) + _CALL_MARGIN) as response:
                return json.load(response)
        except urllib.error.HTTPError as refused:
            with refused:
                raise UnderstudyError(_reason(refused), refused.code) from None
        except OSError as failed:
            self._unreachable(f"{method} {url}: {getattr(failed, 'reason', failed)}")

    def stop(self) -> None:
        """Stop the server and wait for its end. Stopping twice does nothing."""
        self._process.stop()

    def _unreachable(self, failure: str) -> NoReturn:
        code = self._process.poll()
        if not self._process.stop.alive:
            raise UnderstudyError(failure + "; the server was stopped") from None
        if code is not None:
            failure += f"; the server has ended with exit code {code}"
        raise UnderstudyError(failure + self._process.tail()) from None


def start_understudy(**flags: Unpack[ServeFlags]) -> Understudy:
    """Start a server: the same as `Understudy(...)`."""
    return Understudy(**flags)


class _Process:
    """The server process. Its standard input is a pipe from this process, whose end stops it; its
    log goes to a file, so that what has been written can be read at once."""

    def __init__(self, options: Mapping[str, object], control_token: Optional[str]) -> None:
        folder = tempfile.mkdtemp(prefix="understudy-")
        log = os.path.join(folder, "log")
        ready_file = os.path.join(folder, "ready.json")
        environment = dict(os.environ)
        if control_token is not None:  # not as a flag, which every user of the machine can read
            environment["UNDERSTUDY_CONTROL_TOKEN"] = control_token
        started = threading.Event()
        try:
            with open(log, "ab") as output:
                self._popen = subprocess.Popen(
                    [binary(), "serve", "--until-eof", *_arguments({**options, "ready_file": ready_file})],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=output,
                    env=environment,
                )
            self.pid = self._popen.pid
            self._log = open(log, "r+b")
            self.stop = weakref.finalize(self, _end, self._popen, self._log, folder)
            threading.Thread(target=_read_banner, args=(self._popen.stdout, started), daemon=True).start()
            in_time = started.wait(_START_LIMIT)
            try:
                with open(ready_file, encoding="utf-8") as file:
                    self.ready: Dict[str, Any] = json.load(file)
            except FileNotFoundError:
                tail = self.tail()
                self.stop()
                failure = f"exit code {self._popen.returncode}" if in_time else f"not ready after {_START_LIMIT:.0f}s"
                raise UnderstudyError(f"understudy serve did not start: {failure}{tail}") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # Windows keeps the log, which is open

    def poll(self) -> Optional[int]:
        """Return the exit code, None while the process runs."""
        return self._popen.poll()

    def lines(self) -> List[str]:
        if self._log.closed:
            return []
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, end - _LOG_BYTES))
        return self._log.read().decode("utf-8", "replace").splitlines()[-_LOG_LINES:]

    def forget(self) -> None:
        self._log.truncate(0)

    def tail(self) -> str:
        lines = self.lines()[-20:]
        return "; its last log lines:\n  " + "\n  ".join(lines) if lines else ""


def _read_banner(output: IO[bytes], started: threading.Event) -> None:
    """Set `started` at the first line, which comes after the ready file, or at the end of the output."""
    with output:
        output.readline()
        started.set()
        output.read()  # the rest of the banner, so that the pipe never fills


def _end(process: subprocess.Popen[bytes], log: IO[bytes], folder: str) -> None:
    """Stop a process: on Windows by the end of its standard input, elsewhere by SIGTERM, since a
    forked process may hold the other end of that pipe as well."""
    stdin = cast("IO[bytes]", process.stdin)
    if os.name == "nt":
        stdin.close()
    else:
        process.terminate()
    try:
        process.wait(_STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    stdin.close()
    log.close()
    shutil.rmtree(folder, ignore_errors=True)


def _arguments(options: Mapping[str, object]) -> List[str]:
    """Write keyword arguments as flags: `max_messages=7` is --max-messages=7. A list repeats the flag, None leaves it out."""
    arguments: List[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        values: Iterable[object] = [value]
        if isinstance(value, Mapping):
            values = [f"{k}={v}" for k, v in value.items()]
        elif isinstance(value, (list, tuple)):
            values = value
        arguments.extend(f"{flag}={_text(v)}" for v in values)
    return arguments


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    return str(value)


def _given(body: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: value for key, value in body.items() if value is not None}


@overload
def _duration(value: Duration) -> str: ...
@overload
def _duration(value: Optional[Duration]) -> Optional[str]: ...
def _duration(value: Optional[Duration]) -> Optional[str]:
    if isinstance(value, datetime.timedelta):
        return f"{math.ceil(value / datetime.timedelta(milliseconds=1))}ms"
    return value


def _seconds(value: Optional[Duration], default: float) -> float:
    """Seconds of a duration of one unit; a generous time for any other, which the server reads."""
    if value is None:
        return default
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    for unit, seconds in _UNITS:
        number = value[: -len(unit)]
        if value.endswith(unit) and number.replace(".", "", 1).isdigit():
            return float(number) * seconds
    return 3600.0


def _reason(refused: urllib.error.HTTPError) -> str:
    text = refused.read().decode("utf-8", "replace")
    try:
        return str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return f"status {refused.code}: {text}"
