"""Tiny models of every attention type with random weights, for fast tests."""

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from models.lab import run_prompt
from models.labs.stack import StackLab
from models.nets.attention import TYPES
from models.nets.config import Config
from models.nets.mean_patterns import mean_patterns
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Transformer
from models.plan import HeadPlan
from models.prompt import Prompt
from models.storage.checkpoint import CARD_KEYS, write, write_json
from models.tasks import TASKS
from models.tasks.assignment import AssignmentReader
from models.tasks.base import Batch
from models.trace import Trace
from models.training.recipes import Recipe

LAYERS, HEADS, WIDTH = 2, 4, 32
LENGTH = 128  # size of the tables, and limit of an input text in tokens
NO_INTERVENTION = HeadPlan()
TEXT = "y=7; x=1; x=3; y=?; z=5; x=?"  # a text of 12 tokens with two questions

# selective attention is left out, because F is defined only with a causal mask
BIDIRECTIONAL = sorted(name for name, kind in TYPES.items() if not kind.selects)
either_way = pytest.mark.parametrize(("attention", "causal"), [
    *((name, True) for name in sorted(TYPES)), *((name, False) for name in BIDIRECTIONAL)])


def heads_of(attention: str) -> int:
    """Returns the number of heads: one for a gated attention unit, several for the other types."""
    return 1 if attention.startswith("gau-") else HEADS


def make_config(attention: str, causal: bool = True, length: int = LENGTH) -> Config:
    return Config(attention, vocabulary=AssignmentReader.vocabulary, width=WIDTH, layers=LAYERS,
                  heads=heads_of(attention), causal=causal, trained_length=length)


def make_model(attention: str, seed: int = 0, causal: bool = True, length: int = LENGTH) -> Transformer:
    """Returns a model with random weights twice as large as LeCun's and with a larger embedding. Scores then have
    standard deviation 4, so attention is far from uniform. The selective mask F (accumulated votes) is far from 0, and
    predictions are far from uniform. Parameters that normally start at zero or one are random too, because such values
    could hide a mistake."""
    torch.manual_seed(seed)
    model = Transformer(make_config(attention, causal, length), initial_std=2 * WIDTH**-0.5).requires_grad_(False)
    model.embedding.weight *= 20
    for block in model.blocks:
        for name, parameter in attention_state(block.attention):
            noise = torch.randn_like(parameter)
            if name.endswith(("mixing_table", "bias_table", "shift")):
                parameter += 0.5 * noise
            elif name.endswith(("query_table", "key_table")):
                parameter.copy_(0.8 * noise)  # a product of rank 8 then has a standard deviation of 2
            elif name.endswith("table"):
                parameter.copy_(2 * noise)
            elif name.endswith("positions.weight"):
                parameter.copy_(0.5 * noise)
            elif name.endswith(("tiled.weight", "interleaved.weight")):
                parameter.copy_(0.3 * noise)
            elif name.endswith(("hidden.linear.bias", "source.scale")):
                parameter.copy_(noise)
            elif name.endswith(("scalable", "log_divisor")):
                parameter *= 1 + 0.2 * noise
    return model.eval()


def written(folder: Path, task: str, model: Transformer | Seq2Seq, constant: dict[str, Tensor]) -> Path:
    """Writes a model to a folder, with a card that has every field, and returns the folder."""
    write(folder, model, constant)
    write_json(folder / "card.json", dict.fromkeys(CARD_KEYS, {}) | {"name": folder.name, "task": task})
    return folder


def attention_state(module: torch.nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yields parameters and buffers with their names."""
    yield from module.named_parameters()
    yield from module.named_buffers()


@functools.cache
def make_lab(attention: str, causal: bool = True, length: int = LENGTH) -> StackLab:
    """Returns a tiny Lab. All tests share it, because a Lab is never changed."""
    model, task = make_model(attention, causal=causal, length=length), TASKS["assignment"].build()
    constant = mean_patterns(model, task.corpus.typical(8)[:, :model.limit(task.reader.limit)])
    return StackLab(f"tiny-{attention}", task.reader, model, {"self": constant}, card={})


def with_constant(lab: StackLab, constant: Tensor) -> StackLab:
    """Returns a copy of the Lab with other constant matrices (L, H, N, N)."""
    return replace(lab, constant={"self": constant})


def with_attention(recipe: Recipe, attention: str, **changes: object) -> Recipe:
    """Returns a copy of the recipe with another attention type."""
    heads = 1 if attention.startswith("gau-") else recipe.config.heads
    return replace(recipe, config=replace(recipe.config, attention=attention, heads=heads), **changes)


def address(lab: StackLab, layer: int, head: int) -> tuple[str, int, int]:
    """Returns the address of a head of a tiny model. For a model with one head per layer it is this head."""
    return "self", layer, head % lab.shape["self"][1]


def all_heads(lab: StackLab, **state: object) -> HeadPlan:
    """Returns a plan that gives every head of the model this state, such as constant=True."""
    layers, heads = lab.shape["self"]
    return HeadPlan().with_heads([("self", layer, head) for layer in range(layers) for head in range(heads)], **state)


def another_scale(lab: StackLab, plan: HeadPlan = NO_INTERVENTION) -> HeadPlan:
    """Returns the plan with a scale that the type supports and was not trained with, or else the plan itself."""
    policies = lab.attention.policies
    if "logn" in policies:
        return plan.with_scale("logn", 9)
    return plan.with_scale("length") if "length" in policies else plan


def random_ids(count: int, n: int, seed: int = 0) -> Tensor:
    """Returns token ids (count, n) that start with BOS."""
    ids = torch.randint(1, AssignmentReader.vocabulary, (count, n), generator=torch.Generator().manual_seed(seed))
    ids[:, 0] = 0
    return ids


def prompt_of(ids: Tensor) -> Prompt:
    """Returns a prompt of any ids (N,), with a prediction for every token; they need not be a readable text."""
    return Prompt(tuple(ids.tolist()), tuple(map(str, ids.tolist())), tuple(range(len(ids))), (*ids[1:].tolist(), -1))


def trace_of(lab: StackLab, ids: Tensor, plan: HeadPlan = NO_INTERVENTION) -> Trace:
    """Returns the Trace of the prompt with these ids."""
    return run_prompt(lab, prompt_of(ids), plan)


class OutageError(Exception):
    """Simulates a machine that stops during a training."""


class Stopping:
    """A corpus whose training stops at a step."""

    def __init__(self, corpus: Any, at: int) -> None:
        self.corpus, self.at = corpus, at

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        if step == self.at:
            raise OutageError
        return self.corpus.batch(step, steps, seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.corpus, name)
