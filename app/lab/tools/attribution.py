"""Contributions: of heads or tokens to the answer's logit, of parts to a score q·k, of earlier heads to a head."""

from typing import Any

import numpy
from numpy import ndarray

from app.content import parts
from app.content.picture import shown_token
from app.content.tool import Tool
from app.lab.view import View
from app.panels import measures
from app.state.lab_view import DIRECT, HEADS, NONE, TOKENS
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models.analysis.relevance import HeadRelevance, applies, relevance_of
from models.capabilities import Explainable
from models.messages import message
from models.nets.residual import ScoreParts
from models.plan import Address

WRITERS = 6  # number of contributions to the answer in the payload
CHOICES = 10  # number of most probable tokens that can be chosen
MEASURE_NAMES = {DIRECT: N_("direct contribution"), HEADS: N_("gradient × input of heads"),
                 TOKENS: N_("gradient × input of tokens")}
RELEVANCE = N_("Gradient × input with constant patterns, gates and norm scales, which is LRP (epsilon rule): with "
               "effects through later layers, summed over positions. The authors of LXT write that LRP is patented "
               "and free only for personal and scientific use.")
OF_KEY, OF_QUERY, BY_DIMENSION, BY_POSITION = "key", "query", "dims", "place"
SPLITS = {OF_KEY: N_("its key"), OF_QUERY: N_("its query"), BY_DIMENSION: N_("dimensions"),
          BY_POSITION: N_("distance")}
KEYS, PARTS = 5, 8  # numbers of keys and of parts in the payload
LEAST = 0.02  # logits below which a change is not shown
FEEDS, EDGES = 5, 3  # numbers of changes as bars and as edges in the picture


def who(view: View, tool: Tool) -> Content:
    """Returns the contributions; direct ones at the scale of the unmodified pass."""
    assert view.output is not None
    measure = view.state.explanation.measure if applies(view.lab) else DIRECT
    against = view.state.explanation.against
    against = against if against != NONE and against < len(view.output.names) else NONE
    token, _choices = shown_token(view)
    controls = []
    if applies(view.lab):
        controls.append(parts.choice(_("Measure"), {key: _(text) for key, text in MEASURE_NAMES.items()}, measure,
                                     act={"type": "choose", "name": "measure"}, many=True))
    for name, label, chosen, first in (("token", _("Answer"), token["id"], {}),
                                       ("against", _("Compared with"), against, {str(NONE): _("no other word")})):
        ids = list(dict.fromkeys([*map(int, view.output.top(CHOICES)), *([] if chosen == NONE else [chosen])]))
        offered = first | {str(i): text.strip() or text
                           for i, text in zip(ids, spelt(view.output.names[i] for i in ids), strict=True)}
        controls.append(parts.choice(label, offered, str(chosen), act={"type": "choose", "name": name, "value": 0},
                                     many=True))
    heads, rest, total, about = (_direct if measure == DIRECT else _relevance)(view, token["id"], against)
    title = parts.title(parts.said(_("Who wrote {word}?"), word=parts.word(token["label"])), _(
        "its logit: {total}. Contribution is not cause: prune to test.", total=number(total, "+.2f")))
    if measure == TOKENS:
        relevance = _relevance_of(view, token["id"], against)
        values = [(parts.word(label), float(value)) for row, by_token in relevance.rows.items()
                  for label, value in zip(spelt(view.after.rows[row]), by_token, strict=True)]
        values = sorted(values, key=lambda pair: -abs(pair[1]))[:2 * WRITERS]
        most = max((abs(value) for _name, value in values), default=1.0) or 1.0
        return parts.composed(title, parts.row(*controls), parts.bars(
            [parts.bar(name, value) for name, value in values], most, "signed", sans=False), parts.note(about))
    rows: list[tuple[Any, float, dict[str, Any] | None]] = [
        (parts.short((kind, layer, head)), value, parts.to_head((kind, layer, head)))
        for kind, values in heads.items() for layer, by_head in enumerate(values.tolist())
        for head, value in enumerate(by_head)]
    rows += [(rest_name(name), value, None) for name, value in rest.items()]
    rows.sort(key=lambda row: -abs(row[1]))
    most = abs(rows[0][1]) or 1.0
    if len(rows) > WRITERS:
        rows[WRITERS:] = [(_("others"), sum(row[1] for row in rows[WRITERS:]), None)]
    return parts.composed(
        title, parts.row(*controls),
        parts.row(parts.row(*(parts.grid(kind, values, most) for kind, values in heads.items()), look="grids"),
                  parts.bars([parts.bar(*row) for row in rows], max(most, abs(rows[-1][1])), "signed"), look="duo who"),
        parts.note(about))


