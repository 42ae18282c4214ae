"""The heads of a model: a grid of thumbnails with controls, and the large map of the selected head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from app import compute
from app.compute import AnyTrace
from app.content import heads as content
from app.panels.answer import why
from app.panels.prompt import saved_model
from app.state.handlers import head_events
from app.state.lab_state import FIRST_PAGE, LabState
from app.texts import _
from components.head_map import head_map
from components.heads import heads
from components.mounting import Part
from models import Kind, Lab, Output, Trace
from models.plan import Address, HeadPlan

FAINT = 0.05  # a mask F that removes less than this share of every key's weight looks empty
SENTENCE = 160  # number of characters of the text in the downloaded picture of all heads


def grid_part(lab: Lab, state: LabState, trace: AnyTrace, key: str = "heads", bare: bool = False, led: bool = True,
              files: bool = False, notes: Mapping[Address, tuple[str, str]] | None = None,
              find: dict[str, Any] | None = None, is_tall: bool = False) -> Part:
    """Returns all heads, one grid per attention block, with the controls of the selected heads.

    Args:
        lab: the model.
        state: the visitor's state.
        trace: the trace under the plan.
        key: key of the component.
        bare: True to omit the controls.
        led: True to show a sentence above the grids that explains the tiles.
        files: True if the page also offers exports of all numbers (export.py).
        notes: head -> (a short text below its tile, the same information in words).
        find: the choice of the attention pattern to search for, as returned by finding.search.
        is_tall: True if several grids use the width, although the controls are then further down.
    """
    selection = state.selection
    return heads.part(
        key=key, selection={"kind": selection.kind, "layer": selection.layer, "head": selection.head,
                            "scope": selection.scope},
        bare=bare, led=led, files=files, find=find, sentence=state.text[:SENTENCE] if files else "",
        unsaved=saved_model.refusal(lab, state.plan) if files else None, shading=state.shading,
        is_tall=is_tall, on_event=head_events.on_heads,
        **content.grids(lab, state.plan, trace, notes))


def large_part(lab: Lab, state: LabState, before: AnyTrace, trace: AnyTrace, key: str = "map") -> Part:
    """Returns the large attention map of the selected head.

    On Explore the views of other patterns are offered once a head is changed or a link has chosen such a view, and
    in the large type of a lesson only in the second case, because the step's words need the room.

    Args:
        lab: the model.
        state: the visitor's state.
        before: the baseline trace.
        trace: the trace under the plan.
        key: key of the component.

    Returns:
        The component.
    """
    kind, layer, head = selected(lab, state)
    maps = compute.layer_of(lab, trace, state.plan, kind.name, layer)
    changed = before is not trace
    base = compute.layer_of(lab, before, HeadPlan(), kind.name, layer).weights[head] if changed else None
    compares = changed or state.view not in ("used", "mask")
    return head_map.part(
        key=key, view=state.view, form=state.form, mean=state.mean, changed=changed,
        remarks=[*remarks(lab, state), *mask_remarks(state, trace, layer)],
        explains=state.page == FIRST_PAGE and why.is_offered(lab, trace),
        shading=state.shading, compares=compares if state.page == FIRST_PAGE else None,
        on_event=head_events.on_map,
        **content.head_map(lab, state.plan, trace, maps, (kind.name, layer, head), base, _output(trace, state)))


def _output(trace: AnyTrace, state: LabState) -> Output | None:
    """Returns the prediction that the effect panel shows; None if the text has no prediction."""
    outputs = trace.outputs
    return compute.shown_output(outputs, state.prediction) if outputs else None


def remarks(lab: Lab, state: LabState) -> list[str]:
    """Returns sentences about properties that the large map does not show; they are displayed below the map.

    Args:
        lab: the model.
        state: the visitor's state.

    Returns:
        Sentences; names of controls are between asterisks.
    """
    lines = []
    kind, layer, head = selected(lab, state)
    chosen = state.plan.state(kind.name, layer, head)
    if lab.constant is None and any(head_state.constant for head_state in state.plan.heads.values()):
        lines.append(_("Some heads are set to constant, but their matrices have not been made yet. Make them on the "
                       "page *Your model*."))
    elif lab.constant is None:
        lines.append(_("This model has no constant matrices yet. Make them on the page *Your model* to use constant "
                       "heads."))
    if types := getattr(lab, "layer_types", ()):
        lines.append(hybrid_remark(types))
    if (kind.name, layer, head) in lab.closed:
        lines.append(_("Learned gates pruned this head during training, so its output is 0 whatever its gate is here."))
    if not kind.attention.reads_text:
        lines.append(_("These weights are a table: they are the same for every text, so no query can look for a word, "
                       "and making the head constant changes nothing. Type, and see that the map stays the same."))
    if kind.attention.has_sink:
        lines.append(_("The last column is the attention sink: a learned score of each head, which receives a part of "
                       "each row's weight but has no value vector. With this column, each row sums to 1."))
    elif not kind.attention.is_distribution:
        lines.append(_("Rows of relu² need not sum to 1. In the matrix the strongest colour is the largest weight of "
                       "this head; in the view *Words* the numbers are shares of a row."))
    if kind.attention.selects and head == 0 and (chosen.constant or chosen.gate < 1):
        lines.append(_("Head 1 of layer {layer} also computes the mask F for its whole layer. Your changes act on the "
                       "output of a head, so its votes remain in effect.", layer=layer + 1))
    return lines


def mask_remarks(state: LabState, trace: AnyTrace, layer: int) -> list[str]:
    """Returns a sentence that names a layer with a fuller mask, if the mask F on the large map is almost empty.

    Args:
        state: the visitor's state.
        trace: the trace under the plan.
        layer: layer of the selected head, from 0.

    Returns:
        At most one sentence.
    """
    if state.view != "mask" or not isinstance(trace, Trace) or trace.mask is None:
        return []
    shares = 1 - numpy.exp(-trace.mask)  # (L, N, N): how much of each key's weight F removes
    if shares[layer].max() >= FAINT:
        return []
    fullest = int(shares.mean((1, 2)).argmax())
    if shares[fullest].max() < FAINT:
        return [_("The mask F is almost empty in all layers for this text.")]
    return [_("The mask F of layer {layer} is almost empty for this text. It is fullest in layer {other}.",
              layer=layer + 1, other=fullest + 1)]


def hybrid_remark(types: Sequence[tuple[str, bool]]) -> str:
    """Returns a sentence about the layers without attention maps.

    Args:
        types: for every layer of the model, (layer type, True if the layer has attention maps).
    """
    others = [_("{n} ({type})", n=i, type=name.replace("_", " ")) for i, (name, has) in enumerate(types, 1) if not has]
    rows = [str(i) for i, (_name, has) in enumerate(types, 1) if has]
    return _("This model has {n} layers. The rows of the grid are its layers {rows}. These layers have no attention "
             "map: {others}.", n=len(types), rows=", ".join(rows), others=", ".join(others))


def selected(lab: Lab, state: LabState) -> tuple[Kind, int, int]:
    """Returns the selected head.

    Args:
        lab: the model.
        state: the visitor's state.

    Returns:
        Attention block, layer and head, both from 0.
    """
    return lab.kind(state.selection.kind), state.selection.layer, state.selection.head
