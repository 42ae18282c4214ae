"""The page Training: one component below the header, for the Streamlit script and for the events route; its events."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy
from numpy import ndarray

from app.panels import lesson, matrix
from app.server.limits import LimitError
from app.state import events, visit
from app.state.lab_state import LAB, LabState
from app.state.selection import is_gate
from app.state.session import history, is_index
from app.state.training_view import TrainingView
from app.texts import _, spelt
from app.training import runs
from components.mounting import Content, Part
from learning.loop import HELD_OUT, SOME, baseline
from learning.recipe import ATTENTION, MAX_HEADS, MAX_LAYERS, MAX_SEED, Recipe
from learning.runner import DONE, RUNNING, WAITING
from learning.tasks import READERS, TASKS
from models import added
from models.errors import InputError
from models.kind import SELF
from models.nets.attention import TYPES

FIRST = Recipe("lookup")  # the training of a visitor who chose nothing yet
SETTINGS = ("task", "attention", "layers", "heads", "seed")
LEARNED, NEARLY = 0.98, 0.8  # accuracies from which a task counts as learned, or as mostly learned


def parts(state: LabState, problems: Sequence[str]) -> list[Part]:
    runs.of_visit().seen = time.monotonic()
    past = visit.current().history
    content, arrays = contents(state.training, state.hides_answer)
    reasons = [*problems, content.pop("problem", "")]
    content |= {"problems": [_(problem) for problem in reasons if problem], "large": state.teach,
                "undo": bool(past.past), "redo": bool(past.future),
                "lesson": lesson.content(state, lesson.outcome(state))}
    return [Part("training", "training", content, arrays, on_training)]


def contents(view: TrainingView, hides: bool = False) -> Content:
    """Returns the table of tasks and attention types, or the training of the view with its moments.

    While a training runs, only its newest moment has a picture: the browser asks several times per second. With `hides`
    the visitor has still to guess, and only the untrained model is shown.
    """
    if view.recipe is None:
        return {"recipe": None, "table": matrix.table()}, {}
    recipe, trainings = view.recipe, runs.of_visit()
    shown, share = trainings.untrained(recipe) if hides else trainings.shown(recipe), baseline(recipe.task)
    running, may_train = shown.state in (WAITING, RUNNING), runs.runner() is not None
    moments, patterns = _unpacked(recipe, shown, shown.moments[-1:] if running else shown.moments)
    name = title(recipe)
    return {
        "recipe": {"text": str(recipe), "task": recipe.task, "attention": recipe.attention, "layers": recipe.layers,
                   "heads": recipe.heads, "seed": recipe.seed, "steps": recipe.steps},
        "choices": {
            "task": [{"name": each, "title": _(task.title), "line": _(task.line),
                      "more": f"{_(task.line)} {_(task.needs)}"} for each, task in TASKS.items()],
            "attention": [{"name": each, "title": _(TYPES[each].title), "line": _(TYPES[each].line),
                           "more": _(TYPES[each].line)} for each in ATTENTION]},
        "most": {"layers": MAX_LAYERS, "heads": MAX_HEADS, "seed": MAX_SEED},
        "name": _("{title}, recorded.", title=name) if shown.state == runs.RECORDED else _("{title}.", title=name),
        "button": _("Stop") if running else _("Train") if shown.state in (runs.NEW, runs.RECORDED) else
        _("Train again"),
        "about": _("{steps:,} steps on one processor core. Accuracy on {some:,} new sequences, at the end on {all:,}.",
                   steps=recipe.steps, some=SOME, all=HELD_OUT) if may_train else
        _("This host plays recorded trainings only."),
        "may_train": may_train and not hides, "state": shown.state, "active": running,
        "complete": shown.state in (DONE, runs.RECORDED), "problem": shown.problem,
        "has_model": trainings.done(recipe) is not None, "picture": _picture(recipe), "moments": moments,
        "baseline": {"share": share, "text": _("without attention {share}", share=matrix.share(share))},
        "curves": [_curve(recipe, shown.moments), *(() if hides else [
            _curve(each, trainings.shown(each).moments) for each in view.beside])],
    }, {"patterns": patterns}


def _picture(recipe: Recipe) -> dict[str, Any]:
    """Returns the part of the payload of the Lab's picture (app/content/picture.py) that all moments share."""
    prompt = READERS[recipe.task].read(TASKS[recipe.task].example)
    n = len(prompt.tokens)
    states = [[recipe.plan.state(SELF, layer, head) for head in range(recipe.heads)] for layer in range(recipe.layers)]
    block = {"kind": SELF, "title": "", "layers": recipe.layers, "heads": recipe.heads, "causal": True, "packed": True,
             "exact": True, "queries": "text", "keys": "text", "side": [n, n], "is_distribution": True,
             "constant": [[state.constant for state in row] for row in states],
             "gates": [[round(state.gate, 4) for state in row] for row in states], "closed": None, "patched": None}
    return {"model": {"kind": "lookup"}, "tokens": {"text": spelt(prompt.tokens)}, "special": {"text": [0]},
            "kinds": [block], "at": n - 1, "predicts": [n - 1], "changed": False, "can_constant": True, "scale": None}


