"""The grids of all heads, one per attention block: layers down, heads across, with controls for the selected heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy import ndarray

from components.mounting import Content, OnEvent, component
from components.payload import lower_triangle


@dataclass(frozen=True, eq=False)
class Grid:
    """The heads of one attention block.

    Attributes:
        kind: name of the block, which is part of the events.
        title: title of the block, shown if there are several grids.
        tiles: (L, H, n, m) uint8, `thumbnails` of the patterns after the plan.
        causal: True if maps are zero above the diagonal; this part is neither sent nor shown. Needs n = m.
        has_sink: True if the last of m + 1 columns shows the attention sink; maps are then sent whole.
        constant: (L, H) bool, whether a head's pattern is its constant matrix.
        gates: (L, H) in [0, 1], the factor of a head's output; 0 is pruned.
        notes: (L, H) pairs: a short text below each tile, and its long form for the tooltip; may be empty.
        can_constant: False if the block has no constant matrices; the button then shows the reason.
        closed: (L, H) bool, heads that training pruned. No control changes these heads; their gates are 0. None if
            there are no such heads.
        patched: (L, H) bool, heads that take their output or pattern from a second prompt. None if there are no such
            heads.

    Raises:
        ValueError: shapes do not match, or tiles are not uint8.
    """

    kind: str
    title: str
    tiles: ndarray
    causal: bool
    constant: ndarray
    gates: ndarray
    can_constant: bool = True
    notes: Sequence[Sequence[tuple[str, str]]] = ()
    closed: ndarray | None = None
    patched: ndarray | None = None
    has_sink: bool = False

    def __post_init__(self) -> None:
        if self.tiles.ndim != 4 or self.tiles.dtype != numpy.uint8:
            raise ValueError(f"tiles of {self.kind!r}: expected (L, H, n, m) uint8, got {self.tiles.dtype} "
                             f"{self.tiles.shape}")
        size = self.tiles.shape[:2]
        optional = [name for name in ("closed", "patched") if getattr(self, name) is not None]
        for name in ("constant", "gates", *optional):
            if numpy.shape(getattr(self, name)) != size:
                raise ValueError(f"{name} of {self.kind!r}: expected {size}, got {numpy.shape(getattr(self, name))}")
        if self.causal and self.tiles.shape[2] != self.tiles.shape[3] - self.has_sink:
            raise ValueError(f"tiles of {self.kind!r}: a causal map is square, got {self.tiles.shape[2:]}")


@component("heads")
def heads(*, key: str, grids: Sequence[Grid], selection: dict[str, Any], scale: dict[str, Any],
          policies: Sequence[str], bare: bool = False, led: bool = True,
          model: str = "", files: bool = False, unsaved: str | None = None, find: dict[str, Any] | None = None,
          sentence: str = "", shading: str = "root", is_tall: bool = False, on_event: OnEvent) -> Content:
    """Displays the grids, with one selection. Layers and heads are counted from 0 here, and from 1 on the screen.

    Args:
        key: key of the mount.
        grids: one or more grids, whose shapes may differ.
        selection: kind, layer, head, and scope: `head`, `row` (of the layer), `column` (of the head) or `all`
            (of the block), or `and.0.3.1.2` (the head, and head 3 of layer 0 and head 2 of layer 1).
        scale: `policy`, one of `policies`; `base`, the base length for `logn`; and optionally `note`, a sentence about
            the effect of the scale on this text.
        policies: the scale policies to choose from; the control is hidden if there is only one.
        bare: True to omit the controls, if the controls of another component also change these heads.
        led: True to show an explanation above the grids.
        model: title of the model, for downloads.
        find: `find`, the pattern that is searched for; `offered`, [key, title] pairs; `result`, a sentence. None for
            no search.
        sentence: the beginning of the input text, for the downloaded picture of all heads.
        shading: how weights become colours, see head_map.
        is_tall: True on a page about the tiles: several grids then use the width, and the controls are further down.
        files: True if files of all numbers can be requested.
        unsaved: the reason why the model under the plan cannot be saved for transformers; empty if the model can be
            saved, None if this is not offered.
        on_event: called in Streamlit's callback, before the run, with one of
            {type: select, kind, layer, head, scope}
            {type: heads, kind, layer, head, scope, constant?: bool, gate?: number, drag?: bool}; `drag` is set
            by the slider: True while it moves, False when it is released
            {type: scale, policy, base}
            {type: find, find}: a key of `offered`
            {type: take, what}: requests a file, `npz`, `json` or `csv` of all numbers, or `zip` of the model
            each with `sequence`, an increasing number. Events come from the browser and must be checked. While Python
            is busy, an event replaces an earlier event for the same heads if it sets all fields of the earlier event.
    """
    blocks = [{"kind": grid.kind, "title": grid.title, "layers": grid.tiles.shape[0], "heads": grid.tiles.shape[1],
               "rows": grid.tiles.shape[2], "columns": grid.tiles.shape[3], "causal": bool(grid.causal),
               "sink": bool(grid.has_sink),
               "constant": numpy.asarray(grid.constant, dtype=bool).tolist(),
               "gates": numpy.asarray(grid.gates, dtype=numpy.float64).round(4).tolist(),
               "closed": [] if grid.closed is None else numpy.asarray(grid.closed, dtype=bool).tolist(),
               "patched": [] if grid.patched is None else numpy.asarray(grid.patched, dtype=bool).tolist(),
               "can_constant": bool(grid.can_constant),
               "notes": [list(row) for row in grid.notes]} for grid in grids]
    tiles = {f"tiles {grid.kind}": lower_triangle(grid.tiles) if grid.causal and not grid.has_sink else grid.tiles
             for grid in grids}
    header = {"grids": blocks, "selection": selection, "scale": scale, "policies": list(policies),
              "bare": bool(bare), "led": bool(led), "model": model, "files": bool(files)}
    if unsaved is not None:
        header["unsaved"] = unsaved
    if sentence:
        header["sentence"] = sentence
    if shading != "root":
        header["shading"] = shading
    if is_tall:
        header["tall"] = True
    if find is not None:
        header["find"] = find
    return header, tiles
