"""Build one wheel for each platform whose binaries are in a folder of packaging/build.

    python3 packaging/pypi/wheels.py --binaries dist --out dist/wheels --version v1.2.3

The same input gives the same bytes. hatchling comes from PyPI into a virtual environment.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
TMP = HERE.parents[1] / ".tmp"

# The platforms of packaging/build and what installers call them. The binaries are static: they
# need no C library of Linux. Go needs macOS 12.
TAGS = {
    "darwin-amd64": "macosx_12_0_x86_64",
    "darwin-arm64": "macosx_12_0_arm64",
    "linux-amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "windows-amd64": "win_amd64",
    "windows-arm64": "win_arm64",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binaries", type=Path, required=True, help="folder with GOOS-GOARCH/understudy[.exe]")
    parser.add_argument("--platform", choices=TAGS, help="only this one; default: all that have binaries")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--version", required=True, help="of the binaries: a tag or what git describe says")
    options = parser.parse_args()
    found = {p: sorted((options.binaries / p).glob("understudy*")) for p in TAGS if options.platform in (None, p)}
    if not any(found.values()):
        sys.exit(f"{options.binaries}: no binaries found: run `make package`")
    options.out.mkdir(parents=True, exist_ok=True)
    for platform, files in found.items():
        if files:
            build(TAGS[platform], files, options.out.resolve(), normalized(options.version))


def build(tag: str, files: list[Path], out: Path, version: str) -> None:
    environment = {
        **os.environ,
        "WHEEL_NOTICE": str(files[0].resolve().parents[1] / "NOTICE"),
        "WHEEL_BINARIES": os.pathsep.join(str(f.resolve()) for f in files),
        "WHEEL_TAG": tag,
        "WHEEL_VERSION": version,
    }
    subprocess.run([hatchling(), "build", "--target", "wheel", "--directory", out], cwd=HERE, env=environment, check=True)


DESCRIBED = re.compile(r"v?(\d+(?:\.\d+)*)(?:-(alpha|beta|rc)\.?(\d+))?(?:-(\d+)-(g[0-9a-f]+))?(-dirty)?")


def normalized(version: str) -> str:
    """Write a version as PEP 440 wants it: v1.2.3-4-gabcdef is 1.2.3.post4+gabcdef."""
    described = DESCRIBED.fullmatch(version)
    if described is None:  # no tag: a commit, or a word
        return "0.0.0.dev0+" + re.sub(r"[^a-zA-Z0-9]+", ".", version).strip(".").lower()
    release, stage, number, commits, commit, dirty = described.groups()
    if stage:
        release += {"alpha": "a", "beta": "b", "rc": "rc"}[stage] + number
    local = ".".join(part for part in (commit, "dirty" if dirty else None) if part)
    return release + (f".post{commits}" if commits else "") + (f"+{local}" if local else "")


def hatchling() -> Path:
    """Return the command, installed at the version of pyproject.toml."""
    pin = re.search(r'"(hatchling==[^"]+)"', (HERE / "pyproject.toml").read_text(encoding="utf-8"))
    assert pin is not None
    folder = TMP / pin.group(1)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    command = scripts / ("hatchling.exe" if os.name == "nt" else "hatchling")
    if not command.exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", pin.group(1)]
        subprocess.run(pip, check=True)
    return command


if __name__ == "__main__":
    main()
