"""The control for log n: softmax with a constant factor, which equals the factor of log n at the trained length.

    A = softmax(log_512(trained length) · q k^T / sqrt d)

If all training texts have that length, this type and log n learn the same parameters and differ only at other lengths.
Therefore this type is the fair control for the table of kexue 8823.
"""

import math

import torch
from typing_extensions import override

from models.messages import N_
from models.nets.attention.scale import SOURCE_BASE
from models.nets.attention.softmax import Softmax


class Temperature(Softmax):
    """Softmax attention at the temperature that log n has at the trained length."""

    title = N_("Constant temperature")
    label, colour, dash = N_("constant temperature"), 6, 3
    line = N_("Softmax with scores times one constant: the control for log n.")
    formula = N_("A = softmax(c · q kᵀ / √d),  c = log₅₁₂(trained length)")
    published = "control for Su Jianlin 2021, kexue.fm/archives/8823"
    trained_policy = ""

    @override
    def trained_factor(self, n: int, device: torch.device | None = None) -> float:
        return math.log(self.trained_length) / math.log(SOURCE_BASE)
