"""Tiny models of every attention type, with random weights: enough for mathematics, and built in an instant."""

from __future__ import annotations

import functools
from dataclasses import replace

import torch
from torch import Tensor

from models.checkpoint import mean_weights
from models.heads import HeadPlan
from models.lab import Lab
from models.tasks.assignment import Assignment
from models.tasks.base import Prompt
from models.trace import Trace, run_prompt
from models.config import Config
from models.transformer import Transformer

LAYERS, HEADS, WIDTH = 2, 4, 32
UNTOUCHED = HeadPlan()
TEXT = "y=7; x=1; x=3; y=?; z=5; x=?"  # 12 tokens and two questions


def make_model(attention: str, seed: int = 0, causal: bool = True) -> Transformer:
    """Random weights twice as large as LeCun's: scores of standard deviation 4, so that weights are far from flat
    and F from 0; and a larger embedding, so that the output's distribution is far from flat too."""
    torch.manual_seed(seed)
    config = Config(attention, vocabulary=Assignment.vocabulary, width=WIDTH, layers=LAYERS, heads=HEADS, causal=causal)
    model = Transformer(config, initial_std=2 * WIDTH**-0.5)
    model.embedding.weight.data *= 20
    return model.eval().requires_grad_(False)


@functools.cache
def make_lab(attention: str) -> Lab:
    """Shared by all tests, as a Lab is never changed."""
    model, task = make_model(attention), Assignment()
    return Lab(f"tiny-{attention}", task, model, {"self": mean_weights(model, task.typical(8))}, card={})


def with_constant(lab: Lab, constant: Tensor) -> Lab:
    """The same model with other constant matrices (L, H, N, N)."""
    return replace(lab, constant={"self": constant})


def all_heads(**state: object) -> HeadPlan:
    """A plan in which every head of a tiny model has this state, like constant=True."""
    return HeadPlan().with_heads([("self", layer, head) for layer in range(LAYERS) for head in range(HEADS)], **state)


def random_ids(count: int, n: int, seed: int = 0) -> Tensor:
    """(count, n) token ids, BOS first."""
    ids = torch.randint(1, Assignment.vocabulary, (count, n), generator=torch.Generator().manual_seed(seed))
    ids[:, 0] = 0
    return ids


def trace_of(lab: Lab, ids: Tensor, plan: HeadPlan = UNTOUCHED) -> Trace:
    """The Trace of any (N,) ids, which need not be a text that the task can read; asked after every token."""
    n = len(ids)
    prompt = Prompt(tuple(ids.tolist()), tuple(map(str, ids.tolist())), tuple(range(n)), (*ids[1:].tolist(), -1))
    return run_prompt(lab, prompt, plan)
