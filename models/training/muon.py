"""Muon with Newton-Schulz steps in float32; torch's optimiser computes these steps in bfloat16.

On machines whose matrix products are faster in float32, torch.optim.Muon takes more than twice as long. For the stories
models on one core of a Xeon without AMX, it takes 145 ms instead of 65 ms of a training step of about 600 ms.
"""

import torch
from torch import Tensor
from typing_extensions import override


def orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Returns the (R, S) matrix with its singular values replaced by values near 1 (Jordan et al. 2024)."""
    a, b, c = coefficients
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.float().T.contiguous() if is_tall else matrix.float()
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x


class Muon(torch.optim.Muon):
    """Muon with AdamW's step size, the rule `match_rms_adamw` (Liu et al. 2025, arXiv 2502.16982)."""

    def __init__(self, groups: list[dict], lr: float) -> None:
        super().__init__(groups, lr=lr, adjust_lr_fn="match_rms_adamw")

    @torch.no_grad()
    @override
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # no caller passes a closure
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(weight)
                momentum = state["momentum_buffer"].lerp_(weight.grad, 1 - group["momentum"])
                update = weight.grad.lerp(momentum, group["momentum"])  # Nesterov momentum
                update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(update, alpha=-0.2 * group["lr"] * max(weight.shape) ** 0.5)
