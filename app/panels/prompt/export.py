"""Exports the attention patterns of all heads, and a model under the plan, as files that the server generates.

The menu beside the grid requests a file. The page then gets a download button, and the menu clicks this button."""

from __future__ import annotations

from collections.abc import Callable

from app import compute, exports
from app.panels.measured import measures
from models import HeadPlan, Lab, Trace
from models.prompt import Prompt

TYPES = {"npz": "application/octet-stream", "json": "application/json", "csv": "text/csv",
         "zip": "application/zip", "html": "text/html"}


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