def _direct(view: View, token: int, against: int) -> tuple[dict[str, ndarray], dict[str, float], float, str]:
    before, after = view.formations
    heads, rest = after.contributions(token, before)
    if against != NONE:
        others, other_rest = after.contributions(against, before)
        heads = {kind: values - others[kind] for kind, values in heads.items()}
        rest = {name: value - other_rest[name] for name, value in rest.items()}
    total = sum(float(values.sum()) for values in heads.values()) + sum(rest.values())
    about = _("Bars at the unmodified scale; their sum can differ from the logit.") if view.changed else _(
        "What each adds directly (norm scale held), not through later layers.")
    return heads, rest, total, about


def _relevance(view: View, token: int, against: int) -> tuple[dict[str, ndarray], dict[str, float], float, str]:
    found = _relevance_of(view, token, against)
    return dict(found.heads), {}, found.total, _(RELEVANCE)


def _relevance_of(view: View, token: int, against: int) -> HeadRelevance:
    assert view.output is not None
    other, position, prompt = None if against == NONE else against, view.output.position, view.after.prompt
    return view.remembered("relevance", (prompt, view.plan, token, other, position),
                           lambda: relevance_of(view.lab, prompt, view.plan, position, token, other), 3)


def rest_name(name: str) -> str:
    """Returns the name of a contribution that is not a head."""
    if name.startswith("mlp "):
        return _("MLP of layer {layer}", layer=int(name.removeprefix("mlp ")) + 1)
    if name.startswith("layer "):
        return _("Layer {layer}, without attention maps", layer=int(name.removeprefix("layer ")) + 1)
    return _("biases") if name == "biases" else _("embedding")


def why(view: View, tool: Tool) -> Content:
    """Returns the strongest keys of the looking word, and the parts of one score."""
    kind, layer, head = view.head
    maps, query = view.layer(), view.look
    weights, scores = maps.live[head, query], maps.scores[head, query]
    chosen = view.state.lab.setting("why.key")
    key = int(chosen) if chosen.isdecimal() and int(chosen) < weights.shape[-1] else int(weights.argmax())
    if view.kind.causal and key > query:
        key = int(weights.argmax())
    parts_of: ScoreParts = view.remembered("why", (view.after.prompt, view.plan, (kind, layer, head), query, key),
                                        lambda: Explainable.of(view.lab).score_parts(
                                            view.after.prompt, view.plan, (kind, layer, head), query, key))
    mask = getattr(view.after, "mask", None)
    strongest = map(int, numpy.argsort(-weights, kind="stable")[:KEYS])
    order = sorted({*strongest, key}, key=lambda j: -weights[j])[:KEYS + 1]
    rows: list[dict[str, Any]] = [{"index": int(j), "score": float(scores[j]), "weight": float(weights[j]),
             "masking": float(mask[layer, query, j]) if mask is not None and view.kind.attention.selects else 0.0}
            for j in order if numpy.isfinite(scores[j])]
    splits = _splits(parts_of)
    split = tool.setting(view, "split") if tool.setting(view, "split") in splits else splits[0]
    bars = sorted(_bars(view, split, parts_of), key=lambda bar: -abs(bar["value"]))[:PARTS]
    queries, keys = (spelt(view.after.rows[row]) for row in (view.kind.query_row, view.kind.key_row))
    has_mask = any(row["masking"] for row in rows)
    table = parts.table(
        [_("word"), _("match (q·k)"), *([_("forgotten (F)")] if has_mask else []), _("attention")],
        [[parts.press(parts.word(keys[row["index"]]), {"type": "set", "name": "why.key", "value": str(row["index"])}),
          number(row["score"], ".2f"), *([number(row["masking"], ".2f")] if has_mask else []),
          parts.strong({"share": row["weight"]})] for row in rows[:KEYS]])
    state = view.plan.state(kind, layer, head)
    unused = [] if state.gate and not state.constant else [parts.note(_("computed, not used"))]
    most = max((abs(bar["value"]) for bar in bars), default=0.0) or 1.0
    return parts.composed(
        parts.title(parts.said(_("Why {word}?"), word=parts.word(keys[key])), parts.said(
            _("query of {word} and its key: {score}"), word=parts.word(queries[query]),
            score={"signed": parts_of.score}),
            parts.choice(_("Parts"), {name: _(SPLITS[name]) for name in splits}, split, name="split")),
        *unused, parts.row(table, parts.bars(bars[:KEYS + 1], most, "signed"), look="duo why"),
        parts.note(_("The match is q·k × {factor:.3f}. Bars: its largest parts.", factor=parts_of.factor)))


