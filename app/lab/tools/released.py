"""Measurements of a released model: its card, curves by the length of the text, perplexity by memory."""

from typing import Any

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.content.tools import POLICIES
from app.lab.view import View
from app.panels import choosing
from app.panels.choosing import model_label
from app.panels.lengths import QUANTITIES, curves_of
from app.texts import N_, _, number
from components.mounting import Content
from models.capabilities import Forgets
from studies import series, store
from studies.corpus.forgetting import largest_factor

# entries of a card's cost -> sentence
COSTS = (("score_parameters", N_("{n:,} parameters, {ratio:.2f} of softmax")),
         ("score_multiplications", N_("{n:,} multiplications per text, {ratio:.2f} of softmax")))
# window in tokens -> the softmax model with which generation with limited memory is compared
CONTROLS = {256: "stories-softmax", 512: "stories-softmax-512"}
_WAYS = {"chosen": N_("chosen budgets"), "equal": N_("equal budgets"),
         "chosen-oldest": N_("chosen budgets, oldest token dropped"), "equal-oldest": N_("equal budgets, oldest token "
                                                                                    "dropped")}
_OLDEST = {"chosen": _WAYS["chosen-oldest"], "equal": _WAYS["equal-oldest"]} | \
    {way: title for way, title in _WAYS.items() if way.endswith("oldest")}  # without the selective mask F


def card(view: View, tool: Tool) -> Content:
    stored = choosing.card_of(view.lab.name)
    facts, training, cost, curve = stored["model"], stored["training"], stored["cost"], stored.get("curve")
    attention = stored["attention"]
    # a checkpoint has no minutes
    spent = {"steps": training["steps"], "tokens": training["tokens_per_step"], "seed": training["seed"],
             "minutes": training["minutes"]}
    rows: list[tuple[str, parts.Text]] = [
        (_("size"), _("{parameters:,} parameters, {layers} layers of {heads} heads, width {width}",
                      parameters=facts["parameters"], layers=facts["layers"], heads=facts["heads"],
                      width=facts["width"])),
        (_("tokens"), _("vocabulary of {vocabulary:,}, at most {longest} in a text", vocabulary=facts["vocabulary"],
                        longest=facts["longest_text"])),
        *((_("computing scores"), _(text, n=cost[key], ratio=cost[key] / cost[f"softmax_{key}"]))
          for key, text in COSTS),
        (_("held-out data"), _(choosing.headline(stored))),
        *((_("seed {n}", n=seed), _(choosing.headline(stored, metric)))
          for seed, metric in stored.get("other_seeds", {}).items()),
        (_("training"), _("{steps:,} steps of {tokens:,} tokens, seed {seed}", **spent) if spent["minutes"] is None else
         _("{steps:,} steps of {tokens:,} tokens, seed {seed}, {minutes} minutes on one core", **spent)),
        *((_("data"), f"{_(source['name'])} · {source['licence']}") for source in stored["data"]),
        (_("licence"), stored["licence"])]
    difference = stored.get("variant", {}).get("line", "")
    points = list(zip(curve["step"], curve["validation_loss"], strict=True)) if curve else []
    loss = [parts.note(_("validation loss")),
            *parts.lines(_("validation loss"), [("loss", "", points)], _("steps"))] if points else []
    return parts.composed(
        parts.title(stored["name"], f"{_(attention['title'])} · {attention['source']}"),
        *([parts.note(_(difference))] if difference else []),
        {"part": "code", "text": _(attention["formula"])}, parts.table(["", ""], [
            ("" if before and before[0] == name else name, text) for before, (name, text) in zip(
                [None, *rows], rows, strict=False)], look="sheet"), loss,
        {"part": "code", "text": training["command"]})


