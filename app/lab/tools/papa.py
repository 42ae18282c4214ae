"""How many can be constant? The score of a frozen encoder by its constant heads (PAPA), and a text's labels."""

import contextlib
from typing import Any

from app.content import parts
from app.content.tool import Tool
from app.lab import now
from app.lab.view import View
from app.panels.measured import constant_text
from app.state.handlers import head_events
from app.state.session import is_index
from app.texts import N_, _
from components.mounting import Content
from figures.curves.constants import WAYS
from models import HeadPlan
from models.plan import Address
from studies.papa.results import Study
from studies.papa.tasks.corpora import CORPORA

KEY = "all.papa"


def content(view: View, tool: Tool) -> Content:
    """Returns the mean drop by the number of constant heads; the cursor makes heads constant in the learned order."""
    study = constant_text.study_of(view.lab)
    assert study is not None
    task = _task(study, tool.setting(view, "task"))
    order = constant_text.order_of(view.lab, study, task)
    count = sum(view.state.plan.state(*address).constant for address in order)
    curves = []
    for mode, (title, *_style) in WAYS.items():
        points = [[n, 100 * mean] for n in study.counts if (mean := study.mean_drop(mode, n)) is not None]
        if points and study.has(mode):
            curves.append((mode, _(title), points))
    titles = {key: _(each.title) for key, each in study.tasks.items()}
    shown: list[parts.Part] = [
        parts.title(_("How many can be constant?"), _("relative drop of a frozen encoder's score, %"), parts.choice(
            _("Task for the text"), titles, task, name="task", many=True)),
        *parts.lines(_("Relative drop with constant heads"), curves, _("constant heads"), at=count,
                     act={"type": "act", "tool": KEY, "count": 0}, field="count"),
        parts.note(_("Press the curve: that many heads become constant, now {n} of {count}.", n=count,
                     count=len(order)))]
    measured = min(study.measured_counts, key=lambda each: abs(each - count))
    problem = constant_text.problem(view.lab, study, view.reading.shown, task, measured)
    if problem:
        return parts.composed(shown, parts.note(problem))
    result = constant_text.result_of(view.lab, study, view.reading.shown, task, measured)
    rows = [[parts.word(change.word), _labelled(*change.before), parts.strong(_labelled(*change.after))
             if change.is_changed else _labelled(*change.after)] for change in result.changes]
    return parts.composed(shown, parts.table([_("word"), _("before"), _("with {n} constant", n=measured)], rows))


def _labelled(label: str, probability: float) -> str:
    return f"{label} {probability:.0%}"


def _task(study: Study, name: str) -> str:
    return name if name in study.tasks else next(iter(study.tasks))


def act(event: dict[str, Any]) -> None:
    """Makes the first heads of the learned order constant, and all others live."""
    with contextlib.suppress(*now.ERRORS):
        view = now.present()
        study = constant_text.study_of(view.lab)
        if study is None or view.lab.constant is None:
            return
        task = _task(study, view.state.lab.setting("papa.task"))
        order: list[Address] = constant_text.order_of(view.lab, study, task)
        if is_index(event.get("count"), len(order) + 1):
            head_events.set_plan(HeadPlan().with_heads(order[:event["count"]], constant=True))


TOOLS = [Tool(KEY, N_("How many can be constant?"), N_("constant attention"), content, tip="constant", act=act,
              fits=lambda view: constant_text.study_of(view.lab) is not None, settings={"task": tuple(CORPORA)})]
