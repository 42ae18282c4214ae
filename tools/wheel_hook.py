"""The Hatchling build hook: adds the repository's files to the wheel, and generated files to the source distribution.

    python -m build        # writes dist/attention_lab-VERSION-py3-none-any.whl and the source distribution

The table `tool.hatch.build.hooks.custom` in pyproject.toml contains the path of this file and the models of the wheel.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling finds this class by its base class
    """Adds the generated files to a build, and deletes them afterwards."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Sets `force_include`: file or folder -> its path in the distribution."""
        sys.path.insert(0, self.root)  # hatchling loads only this file
        from tools import wheel_files

        root, models = Path(self.root), self.config["models"]
        self._folder = tempfile.TemporaryDirectory()
        target = Path(self._folder.name)
        included: dict[str, str] = build_data["force_include"]
        if self.target_name == "wheel":
            wheel_files.write(root, target, models)
            included[str(target / wheel_files.DOOR)] = wheel_files.DOOR
            return
        (target / wheel_files.RELEASED).write_text(wheel_files.released(root), encoding="utf-8")
        included[str(target / wheel_files.RELEASED)] = f"{wheel_files.CHECKPOINTS}/{wheel_files.RELEASED}"
        for path, place in wheel_files.files(root, models):
            if place.split("/")[1] in ("models", "studies", "assets") and path.suffix != ".py":
                included[str(path)] = path.relative_to(root).as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Deletes the generated files."""
        self._folder.cleanup()
