"""Build hook of hatchling: the wheel contains the command `lasthop` and its libraries."""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommandInWheel(BuildHookInterface):  # type: ignore[misc,type-arg]
    """Adds the files that `scripts/build/wheel` names in the environment."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Say where the files are installed, and which systems they are for."""
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['LASTHOP_WHEEL_PLATFORM']}"
        build_data["shared_scripts"] = {os.environ["LASTHOP_WHEEL_COMMAND"]: "lasthop"}
        # The command looks for its libraries in ../lib/lasthop of its own folder.
        build_data["shared_data"] = {os.environ["LASTHOP_WHEEL_LIBRARIES"]: "lib/lasthop"}
