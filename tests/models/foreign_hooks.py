"""What a plan should do to a foreign model, done by other means: hooks on transformers' own eager model, which know
nothing of ours. Weights are exchanged where softmax returns them, heads are zeroed where the output projection reads
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

QUERIES = {"query", "q", "q_lin", "q_proj", "c_attn", "query_key_value", "qkv_proj", "query_proj"}
OUTPUTS = ("out_lin", "dense", "o", "c_proj", "out_proj", "o_proj")


@dataclass
class Change:
    """What is done to one layer.

    Attributes:
        heads: H.
        gates: head -> factor on its slice before the output projection.
        constant: head -> (N, M) its weights.
        factor: (N or 1, 1) on the scores without bias and mask.
        bias: what the model adds to its scores, (H, N, M).
    """

    heads: int
    gates: Mapping[int, float] = field(default_factory=dict)
    constant: Mapping[int, Tensor] = field(default_factory=dict)
    factor: Tensor | None = None
    bias: Tensor | float = 0.0


def layers_of(model: nn.Module, encodes_and_decodes: bool) -> list[tuple[str, nn.Module, nn.Module]]:
    """(kind, attention, its output projection) in the order of the layers."""
    named = dict(model.named_modules())
    found = []
    for name, module in named.items():
        if not QUERIES & {child for child, _ in module.named_children()}:
            continue
        kind = "self"
        if encodes_and_decodes:
            crosses = "encoder_attn" in name or "EncDec" in name
            kind = "cross" if crosses else "decoder" if "decoder." in name else "encoder"
        own = [child for child in OUTPUTS if hasattr(module, child)]
        output = getattr(module, own[0]) if own else named[name.rpartition(".")[0] + ".output.dense"]
        found.append((kind, module, output))
    return found


@contextmanager
def changed(model: nn.Module, changes: Mapping[tuple[str, int], Change]) -> Iterator[None]:
    """The model under these changes, by (kind, layer)."""
    running: list[tuple[str, int]] = []
    ran: dict[str, int] = {}
    latest: dict[nn.Module, tuple[str, int]] = {}
    handles, softmax = [], nn.functional.softmax

    def enter(kind: str, output: nn.Module) -> Any:
        def hook(*_: Any) -> None:
            running.append((kind, ran.get(kind, 0)))
            latest[output] = running[-1]
            ran[kind] = ran.get(kind, 0) + 1
        return hook

    def project(output: nn.Module) -> Any:
        def hook(_: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            change = changes.get(latest[output])
            if change is None:
                return arguments
            slices = arguments[0].unflatten(-1, (change.heads, -1)).clone()
            for head, gate in change.gates.items():
                slices[..., head, :] *= gate
            return (slices.flatten(-2), *arguments[1:])
        return hook

    def exchanged(scores: Tensor, *arguments: Any, **named: Any) -> Tensor:
        change = changes.get(running[-1]) if running else None
        if change is not None and change.factor is not None:
            scaled = (scores - change.bias) * change.factor + change.bias
            scores = torch.where(scores < -1e30, scores, scaled)
        weights = softmax(scores, *arguments, **named)
        for head, matrix in (change.constant if change else {}).items():
            weights = weights.clone()
            weights.view(1, -1, *weights.shape[-2:])[0, head] = matrix
        return weights

    for kind, attention, output in layers_of(model, bool(model.config.is_encoder_decoder)):
        handles += [attention.register_forward_pre_hook(enter(kind, output)),
                    attention.register_forward_hook(lambda *_: running.pop() and None),
                    output.register_forward_pre_hook(project(output))]
    nn.functional.softmax = exchanged
    try:
        yield
    finally:
        nn.functional.softmax = softmax
        for handle in handles:
            handle.remove()


def bias_of(model: nn.Module, kind: str, n: int, m: int) -> Tensor | float:
    """(H, N, M) what T5 and MPNet add to the scores of every layer of a kind; 0 of others."""
    if model.config.model_type == "mpnet":
        return model.mpnet.encoder.compute_position_bias(torch.zeros(1, n, 1))[0]
    if model.config.model_type == "t5" and kind != "cross":
        stack = model.encoder if kind == "encoder" else model.decoder
        return stack.block[0].layer[0].SelfAttention.compute_bias(n, m)[0]
    return 0.0
