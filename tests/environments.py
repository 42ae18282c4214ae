"""Virtual environments with some distributions of the test environment, as links: made in a second, offline."""

from __future__ import annotations

import re
import sysconfig
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement


def normalised(name: str) -> str:
    """Returns the name of a distribution in the form of PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirements: Iterable[str], extra: str = "") -> set[str]:
    """Returns the names of the distributions that pip would install, from the metadata of the test environment.

    Args:
        requirements: lines in the form of PEP 508.
        extra: the extra for which the markers of the requirements hold.
    """
    names: set[str] = set()
    waiting = [(Requirement(line), extra) for line in requirements]
    seen = set()
    while waiting:
        requirement, of = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": of}):
            continue
        name = normalised(requirement.name)
        names.add(name)
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                waiting += [(Requirement(line), wanted) for line in distribution(name).requires or ()]
    return names


def linked(folder: Path, names: Iterable[str]) -> Path:
    """Makes a virtual environment in a folder and returns its interpreter. Nothing but these distributions is there.

    Args:
        names: distributions of the test environment.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    ours = Path(sysconfig.get_path("purelib"))
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    interpreter = folder / "bin" / "python"
    for name in names:
        for part in sorted(set(_parts(name))):
            if not (packages / part).exists():
                (packages / part).symlink_to(ours / part)
        for path in distribution(name).files or ():
            if path.parts[-2:-1] == ("bin",) and path.parts[0] == ".." and (source := Path(path.locate())).exists():
                code = source.read_bytes()
                script = re.sub(rb"\A#!.*python.*", f"#!{interpreter}".encode(), code)
                (folder / "bin" / path.name).write_bytes(script)
                (folder / "bin" / path.name).chmod(0o755)
    return interpreter


def _parts(name: str) -> Iterator[str]:
    """Yields the files and folders of a distribution directly below site-packages."""
    for path in distribution(name).files or ():
        if path.parts[0] not in ("..", "__pycache__"):
            yield path.parts[0]
