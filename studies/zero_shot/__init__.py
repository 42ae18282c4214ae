"""Tests that no model was trained for, by log-probabilities: pairs of sentences, and multiple choice."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.nets.transformer import Transformer


@dataclass(frozen=True)
class Ids:
    """Token ids of a text with an ending."""

    tokens: tuple[int, ...]  # token ids without BOS
    start: int = 0  # index of the ending's first token; 0 if the whole text is the ending


@torch.inference_mode()
def log_probabilities(model: Transformer, sequences: Sequence[Ids], batch: int) -> Tensor:
    """Returns (S, 2): for each sequence the summed log-probability of the ending's tokens in nats, and their number."""
    result = torch.zeros(len(sequences), 2)
    # sequences are sorted by length, so that batches need little padding
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i].tokens))
    for begin in range(0, len(order), batch):
        chosen = order[begin:begin + batch]
        targets = pad_sequence([torch.tensor(sequences[i].tokens) for i in chosen], batch_first=True, padding_value=-1)
        # the first input is BOS, which has id 0
        tokens = torch.nn.functional.pad(targets.clamp_min(0), (1, -1), value=0)
        starts = torch.tensor([sequences[i].start for i in chosen]).unsqueeze(1)
        # Padding after a sequence does not change it, because attention is causal.
        of_ending = (targets >= 0) & (torch.arange(targets.shape[1]) >= starts)
        logits = model.logits(model(tokens)[of_ending])
        values = logits.gather(1, targets[of_ending].unsqueeze(1)).squeeze(1) - logits.logsumexp(1)
        rows = of_ending.nonzero()[:, 0]
        sums = torch.zeros(len(chosen)).index_add(0, rows, values)
        result[torch.tensor(chosen)] = torch.stack([sums, of_ending.sum(1).float()], dim=1)
    return result
