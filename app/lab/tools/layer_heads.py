"""Tools of a layer: how widely its heads spread their attention, how alike they are, and their computed gates."""

import math
from typing import Any

from app.compute import AnyTrace
from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.choosing import model_label
from app.server import caches, limits, serving
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models import Lab, catalogue
from models.analysis.head_similarity import Likeness, disagreement_of, of_text, of_trace
from models.labs.foreign import is_foreign
from models.trace import Trace, row_entropy
from studies import store

LEAST = 3  # number of queries from which a curve is drawn
LONG = 256  # number of tokens above which the input text is not evaluated
# the disagreement terms (Li et al. 2018), which measure how heads differ
TERMS = {"out": N_("Outputs"), "sub": N_("Values"), "pos": N_("Positions")}
SENSES = {"out": N_("cosine of the heads' outputs"), "sub": N_("cosine of the heads' values"),
          "pos": N_("overlap of their attention rows")}


def entropy(view: View, tool: Tool) -> Content:
    """Returns the entropy of the looking word's row of each head, and of all rows of the selected head."""
    kind, layer, head = view.head
    after, before = (row_entropy(view.layer(before=old).weights) for old in (False, True))
    look, count = view.look, after.shape[1]
    reach = look + 1 if view.kind.causal else len(view.after.rows[view.kind.key_row])
    rows = [parts.bar(parts.short((kind, layer, h)), after[h, look], parts.to_head((kind, layer, h)),
                      text=number(float(after[h, look]), ".2f"),
                      **({"before": float(before[h, look])} if view.changed else {})) for h in range(len(after))]
    word = spelt(view.after.rows[view.kind.query_row])[look]
    curves = [("after", _("now") if view.changed else parts.short(view.head), list(enumerate(after[head].tolist(), 1))),
              *([("before", _("before"), list(enumerate(before[head].tolist(), 1)))] if view.changed else [])]
    shown = _("Entropy of each row of {head}", head=parts.short(view.head))
    chart = [parts.note(shown), *parts.lines(shown, curves, _("position"), at=look + 1)] if count >= LEAST else []
    return parts.composed(
        parts.title(parts.said(_("How widely does {word} look?"), word=parts.word(word)), _(
            "entropy of its row in nats, at most {most:.2f}", most=math.log(max(1, reach)))),
        parts.row(parts.bars(rows, max(math.log(max(2, reach)), 1e-9)), parts.row(*chart, look="column"), look="duo"))


def alike(view: View, tool: Tool) -> Content:
    """Returns the similarity of each pair of heads of the layer on this text."""
    found = of_text_of(view.lab, view.before)
    kind, layer, head = view.head
    if not found:
        raise ValueError(N_("Shorten the text to compare all heads."))
    terms = [term for term in TERMS if all(term in likeness for likeness in found.values())]
    chosen = tool.setting(view, "term")
    term = chosen if chosen in terms else terms[0]
    values = found[kind][term][layer]
    own = sorted(((float(values[head, other]), other) for other in range(len(values)) if other != head), reverse=True)
    rows = [parts.bar(parts.short((kind, layer, other)), value, parts.to_head((kind, layer, other)),
                      text=number(value, ".2f")) for value, other in own]
    names = [parts.short((kind, layer, other)) for other in range(len(values))]
    table = parts.table(["", *names], [[name, *(number(float(value), ".2f") for value in row)]
                                       for name, row in zip(names, values, strict=True)], look="")
    return parts.composed(
        parts.title(_("Which heads do the same?"), _(SENSES[term]), parts.choice(
            _("Compared by"), {each: _(TERMS[each]) for each in terms}, term, name="term")),
        parts.row(parts.bars(rows), table, look="duo") if len(values) > 1 else parts.note(_("The layer has one head.")),
        _over_corpora(view.lab, found, terms),
        parts.note(_("exp(D), −D: mean over pairs of heads and layers. Higher: heads differ more; {least:.3f}: all "
                     "are equal.", least=math.exp(-1))))


def _over_corpora(lab: Lab, found: Likeness, terms: list[str]) -> parts.Part:
    """Returns a table of exp(D) on the input text, and over the corpus for all evaluated models of the family."""
    def row(name: str, values: dict[str, float]) -> list[str]:
        return [name, *(f"{values[term]:.3f}" if term in values else "–" for term in terms)]

    rows = [row(_("this text"), {term: math.exp(disagreement_of(found, term)) for term in terms})]
    for name in dict.fromkeys([lab.name, *([] if is_foreign(lab.name) else catalogue.family(lab.name))]):
        stored: dict[str, Any] = store.read_undamaged(name, "disagreement") or {}
        if stored:
            rows.append(row(_("{name}, {n} sentences", name=model_label(name), n=stored["sentences"]), stored["mean"]))
    return parts.table(["", *(_(TERMS[term]) for term in terms)], rows, look="")


def of_text_of(lab: Lab, before: AnyTrace) -> Likeness:
    """Returns the values on the input text, cached; empty for a text of more than LONG tokens and for a sketch."""
    if not isinstance(before, Trace) or len(before.prompt.ids) > LONG:
        return {}

    def measure() -> Likeness:
        limits.spend(limits.PASSES)
        with serving.computing():
            return of_trace(before) if is_foreign(lab.name) else of_text(lab, before.prompt)

    return caches.measured.get(("disagreement", lab.identity, before.prompt), measure)


def gates(view: View, tool: Tool) -> Content:
    """Returns the gates that the model computes for the looking word, and their mean over the text."""
    kind, layer, _head = view.head
    values = view.after.gates[kind][layer]
    rows = [parts.bar(parts.short((kind, layer, head)), by_word[view.look], parts.to_head((kind, layer, head)),
                      before=float(by_word.mean())) for head, by_word in enumerate(values)]
    word = spelt(view.after.rows[view.kind.query_row])[view.look]
    shown = _("Gate of {head} by word", head=parts.short(view.head))
    curve = parts.lines(shown, [("gate", _("gate"), list(enumerate(values[view.head[2]].tolist(), 1)))],
                        _("position"), at=view.look + 1)
    return parts.composed(
        parts.title(parts.said(_("How open are the gates at {word}?"), word=parts.word(word)), _(
            "computed gates; black line: mean over the text")),
        parts.row(parts.bars(rows), parts.row(parts.note(shown), *curve, look="column"), look="duo"),
        parts.note(_("Your gate multiplies the model's gate.")))


TOOLS = [Tool("layer.entropy", N_("How widely do they look?"), N_("entropy"), entropy, tip="entropy"),
         Tool("layer.alike", N_("Which heads do the same?"), N_("disagreement"), alike, tip="cosine",
              settings={"term": tuple(TERMS)},
              fits=lambda view: isinstance(view.before, Trace) and view.kind.heads > 1 and not view.lab.task.sees),
         Tool("layer.gates", N_("How open are its gates?"), N_("gates"), gates, tip="gate",
              fits=lambda view: view.kind.name in view.after.gates)]
