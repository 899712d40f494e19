"""The command in the wheel, and the script that becomes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import NoReturn

_WINDOWS = os.name == "nt"


def binary() -> str:
    """Return the path of the command `understudy` in this package.

    The environment variable UNDERSTUDY_BINARY names another one.
    """
    other = os.environ.get("UNDERSTUDY_BINARY")
    if other:
        return other
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "understudy.exe" if _WINDOWS else "understudy")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path}: not found: this package was installed without the binary of the platform; "
            "install a wheel, or set UNDERSTUDY_BINARY to the path of the command"
        )
    return path


def main() -> NoReturn:
    """Run the command with the arguments of this process, its streams, signals and exit code."""
    try:
        path = binary()
    except FileNotFoundError as missing:
        sys.exit(f"understudy: {missing}")
    arguments = [path, *sys.argv[1:]]
    try:
        if not _WINDOWS:
            os.execv(path, arguments)  # the same process: signals and exit code need no forwarding
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the command as well, which decides
        sys.exit(subprocess.call(arguments))
    except OSError as failed:
        sys.exit(f"understudy: {path}: {failed.strerror}")
