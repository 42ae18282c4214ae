"""Writes requirements-image.txt, the Docker image's packages with the SHA-256 of each wheel: `python -m tools.lock`.

The versions are those in requirements.txt, which is edited by hand. For each platform of the image, pip selects the
wheels, as for requirements.txt, and reports their digests; nothing is installed. An index that cannot be reached is
omitted with a warning. A platform is also omitted if pip then finds only a torch wheel with CUDA.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.request import urlopen

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
SOURCE, LOCK = ROOT / "requirements.txt", ROOT / "requirements-image.txt"
PYTHON = "3.11"  # Python version of the image: Debian 12
# machines, and platform names of wheels for Debian 12 (glibc 2.36); wheels for older systems also work
MACHINES = ("x86_64", "aarch64")
GLIBC = ("manylinux_2_35", "manylinux_2_34", "manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_24",
         "manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux2010", "manylinux_2_5", "manylinux1")
HEAD = """# Packages of the Docker image, with the SHA-256 of each wheel for Linux on {machines}, Python {python}.
# Written by `python -m tools.lock` from requirements.txt; do not edit. pip install --require-hashes -r THIS
"""


def main() -> None:
    """Writes requirements-image.txt."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    digests: dict[str, set[str]] = {}
    machines = []
    for machine in MACHINES:
        wheels = _digests(machine)
        if wheels is None:
            print(f"left out: {machine}, no torch without CUDA", file=sys.stderr)
            continue
        machines.append(machine)
        for name, digest in wheels.items():
            digests.setdefault(name, set()).add(digest)
    LOCK.write_text(text(SOURCE.read_text(encoding="utf-8"), machines, digests), encoding="utf-8")


def text(requirements: str, machines: Sequence[str], digests: Mapping[str, Collection[str]]) -> str:
    """Returns the content of the lock file."""
    lines = [HEAD.format(machines=" and ".join(machines), python=PYTHON).rstrip()]
    for line in requirements.splitlines():
        if line.startswith("--"):
            lines.append(line)
        elif line and not line.startswith("#"):
            sorted_digests = sorted(digests[Requirement(line).name.lower()])
            lines.append(" \\\n    ".join([line, *(f"--hash=sha256:{digest}" for digest in sorted_digests)]))
    return "\n".join(lines) + "\n"


def _digests(machine: str) -> dict[str, str] | None:
    """Returns package -> SHA-256 of the wheel that pip would install on a machine; None if torch would need CUDA."""
    platforms = [f"--platform={glibc}_{machine}" for glibc in GLIBC]
    with tempfile.TemporaryDirectory() as folder:
        report, requirements = Path(folder) / "report.json", Path(folder) / "asked.txt"
        requirements.write_text(_reachable(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
                        "--no-deps", "--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp",
                        "--target", folder, *platforms, "--report", str(report), "-r", str(requirements)], check=True)
        items = json.loads(report.read_text())["install"]
    if any(need.startswith(("nvidia", "cuda")) for item in items for need in item["metadata"].get("requires_dist", ())
           if item["metadata"]["name"] == "torch"):
        return None
    return {item["metadata"]["name"].lower().replace("_", "-"):
            item["download_info"]["archive_info"]["hashes"]["sha256"] for item in items}


def _reachable(requirements: str) -> str:
    """Returns the requirements without unreachable indexes, which pip would try six times per package."""
    lines = []
    for line in requirements.splitlines():
        if line.startswith("--extra-index-url "):
            try:
                urlopen(f"{line.split()[1]}/torch/", timeout=5).close()
            except OSError as error:
                print(f"left out: {line} ({error})", file=sys.stderr)
                continue
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
