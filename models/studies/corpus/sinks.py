"""How much attention goes to the first token; and of a model with gates of its own how open they are, and what they
are worth.

    python -m models.studies.corpus.sinks stories-softmax stories-gated

A query that finds nothing must put its weight somewhere, and in large models it is the first token (Xiao et al. 2023,
arXiv 2309.17453); a gate on a head's output lets the head say nothing instead (Qiu et al. 2025, arXiv 2505.06708).
Over held-out windows: the share of the first key, a mean over the queries after it, over heads and layers. Gates are
replaced by what each head's are on average over validation texts, and all by 1: what the loss rises by then is what it
was worth that they go by the token. Writes models/studies/measurements/NAME.sink.json.
"""

from __future__ import annotations

import argparse
import copy
import math
from typing import Any, cast

import torch
from torch import Tensor, nn

from models.catalogue import names
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention.base import Record
from models.nets.attention.gated import Gated
from models.nets.transformer import Transformer
from models.studies import held_out
from models.studies.command import study
from models.tasks.base import Batch, Task
from models.trace import sink

TOKENS = 16_384  # of held-out windows, evenly over all
NEARLY_CLOSED = 0.1  # a gate below it


class Always(nn.Module):
    """In place of a gate's linear layer: the same logits for every token.

    Args:
        gates: (H,) 0 to 1.
    """

    gates: Tensor

    def __init__(self, gates: Tensor) -> None:
        super().__init__()
        self.register_buffer("gates", gates)

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, C) -> (B, N, H)"""
        return self.gates.logit().expand(*x.shape[:2], -1)


def has_gates(model: Transformer) -> bool:
    return all(isinstance(block.attention, Gated) for block in model.blocks)


def with_gates(model: Transformer, gates: Tensor) -> Transformer:
    """A copy whose gates no longer depend on the token.

    Args:
        gates: (L, H), 0 to 1.
    """
    result = copy.deepcopy(model)
    for block, its in zip(result.blocks, gates, strict=True):
        block.attention.gating = Always(its)
    return result


@torch.inference_mode()
def records_of(model: Transformer, batch: Batch) -> list[Record]:
    """One a layer."""
    records: list[Record] = []
    model(batch.tokens, records=records)
    return records


def gates_of(model: Transformer, batches: list[Batch]) -> Tensor:
    """(B, L, H, N) the gates of every token, of texts of one length."""
    return torch.cat([torch.stack([cast(Tensor, record.gates) for record in records_of(model, batch)], 1)
                      for batch in batches])


def shares_of(model: Transformer, batches: list[Batch]) -> Tensor:
    """(B, L, H) what the first key gets of a row's weights, a mean over all queries but the first."""
    return torch.cat([torch.stack([torch.from_numpy(sink(record.weights.numpy()))
                                   for record in records_of(model, batch)], 1) for batch in batches])


def measure(model: Transformer, test: list[Batch], validation: list[Batch]) -> dict[str, Any]:
    """What stands in the file.

    Args:
        test: what is reported, windows of one length.
        validation: what the gates' means are of, likewise.
    """
    shares = shares_of(model, test)
    found: dict[str, Any] = {"windows": len(shares), "window": test[0].tokens.shape[1],
                             "share": rounded(shares.mean(0)), "by_window": rounded(shares.mean((1, 2)))}
    if not has_gates(model):
        return found
    gates = gates_of(model, test)
    constant = gates_of(model, validation).mean((0, 3))
    ways = {"own": model, "constant": with_gates(model, constant), "open": with_gates(model, torch.ones_like(constant))}
    losses = {way: held_out.losses(its, test) for way, its in ways.items()}
    return found | {
        "gates": {"mean": rounded(gates.mean((0, 3))), "closed": rounded((gates < NEARLY_CLOSED).float().mean()),
                  "first": rounded(gates[..., 0].mean()), "others": rounded(gates[..., 1:].mean()),
                  "by_window": rounded(gates.mean((1, 2, 3)))},
        "perplexity": {way: round(math.exp(held_out.mean(*its)), 2) for way, its in losses.items()},
        "losses": {way: rounded(its) for way, (its, _) in losses.items()}}


def rounded(values: Tensor) -> Any:
    """As lists, five places each."""
    return [rounded(value) for value in values] if values.ndim else round(float(values), 5)


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    found = measure(lab.model, held_out.test_texts(task.corpus, TOKENS), held_out.validation_texts(task.corpus, TOKENS))
    mean = sum(found["by_window"]) / found["windows"]
    print(f"{lab.name}: {mean:.1%} of the weights on the first token", found.get("perplexity", ""), flush=True)
    return found


def main() -> None:
    study("sink", __doc__, [name for name in names() if name.startswith("stories-")], own, _study)


if __name__ == "__main__":
    main()
