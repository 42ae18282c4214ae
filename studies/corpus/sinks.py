"""The fraction of attention on the first token; for a gated model also its gates and their effect on the loss.

    python -m studies.corpus.sinks stories-softmax stories-gated

A softmax row sums to 1 even if no key is relevant, and large models put this attention on the first token (Xiao et al.
2023, arXiv 2309.17453). A gate lets a head output nothing instead (Qiu et al. 2025, arXiv 2505.06708).

Measured over held-out windows: the attention to the first key, a mean over all later queries, heads and layers. To
measure the effect of gates that depend on the token, they are replaced by each head's mean over validation texts, and
then by 1; the loss differences are reported. Writes studies/measurements/NAME.sink.json.
"""

import argparse
import copy
import math
from typing import Any, cast

import torch
from torch import Tensor, nn

from models.catalogue import names_of
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention.base import Record
from models.nets.attention.gated import Gated
from models.nets.transformer import Transformer
from models.tasks.base import Batch, Task
from models.trace import sink
from studies import held_out
from studies.command import study

TOKENS = 16_384  # number of tokens of held-out windows, evenly spread
NEARLY_CLOSED = 0.1  # gates below this value count as closed


class Always(nn.Module):
    """Replaces a gate's linear layer by constant logits, from gates (H,) in 0 to 1."""

    gates: Tensor

    def __init__(self, gates: Tensor) -> None:
        super().__init__()
        self.register_buffer("gates", gates)

    def forward(self, x: Tensor) -> Tensor:
        """Returns (B, N, H) logits of the constant gates."""
        return self.gates.logit().expand(*x.shape[:2], -1)


def has_gates(model: Transformer) -> bool:
    """Returns whether every layer has gates that the model computes."""
    return all(isinstance(block.attention, Gated) for block in model.blocks)


def with_gates(model: Transformer, gates: Tensor) -> Transformer:
    """Returns a copy of the model with constant gates."""
    result = copy.deepcopy(model)
    for block, gate in zip(result.blocks, gates, strict=True):
        block.attention.gating = Always(gate)
    return result


@torch.inference_mode()
def records_of(model: Transformer, batch: Batch) -> list[Record]:
    """Returns one record per layer."""
    records: list[Record] = []
    model(batch.tokens, records=records)
    return records


def gates_of(model: Transformer, batches: list[Batch]) -> Tensor:
    """Returns (B, L, H, N) gates of every token."""
    return torch.cat([torch.stack([cast(Tensor, record.gates) for record in records_of(model, batch)], 1)
                      for batch in batches])


def shares_of(model: Transformer, batches: list[Batch]) -> Tensor:
    """Returns (B, L, H) attention to the first key, a mean over all queries but the first."""
    return torch.cat([torch.stack([torch.from_numpy(sink(record.weights.numpy()))
                                   for record in records_of(model, batch)], 1) for batch in batches])


def measure(model: Transformer, test: list[Batch], validation: list[Batch]) -> dict[str, Any]:
    """Returns the content of the measurement."""
    shares = shares_of(model, test)
    measurement: dict[str, Any] = {"windows": len(shares), "window": test[0].tokens.shape[1],
                                   "share": rounded(shares.mean(0)), "by_window": rounded(shares.mean((1, 2)))}
    if not has_gates(model):
        return measurement
    gates = gates_of(model, test)
    constant = gates_of(model, validation).mean((0, 3))
    variants = {"own": model, "constant": with_gates(model, constant),
                "open": with_gates(model, torch.ones_like(constant))}
    losses = {way: held_out.losses(variant, test) for way, variant in variants.items()}
    return measurement | {
        "gates": {"mean": rounded(gates.mean((0, 3))), "closed": rounded((gates < NEARLY_CLOSED).float().mean()),
                  "first": rounded(gates[..., 0].mean()), "others": rounded(gates[..., 1:].mean()),
                  "by_window": rounded(gates.mean((1, 2, 3)))},
        "perplexity": {way: round(math.exp(held_out.mean(*loss)), 2) for way, loss in losses.items()},
        "losses": {way: rounded(values) for way, (values, _) in losses.items()}}


def rounded(values: Tensor) -> Any:
    """Returns nested lists of numbers with five decimals."""
    return [rounded(value) for value in values] if values.ndim else round(float(values), 5)


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    measurement = measure(lab.model, held_out.test_texts(task.corpus, TOKENS),
                          held_out.validation_texts(task.corpus, TOKENS))
    mean = sum(measurement["by_window"]) / measurement["windows"]
    print(f"{lab.name}: {mean:.1%} of the weights on the first token", measurement.get("perplexity", ""), flush=True)
    return measurement


if __name__ == "__main__":
    study("sink", __doc__, names_of("stories"), own, _study)
