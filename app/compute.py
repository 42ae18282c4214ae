"""What the pages ask the models for, one visitor at a time (serving.computing) and remembered (caches)."""

from __future__ import annotations

import models
from app import caches, serving
from models import HeadPlan, Lab, Trace, lengths
from models.tasks.base import InputError, Prompt
from models.trace import run_both, run_prompt


def traces_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> tuple[Trace, Trace]:
    """The traces as trained and under the plan, remembered; the same object twice for the empty plan."""
    first, second = (lab.name, prompt, HeadPlan()), (lab.name, prompt, plan)
    before, after = caches.traces.find(first), caches.traces.find(second)
    if before is None or after is None:
        with serving.computing():
            if before is None and plan:
                before, after = run_both(lab, prompt, plan)
            elif before is None:
                before = after = run_prompt(lab, prompt)
            else:
                after = run_prompt(lab, prompt, plan)
        caches.traces.keep(first, before)
        caches.traces.keep(second, after)
    return before, after


def read(lab: Lab, text: str, limit: int | None = None) -> Prompt:
    """The text as the model's task reads it, remembered: a click elsewhere does not read a long text again.

    Args:
        limit: most tokens that are read; the model's own by default.

    Raises:
        InputError: it cannot be read.
    """
    prompt = _read(lab.name, text, limit or lab.limit)
    if isinstance(prompt, InputError):
        raise InputError(str(prompt), prompt.start, prompt.stop)  # a new one: each raise adds frames to what it holds
    return prompt


@caches.remembered()
def _read(name: str, text: str, limit: int) -> Prompt | InputError:
    # By name: a remembered text must not keep a model in memory that has been let go.
    try:
        return models.load(name).read(text, limit)
    except InputError as error:
        return error.with_traceback(None)


def facts_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    """models.lengths.facts, remembered."""
    return _facts(lab.name, prompt, plan)


@caches.remembered()
def _facts(name: str, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    with serving.computing():
        return lengths.facts(models.load(name), prompt, plan)
