"""Heads by their measures and roles, on this text or over a corpus: one head, and the search for heads."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels import measures
from app.panels.measures import FINDS, MEASURES, SOURCES
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models.analysis.roles import pattern_scores
from models.plan import Address
from studies import store

TABS = {"all": N_("All heads"), "confidence": N_("By confidence"), "entropy": N_("By entropy"), "tokens": N_("Tokens"),
        "roles": N_("Roles")}
ABOUT = {"confidence": N_("mean largest weight, tenths of texts"),
         "entropy": N_("mean entropy in nats, tenths of texts"),
         "tokens": N_("most attended tokens, {n} texts")}
MOST_FOUND = 10  # number of heads that are found
Found = list[tuple[Address, float]]


def corpus(view: View, tool: Tool) -> Content:
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
    values = measures.of_corpus(view.lab, measured) if source == "corpus" else measures.of_text(view.lab, view.before)
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


def find(view: View, tool: Tool) -> Content:
    """Returns what can be searched for, and the heads of the chosen one in order."""
    offered = _offered(view)
    chosen = view.state.lab.setting("find.role")
    chosen = chosen if chosen in offered else next(iter(offered))
    _label, about, search = offered[chosen]
    found = sorted(search(), key=lambda head: -head[1])[:MOST_FOUND]
    is_share = chosen not in ("loss", "corpus loss")
    title = parts.title(_("Which heads do this?"), "", parts.choice(
        _("They look at"), {key: label for key, (label, *_more) in offered.items()}, chosen, name="role", many=True))
    rows = [parts.bar(parts.short(address), value, parts.to_head(address)) for address, value in found]
    bars = parts.bars(rows, 1.0 if is_share else max(found[0][1], 1e-9), "share" if is_share else "signed") if found \
        else parts.note(_("No head does this."))
    heads = [dict(zip(("kind", "layer", "head"), address, strict=True)) for address, _value in found]
    return parts.composed(title, bars, parts.note(about), overlay={"found": heads})


def _offered(view: View) -> dict[str, tuple[str, str, Callable[[], Found]]]:
    """Returns key -> (label, meaning of the numbers, a function that finds the heads with their numbers)."""
    lab, measured = view.lab, measures.over_a_corpus(view.lab)

    def by_text(name: str) -> Found:
        return _by(view, measures.of_text(lab, view.before), name)

    offered: dict[str, tuple[str, str, Callable[[], Found]]] = {}
    if any(kind.query_row == kind.key_row for kind in lab.kinds):
        about = _("Mean weight on this pattern, this text.")
        offered |= {key: (_(title), about, partial(_on_text, view, key)) for key, title in FINDS.items()}
    quick = bool(view.before.outputs) and measures.is_quick(lab, view.before.prompt)
    here = {"confidence": _("Largest weight of a query, this text."),
            **({"loss": _("Loss increase if pruned alone, this text, nats.")} if quick else {})}
    offered |= {name: (_(MEASURES[name]), about, partial(by_text, name)) for name, about in here.items()}
    corpus = measures.of_corpus(lab, measured)
    count = measured.get("sentences", 0)
    over = {"confidence": _("Largest weight of a query, {n} sentences.", n=count),
            "loss": _("Loss increase if pruned alone, validation texts, nats."),
            "relevance": _("Share of the layer's relevance, {n} sentences.", n=count),
            "open": _("Probability of an open learned gate.")}
    offered |= {f"corpus {name}": (_("{measure}, over a corpus", measure=_(MEASURES[name])), over[name],
                                   partial(_by, view, corpus, name)) for name in over if name in corpus}
    for key in sorted({role["role"] for role in measures.shown_roles(lab, measured)}):
        offered[key] = (_("{role} ({n} sentences)", role=measures.in_words(key), n=count), measures.look_for(key),
                        partial(_with_role, measured, key))
    return offered


def _with_role(measured: dict[str, Any], key: str) -> Found:
    return [((role["kind"], role["layer"], role["head"]), role["share"])
            for role in measured["roles"] if role["role"] == key]


def _by(view: View, measured: measures.Measured, name: str) -> Found:
    addresses = [address for kind in view.lab.kinds for address in kind.addresses]
    values = measured.get(name)
    return [] if values is None else [(address, float(value)) for address, value in zip(addresses, values, strict=True)
                                      if numpy.isfinite(value)]


def _on_text(view: View, pattern: str) -> Found:
    found = []
    for kind in view.lab.kinds:
        if kind.query_row != kind.key_row:
            continue
        tokens = view.after.rows[kind.query_row]
        for layer in range(kind.layers):
            maps = view.layer(kind=kind.name, layer=layer).weights
            scores = numpy.nan_to_num(pattern_scores(pattern, maps[None], tokens, kind.causal)[0])
            found += [((kind.name, layer, head), float(score)) for head, score in enumerate(scores) if score > 0]
    return found


TOOLS = [
    Tool("head.corpus", N_("Does it matter elsewhere?"), N_("over a corpus"), corpus,
         settings={"tab": tuple(TABS), "source": ("corpus", "text"), "x": tuple(MEASURES),
                   "y": ("loss", *MEASURES)}),
    Tool("all.find", N_("Which heads do this?"), N_("roles of heads"), find, tip="confidence")]
