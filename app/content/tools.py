"""The tools of the Lab that need only a view, and the content of tools."""

from collections.abc import Sequence
from typing import Any

import numpy
from numpy import ndarray

from app.content import parts
from app.content.effect import scale_of, state_of
from app.content.picture import SIDE, guesses, selected_map
from app.content.tool import Tool
from app.content.view import View
from app.state.lab_view import GUESSES
from app.texts import N_, _, sentence
from components.mounting import Content
from components.payload import lower_triangle
from models.kind import policies_of
from models.plan import MAX_BASE, MIN_BASE
from models.thumbnails import encoded
from models.trace import Trace

USED, COMPUTED, CONSTANT = "used", "computed", "constant"  # the patterns of a head
POLICIES = {"trained": N_("as trained"), "sqrt": N_("1/√d"), "logn": N_("log n"), "fixed": N_("n = trained length"),
            "length": N_("n = length")}
MOST_HEADS = 12  # number of heads in the payload of `wholooks`
REVEALS = {"loss", "second", "swapw", "carry"}  # tools of other things that show a prediction


def looks(view: View, tool: Tool) -> Content:
    which = tool.setting(view, "view")
    weights = selected_map(view, which)
    offered = [USED, COMPUTED, *([CONSTANT] if view.lab.constant is not None else [])]
    header = {"view": which, "views": offered, "remarks": _remarks(view)}
    if weights is None:
        return header | {"message": _("There are no constant matrices yet.")}, {}
    return header, {f"map.{which}": weights}


def _remarks(view: View) -> list[str]:
    """Returns sentences about what the pattern does not show."""
    kind, (_name, layer, head), lines = view.kind, view.head, list[str]()
    if types := getattr(view.lab, "layer_types", ()):
        lines.append(hybrid_remark(types))
    if view.head in view.lab.closed:
        lines.append(_("Training pruned this head."))
    if not kind.attention.reads_text:
        lines.append(_("The same pattern for every text."))
    if kind.attention.has_sink:
        lines.append(_("The last column is the attention sink: a learned score without a value vector. With it, each "
                       "row sums to 1."))
    elif not kind.attention.is_distribution:
        lines.append(_("Rows of relu² need not sum to 1."))
    changed = view.plan.state(*view.head)
    if kind.attention.selects and head == 0 and (changed.constant or changed.gate < 1):
        lines.append(_("Head 1 also computes the mask F of layer {layer}. Your changes act on its output, not its "
                       "votes.", layer=layer + 1))
    return lines


def hybrid_remark(types: Sequence[tuple[str, bool]]) -> str:
    """Returns a sentence about the layers without attention maps: (layer type, True if the layer has maps) a layer."""
    others = [_("{n} ({type})", n=i, type=name.replace("_", " ")) for i, (name, has) in enumerate(types, 1) if not has]
    rows = [str(i) for i, (_name, has) in enumerate(types, 1) if has]
    return _("The picture shows layers {rows} of {n}. "
             "Without an attention map: {others}.", n=len(types), rows=", ".join(rows), others=", ".join(others))


def mean(view: View, tool: Tool) -> Content:
    """Returns the mean pattern; each head counts with its gate."""
    layers = [view.state.selection.layer] if tool.thing == "layer" else range(view.kind.layers)
    return {"heads": len(layers) * view.kind.heads}, {"map.mean": mean_map(view, layers)}


def mean_map(view: View, layers: Sequence[int]) -> ndarray:
    """Returns the mean pattern of all heads of some layers, packed if causal; the plain mean if all are pruned."""
    gates = numpy.array([[state_of(view.lab, view.plan, (view.kind.name, layer, head)).gate
                          for head in range(view.kind.heads)] for layer in layers], numpy.float32)
    shares = gates / gates.sum() if gates.any() else numpy.full_like(gates, 1 / gates.size)
    weights = encoded(numpy.sum([numpy.tensordot(share, view.layer(layer=layer).weights, 1)
                                 for share, layer in zip(shares, layers, strict=True)], 0))
    return lower_triangle(weights) if view.kind.causal else weights


def _policies(view: View) -> list[str]:
    kinds = view.lab.kinds
    return [policy for policy in policies_of(kinds) if any(policy in kind.attention.readings for kind in kinds)]


def scale(view: View, tool: Tool) -> Content:
    scale = scale_of(view.lab, view.state.plan.scale, len(view.after.tokens))
    act = {"type": "scale", "policy": scale["policy"], "base": scale["base"]}
    base = [parts.field(_("base"), scale["base"], act=act, field="base", kind="number", min=MIN_BASE, max=MAX_BASE)]
    return parts.composed(
        parts.title(_("Sharper heads?"), _("one change for all heads")),
        parts.row(parts.choice(_("Scale of all heads"), {policy: _(POLICIES[policy]) for policy in _policies(view)},
                               scale["policy"], act=act, field="policy"),
                  *(base if scale["policy"] == "logn" else [])),
        parts.note(_("log n multiplies all scores by log n / log base.")),
        *([parts.note(scale["note"])] if "note" in scale else []))


