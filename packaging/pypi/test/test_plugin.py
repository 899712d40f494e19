"""The fixtures, used by tests in folders of their own."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

from test_helper import ended

COUNT_SERVERS = """
    import os, pytest

    @pytest.fixture(autouse=True)
    def noted(request):
        for name in ("understudy", "understudy_module", "understudy_function"):
            if name in request.fixturenames:
                server = request.getfixturevalue(name)
                assert server.deliveries() == [] and server.control("GET", "stubs") == [] # reset, or new
                server.stub("https://app.test/*", 500)
                server.advance("1h")
                with open(os.environ["PIDS"], "a") as file:
                    print(name, server.pid, file=file)
"""


def servers(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *arguments: str, passed: int) -> list[str]:
    """Run the tests of the folder, and return the fixture and the process of each use."""
    pids = pytester.path / "pids"
    monkeypatch.setenv("PIDS", str(pids))
    pytester.makeconftest(COUNT_SERVERS)
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=passed)
    return pids.read_text().splitlines()


TWO_MODULES = {
    name: "def test_1({0}): pass\ndef test_2({0}): pass\n" for name in ("test_a", "test_b")
}


@pytest.mark.parametrize(
    "fixture, count", [("understudy", 1), ("understudy_module", 2), ("understudy_function", 4)], ids=["session", "module", "function"]
)
def test_servers_of_a_scope_are_reset_and_stopped(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, fixture: str, count: int
) -> None:
    pytester.makepyfile(**{name: text.format(fixture) for name, text in TWO_MODULES.items()})
    uses = servers(pytester, monkeypatch, passed=4)
    assert len(uses) == 4
    assert len(set(uses)) == count
    assert all(ended(int(use.split()[1]), 0) for use in uses)


def test_each_worker_of_xdist_has_a_server(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(**{name: text.format("understudy") for name, text in TWO_MODULES.items()})
    uses = servers(pytester, monkeypatch, "-n", "2", "--dist", "loadfile", passed=4)
    assert len(set(uses)) == 2


def test_a_module_fixture_can_use_the_session_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="module")
        def address(understudy):
            return understudy.url

        def test_address(address, understudy):
            assert address == understudy.url
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_environment_of_clients_is_set_for_the_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QSTASH_URL", "before")
    pytester.makepyfile(
        """
        import os

        def test_with(understudy_env, understudy_function, understudy):
            assert os.environ["QSTASH_URL"] == understudy_function.url != understudy.url
            assert understudy_env == understudy_function.env

        def test_alone(understudy_env):
            assert os.environ["QSTASH_TOKEN"] == understudy_env["QSTASH_TOKEN"]

        def test_without():
            assert os.environ["QSTASH_URL"] == "before"
        """
    )
    pytester.runpytest().assert_outcomes(passed=3)


def test_options_and_markers_are_flags(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def understudy_options():
            return {"clock": "auto", "stub": ["https://a.test/*=500"]}
        """
    )
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.understudy(clock="real")

        def test_module(understudy_module):
            assert understudy_module.clock()["mode"] == "real"
            assert len(understudy_module.control("GET", "stubs")) == 1

        @pytest.mark.understudy(clock="manual")
        def test_function(understudy_function):
            assert understudy_function.clock()["mode"] == "manual"
        """,
        test_session="""
        def test_session(understudy):
            assert understudy.clock()["mode"] == "auto"
        """,
    )
    pytester.runpytest("--strict-markers").assert_outcomes(passed=3)


@pytest.mark.parametrize(
    "marker, fixture", [("clock='real'", "understudy"), ("clock='real'", "understudy_module"), ("clock='real'", "tmp_path"), ("'real'", "understudy_function")]
)
def test_a_marker_that_would_be_ignored_is_an_error(pytester: pytest.Pytester, marker: str, fixture: str) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.understudy({marker})
        def test_it({fixture}):
            pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["marker understudy: *"])


def test_a_marker_of_a_module_does_not_disturb_its_tests_without_a_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.understudy(clock="real")

        def test_it():
            pass
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_failed_test_shows_the_log_of_its_server_and_of_no_other_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest, urllib.request
        from understudy_mock import UnderstudyError

        def refused(understudy, id):
            with pytest.raises(UnderstudyError):
                understudy.explain(id)

        def test_passes(understudy):
            refused(understudy, "msg_before")

        def test_fails(understudy):
            refused(understudy, "msg_wanted")
            assert understudy.deliveries()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*- log of the fixture understudy -*", '*level=WARN*request refused*msg_wanted*'])
    result.stdout.no_fnmatch_line("*msg_before*")


def test_a_server_that_does_not_start_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.understudy(dialekt="svc")
        def test_1(understudy_function):
            pass
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(['*unknown flag --dialekt, did you mean "--dialect"?*'])


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")
@pytest.mark.parametrize("arguments", [[], ["-n", "1"]], ids=["pytest", "xdist"])
def test_sigkill_leaves_no_server(pytester: pytest.Pytester, arguments: list[str]) -> None:
    fifo = pytester.path / "pid"
    os.mkfifo(fifo)
    pytester.makepyfile(
        """
        def test_endless(understudy):
            with open("pid", "w") as file:
                file.write(str(understudy.pid))
            understudy.wait(timeout="60s")
        """
    )
    command = [sys.executable, "-m", "pytest", *arguments]
    runner = subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert select.select([reader], [], [], 60)[0], "the test did not start"
        pid = int(os.read(reader, 100))
    finally:
        os.close(reader)
        runner.kill()
        runner.wait()
    assert ended(pid)
