"""The commands that recompute a statement's numbers; the page prints them."""

from __future__ import annotations

from collections.abc import Sequence


def evaluated(names: Sequence[str], extra: str = "") -> str:
    """Measures the shipped models, adds three seeds, and prints the verdicts again."""
    listed = " ".join(names)
    return "\n".join(filter(None, [
        f"for name in {listed}; do python -m models.evaluate $name; done",
        f"for seed in 0 1 2; do python -m models.training {listed} --seed $seed --short; done",
        extra, "python -m models.studies.claims"]))


def measured(part: str, names: Sequence[str] = ()) -> str:
    """Measures one part of claims.json again, after seeds of the models whose spread it uses."""
    seeds = f"for seed in 0 1 2; do python -m models.training {' '.join(names)} --seed $seed --short; done\n"
    return (seeds if names else "") + f"python -m models.studies.claims {part}"
