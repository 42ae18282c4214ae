"""Pairwise similarity of the heads of a layer, by the three terms of models/nets/disagreement.py.

    sub   cosine of the heads' projected values      out   cosine of their outputs, before W_O
    pos   overlap of their patterns: sum over keys of the product of their weights

Each term is a mean over tokens. The disagreement D of a layer is minus the mean over all pairs of heads, i = j
included. D of a text is the mean over layers. The source reports exp(D): 1/e if all heads are equal, exp(-1/H) if no
two heads are similar.
"""

from collections.abc import Mapping

import numpy
import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional

from models.lab import Lab
from models.labs.trained import TrainedLab
from models.nets.attention.base import Record
from models.nets.disagreement import TERMS
from models.plan import HeadPlan
from models.prompt import Prompt
from models.trace import Trace

Likeness = Mapping[str, Mapping[str, ndarray]]  # block -> term -> (L, H, H)


def pairs(record: Record, term: str) -> Tensor:
    """Returns the similarity (H, H) of the heads of one layer, for a batch without padding."""
    if term == "pos":
        weights = record.live.float()
        return torch.einsum("bhnm, bgnm -> hg", weights, weights) / (weights.shape[0] * weights.shape[2])
    vectors = record.values if term == "sub" else record.outputs
    units = functional.normalize(vectors.float(), dim=-1)
    return torch.einsum("bhnd, bgnd -> hg", units, units) / (units.shape[0] * units.shape[2])


@torch.inference_mode()
def of_text(lab: Lab, prompt: Prompt) -> Likeness:
    """Returns the similarities on all tokens of one text, for one of our models without modifications."""
    if not isinstance(lab, TrainedLab):
        raise ValueError(f"{lab.name}: its values and outputs cannot be seen")
    return {kind: {term: numpy.stack([pairs(record, term).numpy() for record in layers]) for term in TERMS}
            for kind, layers in lab.recorded(prompt, HeadPlan())[1].items()}


def of_trace(trace: Trace) -> Likeness:
    """Returns the similarity `pos` only, which can be computed from a trace of any model."""
    return {kind: {"pos": numpy.einsum("lhnm, lgnm -> lhg", patterns, patterns) / patterns.shape[2]}
            for kind, patterns in trace.live.items()}


def disagreement_of(likeness: Likeness, term: str) -> float:
    """Returns D of a text: the mean over all layers of all blocks."""
    return -float(numpy.mean([layer.mean() for terms in likeness.values() for layer in terms[term]]))

