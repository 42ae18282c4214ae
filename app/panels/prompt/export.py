"""Exports the attention patterns of all heads, and a model under the plan, as files that the server generates.

The menu beside the grid requests a file. The page then gets a download button, and the menu clicks this button."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import partial

import streamlit as st

from app import compute, exports
from app.compute import AnyTrace
from app.panels.measured import measures
from app.panels.prompt import saved_model
from app.server import caches, limits, serving
from app.server.queueing import Turns
from app.state import visit
from app.state.lab_state import LabState
from app.state.link import query_of
from app.texts import _
from models import HeadPlan, Lab, Trace
from models.errors import StructureError
from models.prompt import Prompt

_making = Turns(1)
TYPES = {"npz": "application/octet-stream", "json": "application/json", "csv": "text/csv", "zip": "application/zip"}


def draw(lab: Lab, state: LabState, seen: AnyTrace, read_chars: int) -> None:
    """Displays the download button if an export was requested. A click computes the data, or takes them from the cache.

    `read_chars` is the number of characters that the model reads, for the link in the file.
    """
    requested = visit.current().download
    if requested is None:
        return
    ending, number = requested
    if ending == "zip":
        _draw_model(lab, state, number)
        return
    link = f"{(st.context.url or '').rstrip('/')}/?{query_of(state, read_chars)}"
    of_layer = None if isinstance(seen, Trace) else (state.selection.kind, state.selection.layer)
    what = "all-heads" if of_layer is None else f"{of_layer[0]}-layer-{of_layer[1] + 1}"
    with st.container(key="taking"):
        st.download_button(_("Download the file"),
                           partial(kept, weakref.ref(visit.current()),
                                   (lab.identity, ending, seen.prompt, state.plan, of_layer, link),
                                   partial(content_of, ending, weakref.ref(lab), seen.prompt, state.plan, of_layer,
                                           link)),
                           exports.file_name(lab.name, what, ending), TYPES[ending], key=f"take-{ending}-{number}",
                           on_click="ignore")


def _draw_model(lab: Lab, state: LabState, number: int) -> None:
    """Displays the download button of the model under the plan, or the reason why it cannot be saved."""
    if saved_model.refusal(lab, state.plan) != "":  # the menu shows the reason and makes no request
        return
    try:
        limits.spend(limits.PASSES)
        with serving.computing():
            saved_model.check(lab, state.plan)
    except limits.LimitError as error:
        st.toast(_(str(error)), icon="⚠️")
        return
    except StructureError as error:
        st.toast(_("This model cannot be saved for transformers: {reason}.", reason=_(str(error))), icon="⚠️")
        return
    with st.container(key="taking"):
        st.download_button(_("Download the file"), partial(kept, weakref.ref(visit.current()),
                                                           (lab.identity, state.plan),
                                                           partial(made_model, weakref.ref(lab), state.plan)),
                           exports.file_name(lab.name, str(state.plan), "zip"), TYPES["zip"],
                           key=f"take-zip-{number}", on_click="ignore")


def kept(owner: Callable[[], visit.Visit | None], key: Hashable, make: Callable[[], bytes]) -> bytes:
    """Returns the content of a file; computed once, one file at a time, as work of the visit that asks for it."""
    now = owner()
    if now is None:
        raise LookupError("the visit has ended")
    with visit.use(now), _making, limits.working(limits.WORK), limits.counted_alone():
        cached = caches.files.find(key)
        if cached is None:
            cached = caches.File(make())
            caches.files.keep(key, cached)
        return cached.content


def made_model(ref: Callable[[], Lab | None], plan: HeadPlan) -> bytes:
    """Returns the ZIP file of the model under the plan; raises LookupError if the model is no longer in memory."""
    lab = ref()
    if lab is None:
        raise LookupError("the model has been let go")
    return saved_model.zipped(lab, plan)


def content_of(ending: str, ref: Callable[[], Lab | None], prompt: Prompt, plan: HeadPlan,
               of_layer: tuple[str, int] | None, link: str) -> bytes:
    """Returns the content of the file; raises LookupError if the model is no longer in memory.

    `of_layer` is the (attention block, layer) to export if the maps of all layers are too large.
    """
    lab = ref()
    if lab is None:
        raise LookupError("the model has been let go")
    before, seen = compute.traces_of(lab, prompt, plan)
    if isinstance(seen, Trace):
        maps = exports.maps_of(seen)
    else:
        kind, layer = of_layer or (lab.kinds[0].name, 0)
        maps = {(kind, layer): compute.layer_of(lab, seen, plan, kind, layer)}
    maps = exports.with_sinks(lab, maps)
    plan = compute.usable(lab, plan, prompt)
    info = exports.about(lab, seen, str(plan), link)
    if ending == "csv":
        return exports.as_csv(info, before, seen, maps, {kind.name: kind.causal for kind in lab.kinds},
                              exports.sinks_of(lab))
    corpus = measures.over_a_corpus(lab)
    values = {"text": measures.of_text(lab, before).values, "corpus": measures.of_corpus(lab, corpus).values}
    info["heads"] = exports.heads_of(lab, plan, values, corpus.get("roles", ()))
    return (exports.as_npz if ending == "npz" else exports.as_json)(info, before, seen, maps)
