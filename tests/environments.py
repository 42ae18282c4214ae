"""Virtual environments with some distributions of the test environment, as links: made in a second, offline."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement


def normalised(name: str) -> str:
    """Returns the name of a distribution in the form of PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirements: Iterable[str], own: tuple[str, list[str]] = ("", [])) -> set[str]:
    """Returns the names of what pip would install, without `own`, which the test environment lacks."""
    names: set[str] = set()
    waiting = [(Requirement(line), "") for line in requirements]
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
                lines = own[1] if name == own[0] else distribution(name).requires or ()
                waiting += [(Requirement(line), wanted) for line in lines]
    return names - {own[0]}


def built(source: Path, target: Path, kind: str = "wheel") -> Path:
    """Builds a `wheel` or an `sdist` and returns its path."""
    subprocess.run([sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", target, source],
                   check=True, capture_output=True)
    (path,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return path


def with_wheel(folder: Path, wheel: Path, extras: str, *more: str) -> Path:
    """Returns the interpreter of a new environment: the wheel with these extras, what it requires, and `more`."""
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = (file.read(name).decode() for name in file.namelist() if name.endswith("dist-info/METADATA"))
    own = "attention-lab", re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
    python = linked(folder, required([f"attention-lab[{extras}]" if extras else "attention-lab", *more], own))
    # without an index, pip fails if something that the wheel requires is not there
    subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-compile",
                    f"{wheel}[{extras}]" if extras else str(wheel)], check=True, cwd=folder,
                   env=os.environ | {"PIP_FIND_LINKS": ""})
    return python


def run(python: Path, code: str, **settings: str) -> str:
    """Runs code outside of the repository and returns its standard output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ATTENTION"))}
    done = subprocess.run([python, "-c", code], cwd=python.parent, capture_output=True, text=True,
                          env={**environment, "OMP_NUM_THREADS": "1", **settings})
    assert done.returncode == 0, done.stderr
    return done.stdout


def linked(folder: Path, names: Iterable[str]) -> Path:
    """Makes a virtual environment with these distributions and nothing else, and returns its interpreter."""
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
