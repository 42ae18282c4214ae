"""Where do its heads look? The mean pattern of a layer's heads, or of all heads of an attention block."""

from collections.abc import Sequence

import numpy
from numpy import ndarray

from app.content.heads import state_of
from app.content.tool import Tool
from app.content.view import View
from app.texts import N_
from components.mounting import Content
from components.payload import lower_triangle
from models.thumbnails import encoded


def content(view: View, tool: Tool) -> Content:
    """Returns the mean pattern; each head counts with its gate."""
    layers = [view.state.selection.layer] if tool.thing == "layer" else range(view.kind.layers)
    return {"heads": len(layers) * view.kind.heads}, {"map.mean": mean_map(view, layers)}


def mean_map(view: View, layers: Sequence[int]) -> ndarray:
    """Returns the mean pattern of all heads of some layers, packed if causal; the plain mean if all are pruned."""
    gates = numpy.array([[state_of(view.lab, view.plan, (view.kind.name, layer, head)).gate
                          for head in range(view.kind.heads)] for layer in layers], numpy.float32)
    shares = gates / gates.sum() if gates.any() else numpy.full_like(gates, 1 / gates.size)
    weights = encoded(numpy.sum([numpy.tensordot(share, view.layer(layer=layer).weights, 1)
                                 for share, layer in zip(shares, layers, strict=True)], 0))
    return lower_triangle(weights) if view.kind.causal else weights


TOOLS = [Tool("layer.mean", N_("Where do its heads look?"), N_("mean pattern"), content, tip="weight"),
         Tool("all.mean", N_("Where do all heads look?"), N_("mean pattern"), content, tip="weight")]
