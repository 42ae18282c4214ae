"""The commands that recompute the numbers of a statement; Findings shows them."""

from collections.abc import Mapping, Sequence
from typing import Any


def evaluated(names: Sequence[str], extra: str = "") -> str:
    """Returns commands that evaluate the released models, train three seeds of each, and print the verdicts."""
    listed = " ".join(names)
    return "\n".join(filter(None, [
        f"for name in {listed}; do python -m models.training.evaluate $name; done",
        f"for seed in 0 1 2; do python -m studies.seeds {listed} --seed $seed; done",
        extra, "python -m studies.claims"]))


def full_seeds(module: str, names: Sequence[str], trained: Sequence[str] = ()) -> str:
    """Returns a command that measures released models, then commands that train two more seeds with as many steps."""
    again = f"python -m studies.seeds {' '.join(trained or names)} --seed $seed --full"
    return f"python -m {module} {' '.join(names)}\nfor seed in 1 2; do {again}; done\npython -m studies.claims"


def measured(part: str, names: Sequence[str] = ()) -> str:
    """Returns commands that measure one part of claims.json again."""
    seeds = f"for seed in 0 1 2; do python -m studies.seeds {' '.join(names)} --seed $seed; done\n"
    return (seeds if names else "") + f"python -m studies.claims {part}"


def learned(kinds: Sequence[str], runs: Sequence[Mapping[str, Any]], extra: str = "") -> str:
    """Returns commands that learn gates on the heads of these blocks again, one line per number of steps and seed."""
    command = f"python -m studies.prune_heads --kinds {' '.join(kinds)}"
    together: dict[tuple[int, int], list[str]] = {}
    for run in runs:
        together.setdefault((run["steps"], run["seed"]), []).append(f"{run['strength']:g}")
    lines = [f"{command} --strengths {' '.join(strengths)} --steps {steps} --seed {seed}"
             for (steps, seed), strengths in together.items()]
    return "\n".join(filter(None, [*(lines or [command]), extra, "python -m studies.claims"]))
