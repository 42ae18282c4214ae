"""Runs the JavaScript tests: `python -m tests.js [file ...]` writes the fixtures and runs `node --test`."""

import sys

from tests.js.fixtures import write
from tests.js.node import ROOT, run

fixtures = ROOT / "runs" / "fixtures"
write(fixtures)
result = run(sys.argv[1:], fixtures)
print(result.stdout + result.stderr)
sys.exit(result.returncode)
