"""Writes docs/architectures.md: `python -m tests.architectures` opens a tiny model of every tested architecture."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "architectures.md"
sys.path.insert(0, str(ROOT / "tests" / "models"))

from foreign_tiny import TEXT, lab_of, picture  # noqa: E402  # the path of tests/models has to be added first

from models import HeadPlan  # noqa: E402
from models.labs.foreign.lab import ForeignLab  # noqa: E402
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
the grid names the layers that are missing. `conv` is a short convolution (`tests/models/test_foreign.py`).

| architecture | opens as | layers without maps |
|---|---|---|
"""

TOOLS = """## Tools

What each tool answers for each architecture, tried with the small models above. *yes* means that the tool's numbers
add up to the model's own: the parts of a score to the score, the contributions to the last hidden state, the lens's
last row and a patch with the text's own values to the logits.

| architecture | why here | lens | contributions | patching |
|---|---|---|---|---|
"""


def outcome(tool: Callable[[], None]) -> str:
    """Returns yes, or the sentence with which the tool is refused."""
    try:
        tool()
    except ValueError as error:
        return str(error)
    return "yes"


def tools_of(lab: ForeignLab) -> list[str]:
    """Returns the outcome of each tool of TOOLS for one model; raises AssertionError if a tool's numbers are wrong."""
    plan, kind = HeadPlan(), lab.kinds[0].name
    text = "The cat sat on the [mat]. The dog sat." if lab.task.hides else TEXT
    prompt: Any = lab.read_picture(picture()) if lab.task.sees else lab.read(text)

    def why() -> None:
        parts = lab.score_parts(prompt, plan, (kind, 0, 1), 5, 2)
        layer = lab.layer(prompt, plan, kind, 0)
        sums_to(float(parts.dimensions.sum()) + parts.position, layer.scores[1, 5, 2])
        sums_to(parts.score, layer.scores[1, 5, 2])

    def lens() -> None:
        residuals, _ = lab.residuals(prompt, plan)
        sums_to(residuals.logits(residuals.states[-1])[-1], lab.patched_logits(prompt, [None], "output")[0])

    def contributions() -> None:
        writes = lab.writes(prompt, plan)
        total = sum(heads.sum((0, 1)) for heads in writes.heads.values()) + sum(writes.rest.values())
        sums_to(total, lab.residuals(prompt, plan)[0].states[-1][-1])

    def patching() -> None:
        logits = lab.patched_logits(prompt.with_source(prompt), [None, (kind, 0, 1)], "output")
        sums_to(logits[1], logits[0])

    return [outcome(tool) for tool in (why, lens, contributions, patching)]


def sums_to(total: Any, expected: Any) -> None:
    torch.testing.assert_close(torch.as_tensor(total).float(), torch.as_tensor(expected).float(), rtol=1e-3, atol=1e-3)


def tool_rows(names: Iterable[str]) -> list[str]:
    """Returns the rows of the table of tools for these architectures."""
    every = ARCHITECTURES | HYBRIDS
    return [f"| {every[name][1]} | {' | '.join(tools_of(lab_of(name)))} |" for name in names]


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
    refusals = [f"| {reason} | {remedy} |" for reason, remedy in REFUSALS.values()]
    return "\n".join([HEAD.format(version=version()) + "\n".join(dict.fromkeys(rows)), "",
                      MIXED + "\n".join(hybrids), "",
                      TOOLS + "\n".join(dict.fromkeys(tool_rows([*ARCHITECTURES, *HYBRIDS]))), "", "## Refusals", "",
                      "| reason | what to do |", "|---|---|", *refusals, ""])


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
