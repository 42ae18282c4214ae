"""Generation with limited memory: the choice of budgets, the tokens that each layer keeps, and the perplexity."""

import itertools
from collections.abc import Sequence
from typing import Any

from app.panels.choice.labels import model_label
from app.texts import N_, _
from models import Lab
from models.generate.decoding import Step
from models.storage.checkpoint import CheckpointError
from studies import series, store
from studies.corpus.forgetting import largest_factor

BUDGETS = (64, 32, 16, 8, 4)  # choices for the number of tokens that each layer keeps in memory
# window in tokens -> the softmax model with which generation with limited memory is compared
CONTROLS = {256: "stories-softmax", 512: "stories-softmax-512"}
_WAYS = {"chosen": N_("chosen budgets"), "equal": N_("equal budgets"),
         "chosen-oldest": N_("chosen budgets, oldest token dropped"), "equal-oldest": N_("equal budgets, oldest token "
                                                                                    "dropped")}
_OLDEST = {"chosen": _WAYS["chosen-oldest"], "equal": _WAYS["equal-oldest"]} | \
    {way: title for way, title in _WAYS.items() if way.endswith("oldest")}  # without the selective mask F


def choices(lab: Lab) -> dict[str, tuple[int, ...]]:
    """Returns the memory budgets that a visitor can choose."""
    layers = lab.kinds[0].layers
    offered: dict[str, tuple[int, ...]] = {_("Keep all tokens while writing"): ()}
    offered |= {_("Keep {budget} tokens per layer while writing", budget=budget): (budget,) * layers
                for budget in BUDGETS}
    for point in (_measured(lab.name) or {"points": []})["points"]:
        if point["factor"] > 1:
            budgets = tuple(point["budgets"])
            offered[_("Keep 1/{factor} of the tokens: {budgets} by layer", factor=point["factor"],
                      budgets=", ".join(map(str, budgets)))] = budgets
    return offered


def counts(steps: Sequence[Step]) -> str:
    """Returns the number of tokens that each layer keeps, in words."""
    kept = [len(positions) for positions in steps[-1].kept]
    if len(set(kept)) == 1:
        return _("Each layer keeps {kept} of {count} tokens", kept=kept[0], count=len(steps))
    by_layer = " · ".join(_("layer {layer} {count}", layer=layer, count=count) for layer, count in enumerate(kept, 1))
    return _("Kept of {count}: {by_layer}", count=len(steps), by_layer=by_layer)


def pieces(steps: Sequence[Step], layer: int) -> list[tuple[bool, bool, str]]:
    """Returns the text in pieces (True if generated, True if the layer keeps it, text). Arguments as in `struck`."""
    kept = set(steps[-1].kept[layer])
    runs = itertools.groupby(range(len(steps)), key=lambda place: (steps[place].is_new, place in kept))
    return [(is_new, is_kept, "".join(steps[place].token if place else f"({steps[place].token}) "
                                      for place in positions)) for (is_new, is_kept), positions in runs]


def control_of(result: dict) -> dict | None:
    """Returns the stored results of the softmax model that a selective model is compared with; None without one."""
    return _measured(CONTROLS[result["window"]]) if result["window"] in CONTROLS else None


def _measured(name: str) -> dict | None:
    """Returns the stored results; None if the file is missing or damaged (`section` reports a damaged file)."""
    try:
        return store.read(name, "memory")
    except CheckpointError:
        return None


def points(result: dict, control: dict | None) -> list[dict[str, Any]]:
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
