"""Fixtures of pytest. The plugin is active wherever the package is installed.

`understudy` is one server for the session (with pytest-xdist, one for each worker),
`understudy_module` one for the module, `understudy_function` one for the test. A server
that several tests share is reset before each of them. `understudy_env` gives clients
the environment of the test's server. Flags of `understudy serve` come from the fixture
`understudy_options` and from the marker `understudy`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Generator, Iterator, List, Optional, cast

import pytest

from ._explore import explore
from ._server import Understudy, UnderstudyError
from .serve_flags import ServeFlags

# From the narrowest scope to the widest: the first that a test uses is its server.
_FIXTURES = ("understudy_function", "understudy_module", "understudy")

_LOG_LINES = 40  # of the log of a failed test

_SERVERS = pytest.StashKey[Dict[str, Understudy]]()  # those that run, by fixture


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SERVERS] = {}
    config.addinivalue_line(
        "markers",
        "understudy(**flags): flags of `understudy serve` for understudy_function or, as pytestmark of a module, "
        'for understudy_module: understudy(clock="real", vector_index=["docs=DENSE:3:COSINE"])',
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Reset the shared servers that the test uses, before any of its fixtures is set up."""
    names = _used(item)
    for node, marker in item.iter_markers_with_node("understudy"):
        whole_module = not isinstance(node, (pytest.Class, pytest.Item))
        takes = _FIXTURES[:2] if whole_module else _FIXTURES[:1]
        if marker.args:
            pytest.fail(f"marker understudy: invalid value {marker.args[0]!r}: must be keyword arguments", pytrace=False)
        if (names or not whole_module) and not set(takes) & set(names):
            pytest.fail(
                f"marker understudy: does not apply to {', '.join(names) or 'a test without a server'}; here it is for "
                f"{' and '.join(takes)}; flags of the fixture understudy come from the fixture understudy_options",
                pytrace=False,
            )
    for name, server in item.config.stash[_SERVERS].items():
        if name in names and name != "understudy_function":
            server.reset()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add the last lines of the server's log to the report of a failed test."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if not report.failed:
        return
    for name in _used(item):
        server = item.config.stash[_SERVERS].get(name)
        if server is not None and server.log:
            report.sections.append((f"log of the fixture {name}", "\n".join(server.log[-_LOG_LINES:])))


def _used(item: pytest.Item) -> List[str]:
    """Return which of the fixtures a test uses."""
    used = getattr(item, "fixturenames", ())  # other items than functions have none
    return [name for name in _FIXTURES if name in used]


@pytest.fixture(scope="session")
def understudy_options() -> ServeFlags:
    """Flags of `understudy serve` for all fixtures; override it in conftest.py."""
    return {}


@pytest.fixture(scope="session")
def understudy(request: pytest.FixtureRequest, understudy_options: ServeFlags) -> Iterator[Understudy]:
    """A server for the session, reset before each test that uses it."""
    yield from _serve(request, "understudy", understudy_options)


@pytest.fixture(scope="module")
def understudy_module(request: pytest.FixtureRequest, understudy_options: ServeFlags) -> Iterator[Understudy]:
    """A server for the module, reset before each test that uses it."""
    yield from _serve(request, "understudy_module", understudy_options)


@pytest.fixture
def understudy_function(request: pytest.FixtureRequest, understudy_options: ServeFlags) -> Iterator[Understudy]:
    """A server for the test."""
    yield from _serve(request, "understudy_function", understudy_options)


def _serve(request: pytest.FixtureRequest, name: str, options: ServeFlags) -> Iterator[Understudy]:
    flags = options.copy()
    if name != "understudy":
        for marker in reversed(list(request.node.iter_markers("understudy"))):  # the closest one last
            flags.update(cast(ServeFlags, marker.kwargs))
    servers = request.config.stash[_SERVERS]
    with Understudy(**flags) as server:
        servers[name] = server
        yield server
        del servers[name]


@pytest.fixture
def understudy_env(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Dict[str, str]:
    """Set the environment variables of the test's server for the test, and return them.

    With several servers, it is that of the narrowest scope; with none, `understudy`.
    """
    name: Optional[str] = next((n for n in _FIXTURES if n in request.fixturenames), "understudy")
    server = request.getfixturevalue(str(name))
    if not isinstance(server, Understudy):
        raise UnderstudyError(f"fixture {name}: invalid value {server!r}: must be an Understudy")
    for variable, value in server.env.items():
        monkeypatch.setenv(variable, value)
    return server.env


@pytest.fixture
def understudy_explore() -> Callable[..., str]:
    """`explore`: run a scenario again and again, each time with one or two faults of the service."""
    return explore
