"""The grid of all heads, layers down and heads across, with the controls of what is selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy import ndarray

from components.mounting import OnEvent, dispatch, received, register
from components.payload import lower_triangle, pack
from models.thumbnails import thumbnails

_mount = register("heads")


def heads(*, key: str, maps: ndarray, constant: ndarray, gates: ndarray, selection: dict[str, Any],
          scale: dict[str, Any], policies: Sequence[str], on_event: OnEvent, causal: bool = False) -> None:
    """Draws the grid. Layers and heads count from 0 here, from 1 on the screen.

    Args:
        maps: (L, H, N, M) float32, the weights as used; above 1 (relu^2 attention) they show as 1.
        constant: (L, H) bool, whether a head's weights are its constant matrix.
        gates: (L, H) in [0, 1], the factor on a head's output; 0 is pruned.
        selection: layer, head, and scope: `head`, `row` (of the layer), `column` (of the head) or `all`.
        scale: policy, one of `policies`, and base, a length that `logn` takes.
        policies: the scale policies to choose from; the control is hidden if there is but one.
        on_event: called in Streamlit's callback, before the run, with one of
            {type: select, layer, head, scope}
            {type: heads, layer, head, scope, constant?: bool, gate?: number, drag?: bool}; `drag` is there if
            the slider made it: True while it moves, False when it is let go
            {type: scale, policy, base}
            each with `sequence`, a growing number. They come from the browser: check them.
        causal: maps are zero above the diagonal, which is neither sent nor drawn.
    """
    header = {
        "layers": maps.shape[0], "heads": maps.shape[1], "causal": causal,
        "constant": numpy.asarray(constant, dtype=bool).tolist(),
        "gates": numpy.asarray(gates, dtype=numpy.float64).round(4).tolist(),
        "selection": selection, "scale": scale, "policies": list(policies),
        "sequence": received(key),
    }
    tiles = thumbnails(maps)
    header["rows"], header["columns"] = tiles.shape[-2:]
    _mount(key=key, data=pack(header, {"tiles": lower_triangle(tiles) if causal else tiles}),
           on_event_change=dispatch(key, on_event))
