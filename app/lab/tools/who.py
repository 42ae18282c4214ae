"""Who wrote it? Contributions to a logit of the answer: direct, or relevance of heads or tokens."""

from typing import Any

from numpy import ndarray

from app.content import parts
from app.content.picture import shown_token
from app.content.tool import Tool
from app.lab.view import View
from app.state.pages.answer_view import DIRECT, HEADS, NONE, TOKENS
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models.analysis.relevance import HeadRelevance, applies, relevance_of

ROWS = 6
CHOICES = 10  # number of most probable tokens that can be chosen
MEASURE_NAMES = {DIRECT: N_("direct contribution"), HEADS: N_("gradient × input of heads"),
                 TOKENS: N_("gradient × input of tokens")}
RELEVANCE = N_("Gradient × input with constant patterns, gates and norm scales, which is LRP (epsilon rule): with "
               "effects through later layers, summed over positions. The authors of LXT write that LRP is patented "
               "and free only for personal and scientific use.")


def content(view: View, tool: Tool) -> Content:
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
        relevance = _found(view, token["id"], against)
        values = [(parts.word(label), float(value)) for row, by_token in relevance.rows.items()
                  for label, value in zip(spelt(view.after.rows[row]), by_token, strict=True)]
        values = sorted(values, key=lambda pair: -abs(pair[1]))[:2 * ROWS]
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
    if len(rows) > ROWS:
        rows[ROWS:] = [(_("others"), sum(row[1] for row in rows[ROWS:]), None)]
    return parts.composed(
        title, parts.row(*controls),
        parts.row(parts.row(*(parts.grid(kind, values, most) for kind, values in heads.items()), look="grids"),
                  parts.bars([parts.bar(*row) for row in rows], max(most, abs(rows[-1][1])), "signed"), look="duo who"),
        parts.note(about))


def _direct(view: View, token: int, against: int) -> tuple[dict[str, ndarray], dict[str, float], float, str]:
    before, after = view.formations
    heads, rest = after.contributions(token, before.writes)
    if against != NONE:
        others, other_rest = after.contributions(against, before.writes)
        heads = {kind: values - others[kind] for kind, values in heads.items()}
        rest = {name: value - other_rest[name] for name, value in rest.items()}
    total = sum(float(values.sum()) for values in heads.values()) + sum(rest.values())
    about = _("Bars at the unmodified scale; their sum can differ from the logit.") if view.changed else _(
        "What each adds directly (norm scale held), not through later layers.")
    return heads, rest, total, about


def _relevance(view: View, token: int, against: int) -> tuple[dict[str, ndarray], dict[str, float], float, str]:
    found = _found(view, token, against)
    return dict(found.heads), {}, found.total, _(RELEVANCE)


def _found(view: View, token: int, against: int) -> HeadRelevance:
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


TOOLS = [Tool("answer.who", N_("Who wrote it?"), N_("attribution"), content, tip="contributions",
              fits=lambda view: view.output is not None)]
