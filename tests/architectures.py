"""Writes docs/architectures.md: `python -m tests.architectures` opens a tiny model of every tested architecture."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "architectures.md"
sys.path.insert(0, str(ROOT / "tests" / "models"))

from foreign_tiny import lab_of  # noqa: E402  # the path of tests/models has to be added first

from models.labs.foreign.refusals import REFUSALS, version  # noqa: E402
from tests.models.foreign_architectures import ARCHITECTURES, HYBRIDS  # noqa: E402

HEAD = """# Architectures

Written by `python -m tests.architectures` with transformers {version}. A small version of each model below is built
from its config and opened. Its attention maps equal `output_attentions`; a gate of 0 gives the same result as setting
the head to zero before W_O; a gate of 1 changes no bit (`tests/models/test_foreign.py`). Any other model opens if its
attention goes through transformers' AttentionInterface or calls softmax itself, and if it passes the comparison that
every model passes when it is opened.

| architecture | opens as | attention blocks |
|---|---|---|
"""


MIXED = """## Hybrids

Some layers of these models have no softmax over keys and therefore no attention maps. The other layers are shown, and
the grid names the layers that are missing. `conv` is a short convolution (`tests/models/test_foreign_hybrids.py`).

| architecture | opens as | layers without maps |
|---|---|---|
"""


def document() -> str:
    """Returns the documentation page with the tested architectures, the hybrids and the table of refusals."""
    rows = []
    for name, (_config, model, _numbers, _make) in ARCHITECTURES.items():
        lab = lab_of(name)
        rows.append(f"| {model} | {lab.task.title} | {', '.join(kind.title.lower() for kind in lab.kinds)} |")
    hybrids = []
    for name, (_config, model, _numbers, _make) in HYBRIDS.items():
        lab = lab_of(name)
        others = sorted({spelt.replace("_", " ") for spelt, is_shown in lab.layer_types if not is_shown})
        without = ", ".join(others) or "none: each has attention and a state space"
        hybrids.append(f"| {model} | {lab.task.title} | {without} |")
    refusals = [f"| {row.reason} | {row.remedy} |" for row in REFUSALS.values()]
    return "\n".join([HEAD.format(version=version()) + "\n".join(dict.fromkeys(rows)), "",
                      MIXED + "\n".join(hybrids), "", "## Refusals", "",
                      "| reason | what to do |", "|---|---|", *refusals, ""])


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