def length(view: View, tool: Tool) -> Content:
    """Returns the curves of one quantity, with this text as a point."""
    curves = [curve for name in (view.lab.name, *view.state.compared) for curve in curves_of(name)]
    known = [quantity for quantity in QUANTITIES
             if any(curve.value(n, quantity.key) is not None for curve in curves for n in curve.by_length)]
    if not known:
        raise ValueError(N_("Not measured for this model."))
    chosen = tool.setting(view, "quantity")
    quantity = next((each for each in known if each.key == chosen), known[0])
    lengths = sorted({n for curve in curves for n in curve.by_length})
    several = len({curve.model for curve in curves}) > 1
    lines = [(f"{curve.model} {curve.policy}", (f"{model_label(curve.model)}, " if several else "") +
              _(POLICIES[curve.policy]), [[n, value] for n in sorted(curve.by_length) if (value := curve.value(
                  n, quantity.key)) is not None]) for curve in curves]
    facts = compute.facts_of(view.lab, view.after.prompt, view.state.plan) if view.lab.card else {}
    here, count = facts.get(quantity.key), len(view.after.tokens)
    marks = [{"x": count, "y": here, "label": _("this text")}] if here is not None and count >= lengths[0] else []
    choice = [parts.choice(_("Chart"), {each.key: _(each.title) for each in known}, quantity.key, name="quantity",
                           many=True)] if len(known) > 1 else []
    return parts.composed(
        parts.title(_("And in longer texts?"), _("{unit}; trained on {n} tokens", unit=_(quantity.unit),
                                                 n=view.lab.trained_length), *choice),
        parts.lines(_(quantity.title), [line for line in lines if line[2]], _("tokens"), log=True,
                    xTicks=lengths[::-(-len(lengths) // 8)], at=view.lab.trained_length, marks=marks,
                    percent=quantity.percent),
        parts.note([_("Vertical line: length of the training texts."), *(
            [" ", _("This text: {value}.", value=number(here, ".3f"))] if here is not None else [])]))


def memory(view: View, tool: Tool) -> Content:
    result = store.read(view.lab.name, "memory")
    if result is None:
        raise ValueError(N_("Not measured for this model."))
    control = store.read_undamaged(CONTROLS[result["window"]], "memory") if result["window"] in CONTROLS else None
    curves: dict[str, list[list[float]]] = {}
    for point in points_of(result, control):
        curves.setdefault(point["line"], []).append([point["factor"], point["perplexity"]])
    xs = sorted({point[0] for points in curves.values() for point in points})
    return parts.composed(
        parts.title(_("How much can be forgotten?"), _("perplexity by 1 / memory")),
        parts.lines(_("Perplexity against memory"), [(name, name, points) for name, points in curves.items()],
                    _("1 / memory"), log=True, xTicks=xs),
        parts.note(_("{windows} held-out windows of {window} tokens; at 8, layers keep an eighth. Dropped: tokens "
                     "with the largest F or, for comparison, the oldest except the first.",
                     windows=result["windows"], window=result["window"])),
        *([parts.note(conclusion.replace("**", ""))] if (conclusion := verdict(result, control)) else []))


def points_of(result: dict, control: dict | None) -> list[dict[str, Any]]:
    rows = []
    for record in (result, control):
        if record is None:
            continue
        model = record["name"]
        whole, *lessened = record["points"]
        number = -1  # index of the model's line
        for way, title in _WAYS.items():
            line = [point for point in (*lessened, *record["comparisons"]) if point["way"] == way]
            number += bool(line)
            label = _(title) if record is result else _("{model}: {way}", model=model_label(model), way=_(_OLDEST[way]))
            for point in [whole, *line] if line else []:  # every line starts at full memory
                budgets = " ".join(map(str, point["budgets"]))
                rows.append({"line": label, "style": series.style(model, number), "factor": point["factor"],
                             "perplexity": point["perplexity"], "budgets": budgets})
    return rows


def verdict(result: dict, control: dict | None) -> str:
    """Returns a sentence with the smallest memory that matches the control with full memory; empty if unknown."""
    if control is None:
        return ""
    limit = control["points"][0]["perplexity"]
    factor = largest_factor({point["factor"]: point["perplexity"] for point in result["points"]}, limit)
    if not factor:
        return _("{control} with full memory: {limit:.2f}.", control=model_label(control["name"]), limit=limit)
    if factor == 1:
        return _("Only with full memory is its perplexity no higher than {control}'s ({limit:.2f}).",
                 control=model_label(control["name"]), limit=limit)
    return _("With 1/{factor} of its memory, its perplexity is no higher than {control}'s with full memory "
             "({limit:.2f}).",
             factor=factor, control=model_label(control["name"]), limit=limit)


TOOLS = [
    Tool("all.card", N_("How was it trained?"), N_("model card"), card,
         fits=lambda view: bool(view.lab.card)),
    Tool("all.length", N_("And in longer texts?"), N_("length curves"), length,
         fits=lambda view: bool(view.lab.card) and store.is_stored(view.lab.name, "length"),
         settings={"quantity": tuple(quantity.key for quantity in QUANTITIES)}),
    Tool("all.memory", N_("How much can be forgotten?"), N_("memory"), memory, tip="memory",
         fits=lambda view: isinstance(view.lab, Forgets) and view.lab.can_forget and bool(view.lab.card) and
         store.is_stored(view.lab.name, "memory"))]
