"""Gated attention: softmax attention with a gate per token and head.

    O_h = sigmoid(x W_g)_h · softmax(q_h k_h^T / sqrt d) v_h,    W_g (C, H): a gate per token and head

This is the paper's headwise form. x is the block's normed input, from which queries are computed too. The gate is
applied after the weighted sum and before W_O. A gate of a plan is an additional factor at the same place.

Source: Qiu et al. 2025, arXiv 2505.06708, section 2.2. Unlike in softmax attention, a head without a relevant key can
output nothing and need not attend to the first token. Gated attention has C · H more parameters per layer than softmax
attention.
"""

from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.dot_product import Softmax
from models.nets.config import Config


class Gated(Softmax):
    """Softmax attention with one computed gate per token and head."""

    title = N_("Gated")
    label, colour, dash = N_("gated"), 4, 0
    line = N_("Softmax; each word gates a head's output.")
    formula = N_("O = σ(x W_g) · softmax(q kᵀ / √d) v,  a gate per token and head")
    published = "Qiu et al. 2025, arXiv 2505.06708"

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.gating = nn.Linear(config.width, config.heads, bias=False)  # the matrix W_g

    @override
    def gates(self, x: Tensor) -> Tensor:
        return self.gating(x).sigmoid().transpose(1, 2)