def lens(view: View, tool: Tool) -> Content:
    """Returns the most probable tokens after each layer, and the probability of the answer."""
    found = guesses(view)
    token, before = found["token"], found["before"]

    def guess(each: dict[str, Any]) -> list[Any]:
        look = "word answer-word" if each["label"] == token else "word"
        return [parts.word(each["label"], look=look), " ", {"share": each["p"]}]

    rows = [[_("layer {n}", n=layer) if layer else _("the word itself"), *map(guess, row),
             parts.strong({"share": found["chance"][layer]}), *([{"share": before[layer]}] if before else [])]
            for layer, row in enumerate(found["layers"])]
    columns = [_("after"), _("first"), _("second"), _("third"), parts.word(token), *([_("before")] if before else [])]
    about = _("Fifth column: width of the line to the answer.") if GUESSES in view.state.lab.marks else \
        _("Fifth column: the answer's probability.")
    return parts.composed(parts.title(_("What would each layer answer?"), _(
        "logit lens; early layers are approximate")), parts.table(columns, rows), parts.note(about))


def wholooks(view: View, tool: Tool) -> Content:
    """Returns the heads for a text whose maps are not part of the picture; the browser computes them otherwise."""
    kind, position = view.kind, view.look
    keys = len(view.after.rows[kind.key_row])
    if max(keys, len(view.after.rows[kind.query_row])) <= SIDE or position >= keys:
        return {}, {}
    others = numpy.arange(len(view.after.rows[kind.query_row]))
    is_other = (others != position) | (kind.query_row != kind.key_row)
    others = others[is_other & ((others > position) | (not kind.causal))]
    if not len(others):
        return {"position": position, "heads": []}, {}
    means = numpy.stack([view.layer(layer=layer).weights[:, others, position].mean(1) for layer in range(kind.layers)])
    order = numpy.argsort(-means, axis=None)[:MOST_HEADS]
    return {"position": position, "heads": [{"layer": int(i // kind.heads), "head": int(i % kind.heads),
                                             "value": float(means.flat[i])} for i in order]}, {}


def in_picture(view: View, tool: Tool) -> Content:
    """Returns nothing: the picture has the numbers of these tools."""
    return {}, {}


def _knows_losses(view: View) -> bool:
    return view.before.vectors is None and view.before.loss == view.before.loss


TOOLS = [
    Tool("head.looks", N_("Where does it look?"), N_("pattern"), looks, tip="weight",
         settings={"view": (USED, COMPUTED, CONSTANT)}),
    Tool("layer.mean", N_("Where do its heads look?"), N_("mean pattern"), mean, tip="weight"),
    Tool("all.mean", N_("Where do all heads look?"), N_("mean pattern"), mean, tip="weight"),
    Tool("layer.forget", N_("Which words are forgotten?"), N_("mask F"), in_picture, tip="mask",
         fits=lambda view: isinstance(view.after, Trace) and view.after.mask is not None),
    Tool("all.scale", N_("Sharper heads?"), N_("scale log n"), scale, tip="log-n",
         fits=lambda view: len(_policies(view)) > 1),
    Tool("answer.lens", N_("Guess after each layer?"), N_("logit lens"), lens, tip="logit-lens",
         fits=lambda view: view.output is not None),
    Tool("word.loss", N_("How surprising was it?"), N_("loss per token"), in_picture, tip="loss", fits=_knows_losses),
    Tool("answer.loss", N_("Which words surprised it?"), N_("loss per token"), in_picture, tip="loss",
         fits=_knows_losses),
    Tool("word.wholooks", N_("Who looks at it?"), N_("column"), wholooks),
    Tool("answer.list", N_("What else was likely?"), N_("all choices"), in_picture, tip="probability",
         fits=lambda view: view.output is not None)]


def first_tools(tools: Sequence[Tool]) -> dict[str, str]:
    """Returns thing -> key of its first tool."""
    return {tool.thing: tool.key for tool in reversed(tools)}


FIRST_TOOLS = first_tools(TOOLS)


def content(view: View, among: Sequence[Tool], *errors: type[Exception]
            ) -> tuple[dict[str, Any] | None, dict[str, ndarray]]:
    """Returns payload and arrays of the open tool that fits, else of the thing's first; `errors` become its message."""
    wanted = view.state.lab.tool
    tool = next((tool for tool in among if tool.key == wanted), None) or next(
        (tool for tool in among if tool.thing == view.state.lab.thing), None)
    if tool is None:
        return None, {}
    return _content(view, tool, (ValueError, *errors))


def pinned(view: View, among: Sequence[Tool], *errors: type[Exception]
           ) -> tuple[list[dict[str, Any]], dict[str, ndarray]]:
    """Returns the payloads of the pinned tools that fit, with their arrays as `pinI.NAME`."""
    found: list[dict[str, Any]] = []
    all_arrays: dict[str, ndarray] = {}
    for tool in (tool for key in view.state.lab.pins for tool in among if tool.key == key):
        header, arrays = _content(view, tool, (ValueError, *errors))
        all_arrays |= {f"pin{len(found)}.{name}": array for name, array in arrays.items()}
        found.append(header)
    return found, all_arrays


def _content(view: View, tool: Tool, errors: tuple[type[Exception], ...]) -> tuple[dict[str, Any], dict[str, ndarray]]:
    if view.state.hides_answer and (tool.thing == "answer" or tool.name in REVEALS):
        return {"key": tool.key, "message": _("Guess first.")}, {}
    try:
        header, arrays = tool.content(view, tool)
    except errors as error:
        header, arrays = {"message": sentence(str(error))}, {}
    return {"key": tool.key, **header}, arrays