def _splits(found: ScoreParts) -> list[str]:
    if not found.key_names:
        return [BY_DIMENSION]
    return [OF_KEY, OF_QUERY, BY_DIMENSION, *([BY_POSITION] if found.rotates else [])]


def _bars(view: View, split: str, found: ScoreParts) -> list[parts.Part]:
    if split == BY_POSITION:
        return [parts.bar(_("content"), found.content), parts.bar(_("distance (RoPE)"), found.position)]
    if split == BY_DIMENSION:
        half = len(found.dimensions)
        return [parts.bar(_("dims {first}, {second}", first=i + 1, second=i + 1 + half) if found.rotates else
                          _("dim {number}", number=i + 1), value) for i, value in enumerate(found.dimensions)]
    sums, names = (found.writers.sum(1), found.query_names) if split == OF_QUERY else \
        (found.writers.sum(0), found.key_names)
    return [parts.bar(rest_name(name), value) if isinstance(name, str) else
            parts.bar(parts.short(name), value, parts.to_head(name)) for name, value in zip(names, sums, strict=True)]


def feeds(view: View, tool: Tool) -> Content:
    """Returns the earlier heads with the largest measured changes; one forward pass per earlier head."""
    before, after = view.formations
    assert view.output is not None
    kind, layer, head = view.head
    token = view.tokens[1]
    if kind not in after.heads:
        raise ValueError(message("it does not write to the answer's position"))
    given = float(after.contributions(token, before)[0][kind][layer, head])
    earlier = [address for address in view.kind.addresses if address[1] < layer]
    changes = view.remembered("feeds", (view.after.prompt, view.plan, view.head, view.output.position, token),
                              lambda: _changes(view, token, earlier, given), len(earlier)) if earlier else ()
    shown = sorted(((float(change), address) for change, address in zip(changes, earlier, strict=True)
                    if abs(change) >= LEAST), key=lambda pair: -abs(pair[0]))[:FEEDS]
    title = parts.title(_("Which heads feed {head}?", head=parts.short(view.head)), parts.said(
        _("measured: what it adds to {word}"), word=parts.word(
            spelt([view.output.names[token]])[0])))
    if not shown:
        return parts.composed(title, parts.note(
            _("None changes this by more than 0.02 logits.") if earlier else
            _("In the first layer it reads the words themselves.")))
    rows = [parts.bar(_("without {head}", head=parts.short(address)), change, parts.to_head(address))
            for change, address in shown]
    edges = [{"kind": kind, "layer": layer, "head": head, "value": change} for change, (kind, layer, head)
             in shown[:EDGES]]
    return parts.composed(title, parts.bars(rows, max(0.2, abs(shown[0][0])), "signed"), parts.note(
        _("Of {own} logits, one pruning at a time. Dashed edges: the three largest.",
          own=number(given, "+.2f"))), overlay={"feeds": edges})


def _changes(view: View, token: int, earlier: list[Address], given: float) -> ndarray:
    """Returns (heads,), the change of the selected head's contribution `given` without each earlier head, in logits."""
    kind, layer, head = view.head
    assert view.output is not None
    before, values = view.formations[0], []
    for address in earlier:
        plan = view.plan.with_heads([address], gate=0.0)
        without = Explainable.of(view.lab).writes(view.after.prompt, plan, view.output.position)
        values.append(float(without.contributions(token, before)[0][kind][layer, head]))
    return numpy.array(values) - given


TOOLS = [
    Tool("answer.who", N_("Who wrote it?"), N_("attribution"), who, tip="contributions",
         fits=lambda view: view.output is not None),
    Tool("head.why", N_("Why there?"), N_("q·k and its sources"), why,
         fits=lambda view: view.kind.attention.reads_text, settings={"split": tuple(SPLITS)}),
    Tool("head.feeds", N_("Which heads feed it?"), N_("by pruning"), feeds, tip="prune",
         fits=lambda view: view.output is not None and view.kind.query_row == view.output.row
         and measures.is_quick(view.lab, view.before.prompt))]
