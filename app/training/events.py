"""Handles the events of the page Training; every value of an event is untrusted."""

from dataclasses import replace
from typing import Any

from app.panels.measured import matrix
from app.server.limits import LimitError
from app.state.handlers import events as page_events
from app.state.handlers import lesson_events
from app.state.lab_state import LAB
from app.state.pages.selection import is_gate
from app.state.pages.training_view import TrainingView
from app.state.session import history, is_index
from app.state.visit import current
from app.training import runs
from learning.recipe import Recipe
from models import added
from models.errors import InputError
from models.kind import SELF
from models.nets.attention import TYPES

FIRST = Recipe("lookup")  # the training of a visitor who chose nothing yet
SETTINGS = ("task", "attention", "layers", "heads", "seed")


def on_training(event: dict[str, Any]) -> None:
    """Changes the visitor's state or trainings by one event; an event with a wrong value changes nothing."""
    view = history().present.training
    recipe = view.recipe or FIRST
    match event.get("type"):
        case "set" if event.get("name") in SETTINGS:
            _open(recipe, lambda: _fitting(recipe, event["name"], event.get("value")))
        case "heads" if view.recipe:
            _open(recipe, lambda: _with_heads(recipe, event))
        case "cell" if chosen := matrix.chosen(event):
            _open(recipe, lambda: chosen)
        case "own":
            _open(recipe, lambda: FIRST)
            _train(FIRST)
        case "table" if history().present.lesson is None:
            history().do(replace(history().present, training=TrainingView()))
        case "beside" if is_index(event.get("index"), len(view.beside)):
            _open(recipe, lambda: view.beside[event["index"]])
        case "train" if view.recipe:
            _train(recipe)
        case "stop":
            runs.of_visit().stop()
        case "lab" if view.recipe and history().present.lesson is None:
            _open_in_lab(recipe)
        case "step" | "answer" | "teach" | "leave":
            lesson_events.on_lesson(event)
        case "undo" | "redo":
            page_events.on_toolbar(event)


def _train(recipe: Recipe) -> None:
    if history().present.hides_answer:
        return
    try:
        runs.of_visit().start(current().channel.id, recipe)
    except (InputError, LimitError) as error:
        history().problems = [str(error)]


def _open(old: Recipe, make: Any) -> None:
    """Opens the training that `make` returns; the curve of the present one stays if the model was trained."""
    past = history()
    try:
        recipe = make()
    except InputError as error:
        past.problems = [str(error)]
        return
    keeps = past.present.training.recipe is not None and runs.of_visit().has_curve(old)
    past.do(replace(past.present, training=past.present.training.opened(recipe, keeps)), merge="training")


def _fitting(recipe: Recipe, name: str, value: Any) -> Recipe:
    """Returns the recipe with one setting changed, and with the part of the plan that fits the model."""
    wanted = {each: getattr(recipe, each) for each in SETTINGS} | {name: value}
    empty = Recipe(**wanted, steps=recipe.steps)
    plan = recipe.plan.within({SELF: (empty.layers, empty.heads)}, TYPES[empty.attention].policies)[0]
    return replace(empty, plan=plan)


def _with_heads(recipe: Recipe, event: dict[str, Any]) -> Recipe:
    """Returns the recipe with the heads of an event constant, pruned or neither."""
    layer, head, scope = event.get("layer"), event.get("head"), event.get("scope")
    constant, gate = event.get("constant"), event.get("gate")
    if not (is_index(layer, recipe.layers) and is_index(head, recipe.heads) and scope in ("head", "row", "all")
            and (constant is None or isinstance(constant, bool)) and (gate is None or is_gate(gate))):
        return recipe
    heads = [(SELF, each, h) for each in range(recipe.layers) for h in range(recipe.heads)
             if scope == "all" or each == layer and (scope == "row" or h == head)]
    return replace(recipe, plan=recipe.plan.with_heads(heads, constant=constant, gate=gate))


def _open_in_lab(recipe: Recipe) -> None:
    """Opens the trained model in the Lab, with the plan of its training."""
    run = runs.of_visit().done(recipe)
    if run is None:
        return
    added.add(run.lab)
    past = history()
    past.do(replace(past.present.with_model(run.lab.name), plan=recipe.plan, page=LAB))
