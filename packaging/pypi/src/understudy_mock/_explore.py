"""explore: the scenario is a function of a test, and the program searches: it says on its
standard output what to do next, in lines of JSON."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from ._binary import binary
from ._server import Duration, UnderstudyError, _arguments, _duration, _given


class ExploreFinding(TypedDict):
    case: str
    """For the argument `case`."""
    text: str
    replay: str
    """The file for `understudy replay`, with the argument `out`."""


class ExploreError(AssertionError):
    """The application does something else when the service repeats, delays or loses something."""

    def __init__(self, error: Optional[str], findings: List[ExploreFinding], summary: str) -> None:
        said = "\n".join([f"explore: {error or f'findings: {len(findings)}'}", "", *(f["text"] for f in findings), summary])
        super().__init__(said)
        self.findings = findings
        self.summary = summary


class _Ended(Exception):
    """The case ended while its scenario was played; what comes next is in `told`."""

    def __init__(self, told: Dict[str, Any]) -> None:
        super().__init__("the case ended")
        self.told = told


class ExploreCase:
    """One run of the scenario."""

    url: str
    token: str
    env: Dict[str, str]
    """The environment for clients: addresses, tokens and signing keys."""

    def __init__(self, start: Mapping[str, Any], driver: _Driver, number: int) -> None:
        self.url, self.token, self.env = start["url"], start["token"], dict(start["env"])
        self._outside, self._driver, self._number = start["outside"], driver, number
        self._stops: List[Callable[[], object]] = []
        self._state: Callable[[], object] = lambda: None
        self._check: Callable[[], object] = lambda: None

    def outside(self, name: str) -> str:
        """Return the address of an outside service."""
        return str(self._outside + name)

    def do(self, step: Callable[[], object]) -> None:
        """Do a step, such as a request to the application. One that raises is done again, as its caller would."""
        self._wait({"ask": "do"}, step)

    def advance(self, by: Duration) -> None:
        """Move the clock, such as "1d"; what becomes due is delivered."""
        self._wait({"ask": "advance", "by": _duration(by)})

    def state(self, read: Callable[[], object]) -> None:
        """Set what reads the final state of the application, which is compared as JSON."""
        self._state = read

    def check(self, holds: Callable[[], object]) -> None:
        """Set what raises if not all is well."""
        self._check = holds

    def cleanup(self, stop: Callable[[], object]) -> None:
        """Add what ends the application after the case."""
        self._stops.append(stop)

    def _wait(self, line: Dict[str, Any], step: Callable[[], object] = lambda: None) -> None:
        self._driver.say({**line, "case": self._number})
        while True:
            told = self._driver.hear()
            if told["do"] == "step":
                self._driver.done(self._number, step)
            elif told["do"] == "go on":
                if told.get("error"):
                    raise UnderstudyError(str(told["error"]))
                return
            else:
                raise _Ended(told)

    def _end(self) -> None:
        while self._stops:
            self._stops.pop()()


class _Driver:
    """The program, and the lines to and from it."""

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._popen = subprocess.Popen(
            [binary(), "explore", "--driver", *_arguments(flags)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def say(self, line: Mapping[str, Any]) -> None:
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write(json.dumps(line) + "\n")
            self._popen.stdin.flush()
        except OSError:
            pass  # it has ended, which hear notices

    def hear(self) -> Dict[str, Any]:
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        if not line:
            assert self._popen.stderr is not None
            raise UnderstudyError(f"understudy explore has ended: exit code {self._popen.wait()}: {self._popen.stderr.read().strip()}")
        told: Dict[str, Any] = json.loads(line)
        return told

    def done(self, number: int, work: Callable[[], object], key: Optional[str] = None) -> None:
        """Do a part of a case, and say how it ended."""
        answer: Dict[str, Any] = {"ask": "done", "case": number}
        try:
            got = work()
            if key:
                answer[key] = got
        except _Ended:
            raise
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"
        self.say(answer)

    def stop(self) -> None:
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        self._popen.wait()


def explore(
    scenario: Callable[[ExploreCase], object],
    *,
    outside: Union[Sequence[str], Mapping[str, Mapping[str, Any]]] = (),
    keys: Sequence[str] = (),
    faults: Sequence[str] = (),
    allow: Sequence[Mapping[str, Any]] = (),
    order: Sequence[Mapping[str, str]] = (),
    depth: Optional[int] = None,
    budget: Optional[Duration] = None,
    cases: Optional[int] = None,
    case: Optional[str] = None,
    case_timeout: Optional[Duration] = None,
    report: Optional[Mapping[str, str]] = None,
    out: str = "",
) -> str:
    """Run a scenario again and again, each time with one or two faults, and return what was tried.

    Raise an ExploreError if the application then does something else. `outside` names the outside
    services, with what they answer: `{"payments": {"answer": {"status": 201}}}`. `out` is the
    folder of the replay files of findings.
    """
    flags = {"depth": depth, "budget": _duration(budget), "cases": cases, "case": case, "case_timeout": _duration(case_timeout), "report": report, "out": out}
    services = outside if isinstance(outside, Mapping) else {name: {} for name in outside}
    driver = _Driver(_given(flags))
    current: Optional[ExploreCase] = None
    try:
        driver.say({"outside": services, "keys": list(keys), "faults": list(faults), "allow": list(allow), "order": list(order)})
        start = told = driver.hear()
        while told["do"] != "result":
            number, do = told.get("case", 0), told["do"]
            try:
                if do == "start":  # another server, for a replay file
                    start = told
                elif do == "reset":
                    driver.done(number, current._end if current else lambda: None)
                elif do == "play":
                    playing = current = ExploreCase(start, driver, number)
                    driver.done(number, lambda: scenario(playing))
                elif do == "state" and current:
                    driver.done(number, current._state, "state")
                elif do == "check" and current:
                    driver.done(number, current._check)
            except _Ended as ended:
                told = ended.told
                continue
            told = driver.hear()
    finally:
        driver.stop()
        if current:
            current._end()
    if told.get("error") or told["findings"]:
        raise ExploreError(told.get("error"), told["findings"], told["summary"])
    return str(told["summary"])
