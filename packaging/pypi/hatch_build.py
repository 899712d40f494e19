"""Hooks of hatchling: the version, the binaries and the tag of a wheel for one platform.

wheels.py sets the environment variables that they read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LICENSE = Path(__file__).resolve().parents[2] / "LICENSE"


def variable(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise SystemExit(f"{name} is not set: build wheels by `make package WHAT=pypi` in the root of the repository") from None


class Version(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["version"] = variable("WHEEL_VERSION")


class Binaries(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            raise SystemExit("there is no source distribution: the package holds a compiled program")
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + variable("WHEEL_TAG")
        include = build_data["force_include"]
        include[str(LICENSE)] = "understudy_mock/LICENSE"
        include[variable("WHEEL_NOTICE")] = "understudy_mock/NOTICE"
        for file in variable("WHEEL_BINARIES").split(os.pathsep):
            include[file] = "understudy_mock/bin/" + os.path.basename(file)
