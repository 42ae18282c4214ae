"""Softmax attention of the original Transformer, with which every other type is compared.

    A = softmax(q k^T / sqrt d) over the keys that a query sees          Vaswani et al. 2017, eq. 1

Rows of A sum to 1. The weights take N · M · C multiplications.
"""

from models.messages import N_
from models.nets.attention.base import SelfAttention
from models.nets.attention.dot_product import DotProduct


class Softmax(SelfAttention):
    """Softmax attention."""

    title = N_("Softmax")
    label, colour, dash = N_("softmax"), 0, 0
    line = N_("Each word compares its query with every key.")
    formula = "A = softmax(q kᵀ / √d)"
    published = "Vaswani et al. 2017, arXiv 1706.03762"
    source_type = DotProduct
    policies = ("trained", "sqrt", "logn")
    trained_policy = "sqrt"
