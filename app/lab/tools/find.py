"""Which heads do this? The heads that are most like a pattern, a measure or a role, on this text or over a corpus."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.measured import measures
from app.panels.measured.measures import FINDS, MEASURES
from app.texts import N_, _
from components.mounting import Content
from models.analysis.roles import pattern_scores
from models.plan import Address

MOST = 10  # number of heads that are found
Found = list[tuple[Address, float]]


def content(view: View, tool: Tool) -> Content:
    """Returns what can be searched for, and the heads of the chosen one in order."""
    offered = _offered(view)
    chosen = view.state.lab.setting("find.role")
    chosen = chosen if chosen in offered else next(iter(offered))
    _label, about, search = offered[chosen]
    found = sorted(search(), key=lambda head: -head[1])[:MOST]
    is_share = chosen not in ("loss", "corpus loss")
    title = parts.title(_("Which heads do this?"), "", parts.choice(
        _("They look at"), {key: label for key, (label, *_more) in offered.items()}, chosen, name="role", many=True))
    rows = [parts.bar(parts.short(address), value, parts.to_head(address)) for address, value in found]
    bars = parts.bars(rows, 1.0 if is_share else max(found[0][1], 1e-9), "share" if is_share else "signed") if found \
        else parts.note(_("No head does this."))
    heads = [dict(zip(("kind", "layer", "head"), address, strict=True)) for address, _value in found]
    return parts.composed(title, bars, parts.note(about), overlay={"found": heads})


def _offered(view: View) -> dict[str, tuple[str, str, Callable[[], Found]]]:
    """Returns key -> (label, what the numbers are, a function that finds the heads with their numbers)."""
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
                                   partial(_by, view, corpus, name)) for name in over if name in corpus.values}
    for key in sorted({role["role"] for role in measures.shown_roles(lab, measured)}):
        offered[key] = (_("{role} ({n} sentences)", role=measures.in_words(key), n=count), measures.look_for(key),
                        partial(_with_role, measured, key))
    return offered


def _with_role(measured: dict[str, Any], key: str) -> Found:
    return [((role["kind"], role["layer"], role["head"]), role["share"])
            for role in measured["roles"] if role["role"] == key]


def _by(view: View, measured: measures.Measured, name: str) -> Found:
    addresses = [address for kind in view.lab.kinds for address in kind.addresses]
    values = measured.values.get(name)
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


TOOLS = [Tool("all.find", N_("Which heads do this?"), N_("roles of heads"), content, tip="confidence")]
