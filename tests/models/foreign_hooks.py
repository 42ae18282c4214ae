"""Applies a plan to a foreign model by a second method: hooks on transformers' own eager model.

The hooks use none of our code. They replace the weights that softmax returns, and multiply each head's slice of the
input of the output projection by the head's gate.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

QUERIES = {"query", "q", "q_lin", "q_proj", "c_attn", "query_key_value", "qkv_proj", "query_proj", "in_proj", "Wq",
           "Wqkv"}
NO_SOFTMAX = {"conv", "conv1d", "output_gate"}  # parts of the other layers of hybrid models
OUTPUTS = ("out_lin", "dense", "o", "c_proj", "out_proj", "o_proj")


@dataclass
class Change:
    """The changes of one layer."""

    heads: int  # H
    gates: Mapping[int, float] = field(default_factory=dict)  # head -> factor on its slice of the projection's input
    constant: Mapping[int, Tensor] = field(default_factory=dict)  # head -> constant attention weights (N, M)
    factor: Tensor | None = None  # (N or 1, 1), multiplies the scores before bias and mask
    bias: Tensor | float = 0.0  # (H, N, M), which the model itself adds to the scores


def layers_of(model: nn.Module, encodes_and_decodes: bool) -> list[tuple[str, nn.Module, nn.Module]]:
    """Returns (block, attention module, output projection of the module) for each layer, in order."""
    named = dict(model.named_modules())
    found = []
    for name, module in named.items():
        children = {child for child, _ in module.named_children()}
        if not QUERIES & children or NO_SOFTMAX & children:
            continue
        kind = "self"
        if encodes_and_decodes:
            crosses = any(part in name for part in ("encoder_attn", "EncDec", "crossattention", "cross_attn"))
            kind = "cross" if crosses else "decoder" if "decoder." in name else "encoder"
        own = [child for child in OUTPUTS if hasattr(module, child)]
        above = name.rpartition(".")[0]
        output = getattr(module, own[0]) if own else next(named[above + end] for end in (
            ".output.dense", ".post_attention.conv1d", ".output") if above + end in named)
        found.append((kind, module, output))
    return found


def slices_of(output: nn.Module, read: Tensor, heads: int) -> Tensor:
    """Views a projection's input as (B, N, H, D): SqueezeBERT is channels first, ConvBERT has convolutions last."""
    if isinstance(output, nn.Conv1d):
        read = read.transpose(1, 2)
    if hasattr(output, "positions_first"):
        read = read.transpose(0, 1)
    if hasattr(output, "of_heads"):
        read = read[..., :output.of_heads]
    return read.unflatten(-1, (heads, -1))


@contextmanager
def changed(model: nn.Module, changes: Mapping[tuple[str, int], Change]) -> Iterator[None]:
    """Context manager: inside it, the model runs with these changes, which are keyed by (block, layer)."""
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
            read = arguments[0].clone()
            slices = slices_of(output, read, change.heads)
            for head, gate in change.gates.items():
                slices[..., head, :] *= gate
            return (read, *arguments[1:])
        return hook

    def exchanged(scores: Tensor, *arguments: Any, **named: Any) -> Tensor:
        change = changes.get(running[-1]) if running else None
        if change is not None and change.factor is not None:
            scaled = (scores - change.bias) * change.factor + change.bias
            scores = torch.where(scores < -9e3, scores, scaled)
        weights = softmax(scores, *arguments, **named)
        for head, matrix in (change.constant if change else {}).items():
            weights = weights.clone()
            weights.view(1, -1, *weights.shape[-2:])[0, head, :, :matrix.shape[-1]] = matrix  # without the sink
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
    """Returns the bias (H, N, M) that a model adds to the scores of every layer of a block; 0 if there is none."""
    if model.config.model_type == "mpnet":
        return model.mpnet.encoder.compute_position_bias(torch.zeros(1, n, 1))[0]
    if model.config.model_type == "bloom":
        return model.transformer.build_alibi_tensor(torch.ones(1, m), model.config.n_head, torch.float32)
    if model.config.model_type == "falcon" and model.config.alibi:
        from transformers.models.falcon.modeling_falcon import build_alibi_tensor
        alibi = build_alibi_tensor(torch.ones(1, m, dtype=torch.long), model.config.num_attention_heads, torch.float32)
        # transformers adds the bias twice, to the scores and to the mask
        return 2 * alibi * (model.config.hidden_size // model.config.num_attention_heads)**-0.5
    if model.config.model_type == "mpt":
        return model.transformer.build_mpt_alibi_tensor(model.config.n_heads, model.config.max_seq_len)[..., -m:]
    if model.config.model_type == "t5" and kind != "cross":
        stack = model.encoder if kind == "encoder" else model.decoder
        return stack.block[0].layer[0].SelfAttention.compute_bias(n, m)[0]
    return 0.0
