"""RoPE: queries and keys are rotated by angles that grow with their position, so that q·k depends on distances."""

import torch
from torch import Tensor


def rotary_table(n: int, width: int, base: float = 10_000.0) -> tuple[Tensor, Tensor]:
    """Returns cos and sin, each (N, D/2), of RoPE's angles (Su et al., arXiv 2104.09864, eq. 15)."""
    frequency = base ** (-torch.arange(0, width, 2).float() / width)
    angle = torch.arange(n).float().unsqueeze(1) * frequency
    return angle.cos(), angle.sin()


def rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Returns x (B, H, N, D) with each pair (x_k, x_{k + D/2}) rotated by its position's angle."""
    cos, sin = (table.to(x.dtype) for table in rotary)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)
