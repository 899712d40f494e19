"""What builds the wheels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import wheels


@pytest.mark.parametrize(
    "version, want",
    [
        ("v1.2.3", "1.2.3"),
        ("1.2.3", "1.2.3"),
        ("v1.2.3-rc.1", "1.2.3rc1"),
        ("v1.2.3-beta2-4-gabc12", "1.2.3b2.post4+gabc12"),
        ("v1.2.3-4-gabc12-dirty", "1.2.3.post4+gabc12.dirty"),
        ("8c9ee32", "0.0.0.dev0+8c9ee32"),
        ("8c9ee32-dirty", "0.0.0.dev0+8c9ee32.dirty"),
        ("devel", "0.0.0.dev0+devel"),
    ],
)
def test_a_version_is_one_of_python(version: str, want: str) -> None:
    assert wheels.normalized(version) == want


def test_a_folder_without_binaries_is_refused(tmp_path: Path) -> None:
    arguments = ["--binaries", str(tmp_path), "--out", str(tmp_path), "--version", "v1.0.0"]
    done = subprocess.run([sys.executable, str(wheels.HERE / "wheels.py"), *arguments], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path}: no binaries found: run `make package`\n"
