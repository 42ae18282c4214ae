"""Gated attention unit: one attention head and one elementwise gate; two units replace one block of attention and MLP.

    U = swish(X Wu), V = swish(X Wv) (N, E), Z = swish(X Wz) (N, S);   q = g_q Z + b_q, k = g_k Z + b_k, with RoPE
    O = (U * (A V)) Wo,   A from q k^T / sqrt S      Hua et al. 2022, arXiv 2202.10447, section 3.1, FLASH

The types differ in the normalisation of the scores: relu² / n (Su Jianlin, kexue 8934 and 9019; the code in the paper's
appendix has 1 / n²), relu² with a learned divisor, softmax, softmax with log n. Rows of relu² need not sum to 1.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source
from models.nets.attention.dot_product import rotary_table, rotate
from models.nets.attention.log_n import LogN
from models.nets.config import Config

EXPANSION = 2  # width E as a multiple of C
SHARED = 128  # width S of the shared projection

PAPER = "Hua et al. 2022, arXiv 2202.10447"


class SharedDotProduct(Source):
    """Scores q·k / sqrt(S), (B, 1, N, N), from one projection that is scaled and shifted per dimension."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        if config.heads != 1:
            raise ValueError(f"a gated attention unit has one head, not {config.heads}")
        self.shared = nn.Linear(config.width, SHARED, bias=False)
        self.scale = nn.Parameter(torch.ones(2, SHARED))  # gamma, the scales of q and of k
        self.shift = nn.Parameter(torch.zeros(2, SHARED))  # beta, the shifts of q and of k

    @override
    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        # a separate rotary table, because the model's table is as wide as its heads and this one has width S
        cos, sin = rotary_table(x.shape[1], SHARED)
        rotary = (cos.to(x.device), sin.to(x.device))
        z = functional.silu(self.shared(x)).unsqueeze(1)
        query, key = (rotate(z * self.scale[i] + self.shift[i], rotary) for i in (0, 1))
        return (query * (factor * SHARED**-0.5)).to(key.dtype) @ key.transpose(-1, -2)


class GatedUnit(SelfAttention):
    """A gated attention unit; a subclass normalises the scores."""

    source_type = SharedDotProduct
    replaces_mlp = True

    def _make_values(self, config: Config) -> None:
        expanded = EXPANSION * config.width
        self.gate = nn.Linear(config.width, expanded, bias=False)  # the matrix Wu
        self.value = nn.Linear(config.width, expanded, bias=False)
        self.output = nn.Linear(expanded, config.width, bias=False)

    @override
    def values(self, x: Tensor) -> Tensor:
        return functional.silu(self.value(x)).unsqueeze(1)

    @override
    def outputs(self, weights: Tensor, values: Tensor, x: Tensor) -> Tensor:
        return functional.silu(self.gate(x)).unsqueeze(1) * (weights.to(values.dtype) @ values)


class GauRelu2(GatedUnit):
    """Relu² divided by n = the trained length; under the scale policy `length`, by n = the text's length."""

    title = N_("Gated attention unit, relu²/n")
    label, colour, dash = N_("GAU relu²/n"), 7, 0
    line = N_("Attention and MLP in one; weights are squares of scores.")
    formula = N_("A = relu(q kᵀ / √s)² / n,  n fixed at the trained length")
    published = f"{PAPER}; Su Jianlin 2022, kexue.fm/archives/9019"
    policies = ("trained", "fixed", "length")
    trained_policy = "fixed"
    is_distribution = False

    @override
    def trained_factor(self, n: int, device: torch.device | None = None) -> Tensor | float:
        return self.trained_length**-0.5

    @override
    def normalise(self, scores: Tensor, keys: Keys = OWN) -> tuple[Tensor, None]:
        return functional.relu(scores).square(), None

    def log_normaliser(self, scores: Tensor) -> Tensor:
        """Returns ln of the row sum, by which this type does not divide."""
        return functional.relu(scores).square().sum(-1).clamp_min(1e-9).log()


class GauRelu2Mixed(GauRelu2):
    """Relu² divided by the text's length, for training on texts of several lengths."""

    title = N_("Gated attention unit, relu²/n, mixed lengths")
    label, colour, dash = N_("GAU relu²/n, mixed lengths"), 5, 5
    line = N_("Like relu²/n, trained on texts of many lengths.")
    formula = N_("A = relu(q kᵀ / √s)² / n,  n = the text's length")
    trained_policy = "length"

    @override
    def trained_factor(self, n: int, device: torch.device | None = None) -> float:
        return n**-0.5


class GauRelu2Learned(GauRelu2):
    """Relu² with a learned divisor, at first the trained length; ours and unpublished. q and k could learn it too."""

    title = N_("Gated attention unit, relu²/c")
    label, colour, dash = N_("GAU relu²/c"), 1, 4
    line = N_("Like relu²/n, divided by a learned number.")
    formula = N_("A = relu(q kᵀ / √s)² / c,  c learned per layer")
    published = f"ours, after {PAPER}"
    trained_policy = ""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.log_divisor = nn.Parameter(torch.tensor(math.log(config.trained_length)))

    @override
    def trained_factor(self, n: int, device: torch.device | None = None) -> Tensor:
        return (-self.log_divisor / 2).exp().view(1, 1, 1)


class GauSoftmax(GatedUnit):
    """The gated attention unit with softmax."""

    title = N_("Gated attention unit, softmax")
    label, colour, dash = N_("GAU softmax"), 3, 1
    line = N_("Attention and MLP in one, with softmax.")
    formula = "A = softmax(q kᵀ / √s)"
    published = f"{PAPER}; Su Jianlin 2022, kexue.fm/archives/9019"
    policies = ("trained", "sqrt", "logn")
    trained_policy = "sqrt"


class GauLogN(GatedUnit):
    """The gated attention unit with log n scaling. The source uses max(n, 16); here n is always the text's length."""

    title = N_("Gated attention unit, log n")
    label, colour, dash = N_("GAU log n"), 4, 2
    line = N_("Attention and MLP in one, sharper with more words.")
    formula = "A = softmax(log₅₁₂(n) · q kᵀ / √s)"
    published = f"{PAPER}; Su Jianlin 2022, kexue.fm/archives/9052"
    policies = ("trained", "sqrt", "logn")
    trained_factor = LogN.trained_factor
