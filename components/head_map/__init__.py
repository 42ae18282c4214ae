"""The map of the selected head, as words or as a matrix with values; for selective attention also the mask F."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy
from numpy import ndarray

from components.mounting import Content, OnEvent, component
from components.payload import lower_triangle


@component("head_map")
def head_map(*, key: str, queries: list[str], keys: list[str] | None = None, kind_title: str = "", layer: int,
             head: int, live: ndarray, weights: ndarray, constant: ndarray | None = None,
             scores: ndarray | None = None, selected: ndarray | None = None, view: str = "used",
             form: str = "words", mean: str = "head", shading: str = "root", at: int | None = None,
             is_constant: bool = False, patched: bool = False, gate: float = 1.0, changed: bool = False,
             base: ndarray | None = None, causal: bool = True, has_sink: bool = False, is_distribution: bool = True,
             template: Sequence[int] = (), parts: Mapping[int, str] | None = None, model: str = "",
             remarks: Sequence[str] = (), explains: bool = False,
             compares: bool | None = None, on_event: OnEvent | None = None) -> Content:
    """Displays the attention map of a head. Rows of the matrix are queries, columns are keys.

    Args:
        key: key of the mount.
        queries: the N query tokens; untrusted strings.
        keys: the M key tokens; None if the keys are the query tokens.
        kind_title: title of the attention block, shown before `Layer 1, head 3`.
        layer: layer of the head, counted from 0.
        head: index of the head in its layer, counted from 0.
        live: (N, M) float32, the pattern that the model computes.
        weights: (N, M) float32, the pattern after the plan.
        constant: (N, M) float32, the head's constant matrix; None to omit the views `constant` and `difference`.
        scores: (N, N) float32, the scores before the mask F is subtracted, for the view `mask`.
        selected: (N, N) float32 >= 0, the selection scores S of selective attention: how strongly query i masks key j
            for later queries. The view `mask` needs scores and S; the browser computes F[i, j] = sum of S[k, j] over
            k < i.
        view: `used` (pattern after the plan), `live`, `constant`, `difference` (constant - live), `change` (gate *
            pattern after the plan - base) or `mask`.
        form: `words`, the text with tinted words, or `matrix`.
        mean: the pattern that tints the words: that of the `head`, the mean over its `layer`, or the mean over `all`
            heads of the block. The browser computes the means from the thumbnails of the grids beside the map.
        shading: how weights become colours: `root`, in proportion to the square root of the weight, or `linear`.
        at: the query whose attention tints the words while the pointer is on no word; None for the last query.
        is_constant: whether the head is constant, for the title.
        patched: whether the head takes its output or pattern from a second prompt, for the title.
        gate: gate of the head, for the title; at 0 the pattern after the plan is drawn as pruned.
        changed: True if the plan is not empty; the view `change` is then offered.
        base: (N, M) float32, the pattern of the unmodified model; None if this pattern was not computed yet. The view
            `change` then shows the pattern after the plan.
        causal: True if the matrices are zero above the diagonal; this part is neither sent nor shown. Needs N = M.
        has_sink: True if the matrices have one more column, the last, for the attention sink: the part of each row that
            no key has. Such matrices are sent whole.
        is_distribution: True if rows sum to 1; the colour scale then ends at 1 or higher, otherwise at the largest
            weight.
        template: positions of the query tokens that a chat template added.
        parts: position of a query token that is a part of a character -> its bytes in hexadecimal.
        model: title of the model, for downloads.
        remarks: sentences below the map; names of controls between asterisks become bold.
        explains: True if a click on a cell of the matrix opens the parts of its score.
        compares: False to offer only the views `used` and `mask`, and no choice if the head has no mask: without a
            change there is no second pattern to compare. None: all views in every case, above the note.
        on_event: called with {type: view, view, sequence} when another view is chosen. For `form`, `mean` and
            `shading`, the events have the same format. A click on a cell sends {type: cell, row, column, sequence}.

    Raises:
        ValueError: a matrix has another shape than queries x keys.
    """
    shape = len(queries), len(queries if keys is None else keys)
    if causal and shape[0] != shape[1]:
        raise ValueError(f"a causal map is square, got {shape[0]} queries and {shape[1]} keys")
    shape = shape[0], shape[1] + has_sink

    def packed(matrix: ndarray) -> ndarray:
        matrix = numpy.asarray(matrix, dtype=numpy.float32)
        if matrix.shape != shape:
            raise ValueError(f"expected {shape[0]} queries x {shape[1]} keys, got {matrix.shape}")
        return lower_triangle(matrix) if causal and not has_sink else matrix

    arrays, used = {"live": packed(live)}, "live"
    if constant is not None:
        arrays["constant"] = packed(constant)
    if constant is not None and numpy.array_equal(weights, constant):
        used = "constant"
    elif not numpy.array_equal(weights, live):
        arrays["used"], used = packed(weights), "used"
    named = None
    if base is not None:
        same = [name for name, pattern in (("live", live), (used, weights)) if numpy.array_equal(base, pattern)]
        named = same[0] if same else "base"
        if not same:
            arrays["base"] = packed(base)
    if scores is not None and selected is not None:
        if not causal:
            raise ValueError("the mask view is of causal attention")
        arrays |= {"scores": packed(scores), "selected": packed(selected)}
    header = {"rows": queries, "kind_title": kind_title, "layer": layer, "head": head, "used": used, "view": view,
              "form": form, "mean": mean, "constant": bool(is_constant), "gate": round(float(gate), 4),
              "patched": bool(patched), "causal": causal, "distribution": is_distribution, "model": model,
              "remarks": list(remarks)}
    if changed:
        header |= {"changed": True, "base": named}
    if shading != "root":
        header["shading"] = shading
    if keys is not None:
        header["columns"] = keys
    if at is not None:
        header["at"] = at
    if has_sink:
        header["sink"] = True
    if template:
        header["template"] = list(template)
    if parts:
        header["parts"] = {str(place): raw for place, raw in parts.items()}
    if explains:
        header["explains"] = True
    if compares is not None:
        header["compares"] = compares
    return header, arrays
