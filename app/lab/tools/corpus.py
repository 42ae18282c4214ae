"""Does it matter elsewhere? Each head by two measures, and its jobs, texts and tokens over a corpus."""

from typing import Any

import numpy

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.measured import measures
from app.panels.measured.measures import FINDS, MEASURES, SOURCES
from app.texts import N_, _, number, spelt
from components.mounting import Content
from studies import store

TABS = {"all": N_("All heads"), "confidence": N_("By confidence"), "entropy": N_("By entropy"), "tokens": N_("Tokens"),
        "roles": N_("Roles")}
ABOUT = {"confidence": N_("mean largest weight, tenths of texts"),
         "entropy": N_("mean entropy in nats, tenths of texts"),
         "tokens": N_("most attended tokens, {n} texts")}


def content(view: View, tool: Tool) -> Content:
    """Returns one tab: measures of all heads, example texts, tokens or roles of the selected head."""
    measured = measures.over_a_corpus(view.lab)
    stored = store.read_undamaged(view.lab.name, "examples")
    tabs = ["all", *(["confidence", "entropy", "tokens"] if stored else []), *(["roles"] if measured else [])]
    tab = tool.setting(view, "tab")
    tab = tab if tab in tabs else tabs[0]
    count = stored["count"] if stored else 0
    title = parts.title(_("Does it matter elsewhere?"), _(ABOUT[tab], n=count) if tab in ABOUT else "",
                        parts.choice(_("View"), {key: _(TABS[key]) for key in tabs}, tab, name="tab"))
    if tab == "all":
        return parts.composed(title, _all(view, tool, measured), *_jobs(view, stored))
    if tab == "roles":
        return parts.composed(title, _roles(view, measured))
    assert stored is not None
    kind, layer, head = view.head
    own = stored["heads"][kind][layer][head]
    if tab == "tokens":
        words = spelt([view.lab.task.labels[token] for token in own["keys"]])
        return parts.composed(title, parts.table(
            [_("token"), _("share of its attention"), _("times uniform")],
            [[parts.word(word), {"share": share}, f"{times:.1f}"]
             for word, share, times in zip(words, own["shares"], own["times"], strict=True)]))
    form = ".0%" if tab == "confidence" else ".2f"
    return parts.composed(title, parts.texts(
        (number(value, form), stored["texts"][i], {"type": "text", "text": stored["texts"][i]})
        for i, value in zip(own[tab], own[f"{tab}_values"], strict=True)), *_jobs(view, stored))


def _all(view: View, tool: Tool, measured: dict[str, Any]) -> list[parts.Part]:
    source = tool.setting(view, "source") if measured else "text"
    values = (measures.of_corpus(view.lab, measured) if source == "corpus" else
              measures.of_text(view.lab, view.before)).values
    known = {name: _(title) for name, title in MEASURES.items() if name in values}
    choices = [parts.choice(_("Measured on"), {key: _(text) for key, text in SOURCES.items()}, source, name="source")] \
        if measured else []
    if not known:
        return [parts.row(*choices), parts.note(_("Not available for this model and text."))]
    x, y = (name if (name := tool.setting(view, axis)) in known else next(iter(known)) for axis in ("x", "y"))
    choices += [parts.choice(label, known, chosen, name=axis, many=True)
                for axis, label, chosen in (("x", _("across"), x), ("y", _("up"), y))]
    start = sum(kind.layers * kind.heads for kind in view.lab.kinds[:view.lab.kinds.index(view.kind)])
    heads: list[dict[str, Any]] = [{"layer": address[1], "head": address[2], "name": parts.short(address),
              "x": float(values[x][start + i]), "y": float(values[y][start + i])}
             for i, address in enumerate(view.kind.addresses)]
    heads = [head for head in heads if numpy.isfinite([head["x"], head["y"]]).all()]
    return [parts.row(*choices), {"part": "scatter", "heads": heads, "label": _("Heads by two measures"),
                                  "xName": known[x], "yName": known[y]}]


def _jobs(view: View, stored: dict[str, Any] | None) -> list[parts.Part]:
    """Returns the sentence about what the selected head does in how many of the texts."""
    kind, layer, head = view.head
    jobs = stored["heads"][kind][layer][head].get("jobs") if stored else None
    if stored is None or not jobs:
        return []
    named = sorted(((share, name) for name, share in jobs.items() if share >= 0.1), reverse=True)
    if not named:
        return [parts.note(_("No pattern in more than 10% of {n} texts.",
                             n=stored["count"]))]
    words = [_("{pattern} in {share:.0%}", pattern=_(FINDS[name]), share=share) for share, name in named]
    return [parts.note(_("Strongest pattern over {n} texts: {jobs}.", n=stored["count"], jobs=", ".join(words)))]


def _roles(view: View, measured: dict[str, Any]) -> list[parts.Part]:
    own = [role for role in measures.shown_roles(view.lab, measured)
           if (role["kind"], role["layer"], role["head"]) == view.head]
    shown: list[parts.Part] = [] if own else [parts.note(_("This head has no measured role."))]
    for role in own:
        share = _("{share:.0%}; the best fixed distance {baseline:.0%}", share=role["share"],
                  baseline=role["baseline"]) if "baseline" in role else \
            _("{share:.0%} of its largest weights", share=role["share"])
        shown.append(parts.note([parts.strong(measures.in_words(role["role"])), ": ", share, ". ",
                                 measures.look_for(role["role"])]))
        shown += [parts.texts(("·", example["text"], {"type": "text", "text": example["text"]})
                               for example in role.get("examples", []))]
    return [*shown, parts.note(_("Over {n} sentences of an English treebank.", n=measured["sentences"]))]


TOOLS = [Tool("head.corpus", N_("Does it matter elsewhere?"), N_("over a corpus"), content,
              settings={"tab": tuple(TABS), "source": ("corpus", "text"), "x": tuple(MEASURES),
                        "y": ("loss", *MEASURES)})]
