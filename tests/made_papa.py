"""Synthetic results of the study of constant attention (PAPA), in the format of studies/papa."""

import copy
from typing import Any

from models.storage.checkpoint import CHECKPOINTS, read_json
from studies import store
from studies.papa import results
from studies.papa.corpora import CORPORA

LAYERS, HEADS = 2, 8
COUNTS = results.head_counts(LAYERS * HEADS)
CONSTANT_ANSWER = 0.01


def made(drop: float = 0.05, learned: float = 0.0, name: str = "masked-softmax", base: float = 0.8) -> dict[str, Any]:
    """Returns results: with all heads constant a task loses `drop` of its score, half of it with half of the heads."""
    loss_at = dict(zip(COUNTS, (0.0, drop / 2, drop * 0.8, drop * 0.9, drop), strict=True))
    scores: dict[str, Any] = {}
    for count, lost in loss_at.items():
        scores[f"learned {count} 0"] = {str(seed): {"score": base * (1 - lost) + 0.001 * (seed - 1)}
                                        for seed in range(3)}
    scores[f"removed {COUNTS[-1]} 0"] = {str(seed): {"score": base / 2} for seed in range(3)}
    for seed in range(3):
        at = COUNTS[2]
        scores[f"random {at} {seed}"] = {str(seed): {"score": base * (1 - loss_at[at] - learned) + 0.001 * (seed - 1)}}
    order = [["self", layer, head] for layer in range(LAYERS) for head in range(HEADS)]
    tasks = {key: {"metric": corpus.metric, "labels": ["x", "y"], "order": order, "scores": copy.deepcopy(scores),
                   "constant_answer": CONSTANT_ANSWER, "cpu_seconds": 1.0}
             for key, corpus in CORPORA.items()}
    card = CHECKPOINTS / name / "card.json"
    weights = store.sha(read_json(card)) if card.exists() else "0123"
    return {"name": name, "weights": weights, "version": store.version("papa"), "metric": {}, "title": name,
            "address": name, "layers": LAYERS, "heads": HEADS, "parameters": 1000,
            "command": f"python -m studies.papa {name}", "cpu_seconds": 7,
            "elsewhere": not card.exists(), "tasks": tasks}


def needing_heads(found: dict[str, Any], lost: float = 0.5) -> dict[str, Any]:
    """Returns the results with other scores for all heads pruned: every task then loses the fraction `lost`."""
    for its in found["tasks"].values():
        base = its["scores"]["learned 0 0"]
        its["scores"][f"removed {COUNTS[-1]} 0"] = {seed: {"score": its["score"] * (1 - lost)}
                                                    for seed, its in base.items()}
    return found
