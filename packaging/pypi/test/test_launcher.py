"""The scripts, alone and through uvx and pipx: arguments, streams, signals and exit codes are
those of the command.

UNDERSTUDY_WHEELS is the folder of the wheel, which uvx and pipx install by name.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

import pytest

from understudy_mock import _binary, binary

from test_helper import ended

SCRIPTS = Path(sys.executable).parent
COMMANDS = {
    "understudy": [str(SCRIPTS / "understudy")],
    "understudy-mock": [str(SCRIPTS / "understudy-mock")],
    "python -m": [sys.executable, "-m", "understudy_mock"],
    "uvx": ["uvx", "understudy-mock"],
    "pipx": ["pipx", "run", "understudy-mock"],
}

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> List[str]:
    arguments = COMMANDS[request.param]
    if shutil.which(arguments[0]) is None or "UNDERSTUDY_WHEELS" not in os.environ:
        if request.param in ("uvx", "pipx"):
            pytest.skip(f"{arguments[0]} is not installed, or UNDERSTUDY_WHEELS is not set")
    return arguments


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """An environment in which uvx and pipx see the wheel and nothing else."""
    folder = tmp_path_factory.getbasetemp() / "tools"
    wheels = os.environ.get("UNDERSTUDY_WHEELS", "")
    return {
        **os.environ,
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": wheels,
        "UV_CACHE_DIR": str(folder / "uv"),
        "UV_TOOL_DIR": str(folder / "uv-tools"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": wheels,
        "PIPX_HOME": str(folder / "pipx"),
        "PIPX_BIN_DIR": str(folder / "pipx-bin"),
    }


def test_the_version_is_that_of_the_binary(command: List[str], environment: Dict[str, str]) -> None:
    want = subprocess.run([binary(), "version"], check=True, capture_output=True).stdout
    assert subprocess.run([*command, "version"], check=True, stdout=subprocess.PIPE, env=environment).stdout == want


@pytest.mark.parametrize(
    "arguments, code", [(["serve", "--nope"], 2), (["healthcheck", "--url", "http://127.0.0.1:1"], 3), (["run", "--", "sh", "-c", "exit 7"], 7)]
)
def test_the_exit_code_is_that_of_the_command(command: List[str], environment: Dict[str, str], arguments: List[str], code: int) -> None:
    assert subprocess.run([*command, *arguments], env=environment, capture_output=True).returncode == code


def test_standard_input_is_that_of_the_command(command: List[str], environment: Dict[str, str]) -> None:
    done = subprocess.run([*command, "run", "--", "cat"], input=b"hello", env=environment, capture_output=True)
    assert done.stdout.endswith(b"hello")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_stops_the_server(command: List[str], environment: Dict[str, str], tmp_path: Path, number: signal.Signals) -> None:
    with Serving(command, environment, tmp_path) as server:
        server.process.send_signal(number)
        assert server.process.wait(20) == 0
        assert ended(server.pid)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")
def test_sigkill_leaves_no_server_that_reads_its_input(command: List[str], environment: Dict[str, str], tmp_path: Path) -> None:
    with Serving(command, environment, tmp_path, "--until-eof") as server:
        server.process.kill()
        server.process.wait()
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert ended(server.pid)


class Serving:
    """`serve`, started by a script; `pid` is that of the server itself."""

    def __init__(self, command: List[str], environment: Dict[str, str], folder: Path, *flags: str) -> None:
        self.ready = folder / "ready.json"
        arguments = [*command, "serve", "--addr", "127.0.0.1:0", "--ready-file", str(self.ready), *flags]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def __enter__(self) -> Serving:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], 60)[0], "no banner"
        assert b" is running at " in self.process.stdout.readline()
        self.pid = int(json.loads(self.ready.read_text())["pid"])
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


class TestWindows:
    """There the script starts the command as a child, since execv would not keep the console."""

    def test_the_exit_code_is_that_of_the_child(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("UNDERSTUDY_BINARY", binary())
        monkeypatch.setattr(_binary, "_WINDOWS", True)
        monkeypatch.setattr(sys, "argv", ["understudy", "serve", "--nope"])
        before = signal.getsignal(signal.SIGINT)
        try:
            with pytest.raises(SystemExit) as end:
                _binary.main()
        finally:
            signal.signal(signal.SIGINT, before)
        assert end.value.code == 2

    def test_a_binary_that_cannot_be_run_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("UNDERSTUDY_BINARY", str(tmp_path))
        monkeypatch.setattr(_binary, "_WINDOWS", True)
        before = signal.getsignal(signal.SIGINT)
        try:
            with pytest.raises(SystemExit, match=f"understudy: {tmp_path}: "):
                _binary.main()
        finally:
            signal.signal(signal.SIGINT, before)
