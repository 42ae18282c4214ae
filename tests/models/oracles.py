"""Slow, plain computations that the fast ones are checked against. Nothing here uses the package `models`."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def selective(scores: Tensor) -> tuple[Tensor, Tensor]:
    """(H, N, N) logits -> weights (H, N, N) and F (N, N), by loops in float64.

    F[i, j] = sum of relu(scores[0, k, j]) over the queries k between j and i, both ends excluded; 0 for BOS, j = 0.
    """
    heads, n, _ = scores.shape
    logits = scores.double().tolist()
    mask = [[sum(max(0.0, logits[0][k][j]) for k in range(j + 1, i)) if j else 0.0 for j in range(n)] for i in range(n)]
    weights = torch.zeros(heads, n, n, dtype=torch.float64)
    for h in range(heads):
        for i in range(n):
            exponentials = [math.exp(logits[h][i][j] - mask[i][j]) for j in range(i + 1)]
            for j in range(i + 1):
                weights[h, i, j] = exponentials[j] / sum(exponentials)
    return weights, torch.tensor(mask, dtype=torch.float64)


def turn(x: Tensor, base: float = 10_000.0) -> Tensor:
    """(..., N, D) with RoPE, by complex numbers: the pair (k, k + D/2) at position p times exp(i p base^(-2k/D))."""
    n, width = x.shape[-2:]
    pairs = torch.complex(x[..., :width // 2].double(), x[..., width // 2:].double())
    angles = torch.tensor([[p * base ** (-2 * k / width) for k in range(width // 2)] for p in range(n)],
                          dtype=torch.float64)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), -1)


def heads_of(x: Tensor, weight: Tensor, heads: int) -> Tensor:
    """(B, N, C) projected by (C, C) -> (B, H, N, C / H) float64; head h owns the h-th block of outputs."""
    return torch.stack((x.double() @ weight.double().T).chunk(heads, -1), 1)


def transformer(model, tokens: Tensor) -> Tensor:
    """(B, N) ids -> (B, N, V) logits in float64."""
    def norm(x: Tensor, weight: Tensor) -> Tensor:  # Zhang and Sennrich 2019, eq. 4
        return x / (x.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps).sqrt() * weight.double()

    embedding = model.embedding.weight.double()
    x = embedding[tokens]
    for block in model.blocks:
        x = x + block_attention(block.attention, norm(x, block.attention_norm.weight))
        hidden = norm(x, block.mlp_norm.weight) @ block.up.weight.double().T
        # Hendrycks and Gimpel 2016, section 2
        gelu = 0.5 * hidden * (1 + torch.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))
        x = x + gelu @ block.down.weight.double().T
    return norm(x, model.norm.weight) @ embedding.T


def block_attention(module, x: Tensor) -> Tensor:
    """A layer's output by torch's attention, with the -F of `selective` where the module is of that type."""
    if type(module).__name__ != "Selective":
        return attention_output(module, x)
    future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    masks = [selective(scores)[1] for scores in logits(module, x)]
    return attention_output(module, x, -torch.stack(masks).unsqueeze(1).masked_fill(future, math.inf))


def attention_output(module, x: Tensor, bias: Tensor | None = None) -> Tensor:
    """(B, N, C), a layer's output by torch's own attention in float64; `bias` (B, H, N, N) is added to the logits."""
    weights = [linear.weight for linear in (module.query, module.key, module.value)]
    query, key, value = (heads_of(x, weight, module.heads) for weight in weights)
    result = functional.scaled_dot_product_attention(turn(query), turn(key), value, bias,
                                                     is_causal=module.causal and bias is None)
    return torch.cat(result.unbind(1), -1) @ module.output.weight.double().T


def logits(module, x: Tensor) -> Tensor:
    """(B, H, N, N) q·k / sqrt(D) in float64, not masked."""
    query, key = (turn(heads_of(x, linear.weight, module.heads)) for linear in (module.query, module.key))
    return torch.einsum("bhid,bhjd->bhij", query, key) / math.sqrt(query.shape[-1])


def answers(events: list[tuple[str, str]]) -> list[str]:
    """(variable, digit or ?) in order -> what the questions' answers are, by a dict."""
    values, found = {}, []
    for variable, value in events:
        if value == "?":
            found.append(values[variable])
        else:
            values[variable] = value
    return found
