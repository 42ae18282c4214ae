"""The commands that recompute a statement's numbers; the page prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def evaluated(names: Sequence[str], extra: str = "") -> str:
    """Measures the shipped models, adds three seeds, and prints the verdicts again."""
    listed = " ".join(names)
    return "\n".join(filter(None, [
        f"for name in {listed}; do python -m models.training.evaluate $name; done",
        f"for seed in 0 1 2; do python -m models.training {listed} --seed $seed --short; done",
        extra, "python -m models.studies.claims"]))


def measured(part: str, names: Sequence[str] = ()) -> str:
    """Measures one part of claims.json again, after seeds of the models whose spread it uses."""
    seeds = f"for seed in 0 1 2; do python -m models.training {' '.join(names)} --seed $seed --short; done\n"
    return (seeds if names else "") + f"python -m models.studies.claims {part}"


def learned(kinds: Sequence[str], runs: Sequence[Mapping[str, Any]], extra: str = "") -> str:
    """Learns gates on these kinds of heads again, a line a seed: at the strengths of these runs."""
    command = f"python -m models.training.prune_heads --kinds {' '.join(kinds)}"
    together: dict[tuple[int, int], list[str]] = {}
    for run in runs:
        together.setdefault((run["steps"], run["seed"]), []).append(f"{run['strength']:g}")
    lines = [f"{command} --strengths {' '.join(strengths)} --steps {steps} --seed {seed}"
             for (steps, seed), strengths in together.items()]
    return "\n".join(filter(None, [*(lines or [command]), extra, "python -m models.studies.claims"]))
