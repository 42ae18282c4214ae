"""Exports the attention patterns of all heads as files that the server generates."""

from app import compute, exports
from app.panels.measured import measures
from models import HeadPlan, Lab, Trace
from models.prompt import Prompt

TYPES = {"npz": "application/octet-stream", "json": "application/json", "csv": "text/csv",
         "zip": "application/zip", "html": "text/html"}


def content_of(ending: str, lab: Lab, prompt: Prompt, plan: HeadPlan,
               of_layer: tuple[str, int] | None, link: str) -> bytes:
    """Returns the content of the file.

    `of_layer` is the (attention block, layer) to export if the maps of all layers are too large.
    """
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