def _unpacked(recipe: Recipe, shown: runs.Shown, packed: Sequence[bytes]) -> tuple[list[dict[str, Any]], ndarray]:
    """Returns the moments for the browser, and their patterns (count, L · H · T) as round(255 sqrt(w))."""
    names = TASKS[recipe.task].labels
    labels = dict(zip(map(str, names), spelt(names), strict=True))
    right = labels[str(matrix.right_answer(TASKS[recipe.task]))]
    moments, patterns = [], []
    for data in packed:
        line, _newline, body = data.partition(b"\n")
        moment = json.loads(line)
        answer = [(labels[label], share) for label, share in moment["answer"]]
        lens = [(labels[label], first, final) for label, first, final in moment["lens"]]
        share = matrix.share(moment["accuracy"])
        moments.append({
            "step": moment["step"], "accuracy": moment["accuracy"], "heads": moment["heads"],
            "answer": {"rows": [{"id": i, "label": label, "before": p, "after": p, "right": label == right}
                                for i, (label, p) in enumerate(answer)]},
            "contributions": {"token": {"id": 0, "label": answer[0][0]}, "choices": [{"id": 0, "label": answer[0][0]}]},
            "guesses": {"token": answer[0][0], "layers": [[{"label": label, "p": first}] for label, first, _p in lens],
                        "chance": [final for _label, _first, final in lens], "before": None},
            "mlps": [moment["rest"].get(f"mlp {layer}", 0.0) for layer in range(recipe.layers)],
            "caption": {"text": _caption(recipe, shown, moment["step"], moment["accuracy"]), "slots": {
                "share": {"text": share, "look": "answer"}, "step": moment["step"], "n": shown.place}},
            "short": _("Right {share}, step {step}", share=share, step=moment["step"]),
            "verdict": _("✓ right") if answer[0][0] == right else _("✗ wrong: {answer} is right", answer=right)})
        patterns.append(numpy.frombuffer(body, numpy.uint8))
    return moments, numpy.stack(patterns)


def _caption(recipe: Recipe, shown: runs.Shown, step: int, accuracy: float) -> str:
    """Returns the sentence about a moment, with {names} for values."""
    if shown.state == WAITING:
        return _("You are number {n} in the queue.")
    if step == 0:
        return _("The training begins.") if shown.state == RUNNING else _("Before training: {share} right, by chance.")
    if step < recipe.steps:
        return _("After {step} steps: {share} right.")
    if accuracy >= LEARNED:
        return _("It learned the task: {share} right.")
    return _("It learned most of the task: {share} right.") if accuracy >= NEARLY else \
        _("It did not learn the task: {share} right.")


def _curve(recipe: Recipe, packed: Sequence[bytes]) -> dict[str, Any]:
    """Returns the name of a training with its last accuracy, and [step, accuracy] of each moment."""
    heads = [json.loads(data.partition(b"\n")[0]) for data in packed]
    end = f" → {matrix.share(heads[-1]['accuracy'])}" if heads[-1]["step"] else ""
    return {"title": title(recipe) + end, "curve": [[head["step"], head["accuracy"]] for head in heads]}


def title(recipe: Recipe) -> str:
    """Returns the attention type of a training and its differences from the default settings, for the curve."""
    parts = [_(TYPES[recipe.attention].title)]
    changed = [(layer, head, recipe.plan.state(SELF, layer, head)) for layer in range(recipe.layers)
               for head in range(recipe.heads) if str(recipe.plan.state(SELF, layer, head))]
    if len(changed) == recipe.layers * recipe.heads and all(str(state) == "c" for _l, _h, state in changed):
        parts = [_(matrix.EVEN)] if recipe.attention == "softmax" else [*parts, _(matrix.EVEN)]
    elif len(changed) > 2:
        parts.append(_("{n} heads changed", n=len(changed)))
    else:
        parts += [_("L{layer}·H{head} pruned", layer=layer + 1, head=head + 1) if state.gate == 0 else
                  _("L{layer}·H{head} constant", layer=layer + 1, head=head + 1) if str(state) == "c" else
                  _("L{layer}·H{head} changed", layer=layer + 1, head=head + 1) for layer, head, state in changed]
    if (recipe.layers, recipe.heads) != (Recipe.layers, Recipe.heads):
        parts.append(_("{layers} × {heads} heads", layers=recipe.layers, heads=recipe.heads))
    if recipe.seed:
        parts.append(_("seed {n}", n=recipe.seed))
    return ", ".join(parts)


def on_training(event: dict[str, Any]) -> None:
    """Changes the visitor's state or trainings by one event with untrusted values; a wrong one changes nothing."""
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
            events.on_lesson(event)
        case "undo" | "redo":
            events.on_toolbar(event)


def _train(recipe: Recipe) -> None:
    if history().present.hides_answer:
        return
    try:
        runs.of_visit().start(visit.current().channel.id, recipe)
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
