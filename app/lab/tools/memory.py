"""How much can be forgotten? The perplexity on held-out text by the memory that a selective model keeps."""

from typing import Any

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.choosing import model_label
from app.texts import N_, _
from components.mounting import Content
from models.capabilities import Forgets
from studies import series, store
from studies.corpus.forgetting import largest_factor

# window in tokens -> the softmax model with which generation with limited memory is compared
CONTROLS = {256: "stories-softmax", 512: "stories-softmax-512"}
_WAYS = {"chosen": N_("chosen budgets"), "equal": N_("equal budgets"),
         "chosen-oldest": N_("chosen budgets, oldest token dropped"), "equal-oldest": N_("equal budgets, oldest token "
                                                                                    "dropped")}
_OLDEST = {"chosen": _WAYS["chosen-oldest"], "equal": _WAYS["equal-oldest"]} | \
    {way: title for way, title in _WAYS.items() if way.endswith("oldest")}  # without the selective mask F


def content(view: View, tool: Tool) -> Content:
    """Returns the measured curves and the conclusion."""
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
    """Returns the points of the chart."""
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


TOOLS = [Tool("all.memory", N_("How much can be forgotten?"), N_("memory"), content, tip="memory",
              fits=lambda view: isinstance(view.lab, Forgets) and view.lab.can_forget and bool(view.lab.card) and
              store.is_stored(view.lab.name, "memory"))]
