"""Compares a forward pass that captures everything, without and with a plan for all heads, with the plain pass.

The plain pass returns logits and the attention patterns of each layer as torch tensors, like `output_attentions` in
`transformers`. The capturing pass is `run_prompt`: scores, attention patterns before and after the plan, the
selective mask F, norms and losses as numpy arrays.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from app.server import serving
from models import HeadPlan
from models.lab import run_prompt
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention.rotary import rotary_table

LENGTHS = (16, 64, 128)
ROUNDS = 60
TEXT = "Once upon a time there was a little dragon who was afraid of the dark. One day he met a girl. " * 8


def measure(name: str = "stories-selective") -> list[dict[str, Any]]:
    """Returns one row per length: p50 of the passes in milliseconds, and their ratios."""
    serving.tune()
    lab = own(name)
    layers, heads = lab.shape["self"]
    everything = [("self", layer, head) for layer in range(layers) for head in range(heads)]
    plan = HeadPlan().with_heads(everything, constant=True, gate=0.5)
    rows = []
    for n in LENGTHS:
        whole = lab.read(TEXT)
        prompt = replace(whole, ids=whole.ids[:n], tokens=whole.tokens[:n], predict_at=(n - 1,),
                         targets=(*whole.ids[1:n], -1), omitted=0)
        plain, captured, planned = interleaved(
            partial(_plain, lab, prompt), partial(run_prompt, lab, prompt), partial(run_prompt, lab, prompt, plan))
        rows.append({"tokens": n, "plain ms": plain, "captured ms": captured, "captured / plain": captured / plain,
                     "all heads constant and gated ms": planned, "planned / plain": planned / plain})
    return rows


@torch.inference_mode()
def _plain(lab: StackLab, prompt: Any) -> Any:
    """Runs only the computation that `output_attentions` needs: no plan, no captured values, no norms."""
    model, weights = lab.model, []
    tokens = torch.tensor([prompt.ids])
    rotary = rotary_table(tokens.shape[1], model.config.head_width)
    x = model.embedding(tokens)
    for block in model.blocks:
        attention, h = block.attention, block.attention_norm(x)
        live, _ = attention.normalise(attention.scores(h, rotary))
        weights.append(live)
        x = x + attention.output(attention.outputs(live, attention.values(h), h).transpose(1, 2).flatten(2))
        x = x + block.down(functional.gelu(block.up(block.mlp_norm(x)), approximate="tanh"))
    return model.logits(model.norm(x)[0]).log_softmax(-1), weights


def interleaved(*functions: Callable[[], Any]) -> list[float]:
    """Returns the median time of each function, measured alternately, so that a busy machine slows all equally."""
    times: list[list[float]] = [[] for _ in functions]
    for round_ in range(ROUNDS + 5):
        for function, taken in zip(functions, times, strict=True):
            began = time.perf_counter()
            function()
            if round_ >= 5:  # the first rounds warm caches
                taken.append((time.perf_counter() - began) * 1e3)
    return [statistics.median(taken) for taken in times]
