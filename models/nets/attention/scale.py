"""Factors on q·k / sqrt(D), which a scale policy or an attention type defines.

The divisor n of relu² is such a factor too: relu(c s)² = c² relu(s)² for c > 0, so dividing by n is a factor n^(-1/2).
"""

import math

import torch
from torch import Tensor

from models.plan import Scale

SOURCE_BASE = 512  # the base 512 of the source (Su Jianlin, kexue 8823)


def visible_keys(n: int, causal: bool, device: torch.device | None = None) -> Tensor:
    """Returns (N, 1) or (1, 1) float32: the number of keys that each query sees, itself included."""
    if causal:
        return torch.arange(1, n + 1, dtype=torch.float32, device=device).unsqueeze(1)
    return torch.full((1, 1), float(n), device=device)


def log_factor(n: int, causal: bool, base: float, device: torch.device | None = None) -> Tensor:
    """Returns (1, N or 1, 1) log(visible keys) / log(base): entropy-invariant softmax (kexue 8823, eq. 2)."""
    return (visible_keys(n, causal, device).log() / math.log(base)).unsqueeze(0)


def policy_factor(scale: Scale, n: int, causal: bool, trained_length: int) -> Tensor:
    """Returns the factor (1, N or 1, 1) of a scale policy other than `trained`, whose factor depends on the type."""
    match scale.policy:
        case "sqrt":
            return torch.ones(1, 1, 1)
        case "logn" if scale.base is not None:
            return log_factor(n, causal, scale.base)
        case "length":
            return visible_keys(n, causal).rsqrt().unsqueeze(0)
        case "fixed":
            return torch.full((1, 1, 1), trained_length**-0.5)
    raise ValueError(f"scale {scale.policy}: no factor is known")
