"""The grids of all heads, one a kind of attention: layers down, heads across, with the controls of what is selected."""

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
    """One kind's heads.

    Attributes:
        kind: its name, which events carry.
        title: its name for people, shown where there are several grids.
        tiles: (L, H, n, m) uint8, from `thumbnails` of the weights as used.
        causal: maps are zero above the diagonal, which is neither sent nor drawn; needs n = m.
        constant: (L, H) bool, whether a head's weights are its constant matrix.
        gates: (L, H) in [0, 1], the factor on a head's output; 0 is pruned.
        notes: (L, H) a short text in each tile's corner, and the same in words; empty for none, or for none at all.
        can_constant: False where there are no constant matrices: the button says so, and does nothing.
        closed: (L, H) bool, heads that the model itself has closed: nothing that is done to them changes anything, and
            no control acts on them; None for none. Their gates are 0.

    Raises:
        ValueError: shapes that do not fit each other, or tiles that are not uint8.
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

    def __post_init__(self) -> None:
        if self.tiles.ndim != 4 or self.tiles.dtype != numpy.uint8:
            raise ValueError(f"tiles of {self.kind!r}: expected (L, H, n, m) uint8, got {self.tiles.dtype} "
                             f"{self.tiles.shape}")
        size = self.tiles.shape[:2]
        for name in ("constant", "gates", *(() if self.closed is None else ("closed",))):
            if numpy.shape(getattr(self, name)) != size:
                raise ValueError(f"{name} of {self.kind!r}: expected {size}, got {numpy.shape(getattr(self, name))}")
        if self.causal and self.tiles.shape[2] != self.tiles.shape[3]:
            raise ValueError(f"tiles of {self.kind!r}: a causal map is square, got {self.tiles.shape[2:]}")


@component("heads")
def heads(*, key: str, grids: Sequence[Grid], selection: dict[str, Any], scale: dict[str, Any],
          policies: Sequence[str], bare: bool = False, led: bool = True,
          model: str = "", files: bool = False, on_event: OnEvent) -> Content:
    """Draws the grids, with one selection. Layers and heads count from 0 here, from 1 on the screen.

    Args:
        grids: at least one; their shapes may differ.
        selection: kind, layer, head, and scope: `head`, `row` (of the layer), `column` (of the head) or `all`
            (of the kind).
        scale: policy, one of `policies`, and base, a length that `logn` takes; where there is something to say of what
            the scale does to this text, note, a sentence.
        model: whose heads these are, for what is taken away.
        files: whether files of all numbers can be asked for.
        led: a sentence above says what one looks at.
        bare: no controls, where those of another component act on this one's heads too.
        policies: the scale policies to choose from; the control is hidden if there is but one.
        on_event: called in Streamlit's callback, before the run, with one of
            {type: select, kind, layer, head, scope}
            {type: heads, kind, layer, head, scope, constant?: bool, gate?: number, drag?: bool}; `drag` is there if
            the slider made it: True while it moves, False when it is let go
            {type: scale, policy, base}
            {type: take, what}: a file of all numbers was asked for, `npz`, `json` or `csv`
            each with `sequence`, a growing number. They come from the browser: check them. While Python is busy, an
            event takes the place of an earlier one with the same address whose fields it has too.
    """
    shown = [{"kind": grid.kind, "title": grid.title, "layers": grid.tiles.shape[0], "heads": grid.tiles.shape[1],
              "rows": grid.tiles.shape[2], "columns": grid.tiles.shape[3], "causal": bool(grid.causal),
              "constant": numpy.asarray(grid.constant, dtype=bool).tolist(),
              "gates": numpy.asarray(grid.gates, dtype=numpy.float64).round(4).tolist(),
              "closed": [] if grid.closed is None else numpy.asarray(grid.closed, dtype=bool).tolist(),
              "can_constant": bool(grid.can_constant),
              "notes": [list(row) for row in grid.notes]} for grid in grids]
    tiles = {f"tiles {grid.kind}": lower_triangle(grid.tiles) if grid.causal else grid.tiles for grid in grids}
    header = {"grids": shown, "selection": selection, "scale": scale, "policies": list(policies),
              "bare": bool(bare), "led": bool(led), "model": model, "files": bool(files)}
    return header, tiles
