"""Checks the JavaScript and the style sheets: `python -m tests.js.lint` (Biome's format and rules, TypeScript's types).

If Biome and TypeScript are not in node_modules/, they are installed there by npm, at the versions of package-lock.json.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.js.node import ROOT, find, npm

MODULES = ROOT / "node_modules"
CHECKS = (("@biomejs/biome/bin/biome", "ci", "--error-on-warnings", "--colors=off"),
          ("typescript/bin/tsc", "--project", "."))


def main() -> int:
    """Runs all checks and returns the number of failed ones."""
    node = find()
    env = os.environ | {"PATH": f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    installed, wanted = MODULES / ".package-lock.json", ROOT / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        subprocess.run([node, npm(), "ci", "--no-audit", "--no-fund"], cwd=ROOT, env=env, check=True)
    return sum(subprocess.run([node, MODULES / script, *arguments], cwd=ROOT, env=env).returncode != 0
               for script, *arguments in CHECKS)


if __name__ == "__main__":
    sys.exit(main())
