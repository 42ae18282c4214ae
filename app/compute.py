"""What the pages ask the models for, by turns (serving.computing) and remembered (caches)."""

from __future__ import annotations

import contextlib
import time

from numpy import ndarray

from app.server import caches, limits, serving
from models import HeadPlan, Lab, Trace
from models.errors import InputError
from models.kind import TARGET, TEXT, Kind
from models.labs.foreign import is_foreign
from models.loading import own
from models.prompt import LONGEST_TEXT, Prompt
from models.studies.corpus import lengths
from models.tasks.base import Reader
from models.thumbnails import thumbnails
from models.trace import Layer, Sketch, bytes_of_maps

LIGHT = 128  # tokens up to which a pass of our own models takes no longer than drawing its answer: 20 ms
LARGE = 32 * 2**20  # bytes of a trace's maps beyond which it is sketched: 12 x 12 heads from 171 tokens on
# Seconds until the pictures, which were sent before, have gone to the browser: a search of many small steps keeps the
# interpreter from the thread that sends, and a core from the browser. Maps 176 -> 133 ms after a key, the translation
# 225 -> 224 (benchmarks/translation.py).
PICTURES_FIRST = 0.05
WRITING = 7  # passes that a beam search over LONG_SENTENCE tokens takes, by time
LONG_SENTENCE = 24  # tokens up to which a text that is written costs WRITING; its cost grows with its square
LONG = 2000  # characters of a text beyond which reading it takes longer than another visitor should wait

Seen = Trace | Sketch  # what a page shows of a pass


def traces_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> tuple[Seen, Seen]:
    """The traces as trained and under the plan, remembered; the same object twice for the empty plan. Sketches where
    the maps are large."""
    plan = usable(lab, plan)
    first, second = (lab.identity, prompt, HeadPlan()), (lab.identity, prompt, plan)
    before, after = caches.traces.find(first), caches.traces.find(second)
    if before is None or after is None:
        missing = [HeadPlan()] * (before is None) + [plan] * (after is None and bool(plan))
        writes = _writes(lab) and (before is None)
        limits.spend(limits.PASSES, len(missing) * _passes(prompt) + (writes and _beam_passes(prompt)))
        long = writes and len(prompt.ids) > LONG_SENTENCE
        with serving.computing_long() if long else serving.computing(_is_light(lab, prompt)):
            text = lab.anchored(prompt if before is None else before.prompt)
            found: list[Seen] = [*(lab.sketch(text, missing) if _is_large(lab, prompt) else lab.run(text, missing))]
        before = found[0] if before is None else before
        if after is None or not plan:
            after = found[-1] if plan else before
        caches.traces.keep(first, before)
        caches.traces.keep(second, after)
    return before, after


def rewritten(lab: Lab, prompt: Prompt, plan: HeadPlan) -> str:
    """What a model of two texts writes under a plan, remembered."""
    key = (lab.identity, prompt, plan)
    found = caches.written.find(key)
    if found is None:
        limits.spend(limits.PASSES, _beam_passes(prompt))
        with serving.aside():
            time.sleep(PICTURES_FIRST)
        with serving.computing_long() if len(prompt.ids) > LONG_SENTENCE else serving.computing():
            found = caches.Written(lab.rewrite(prompt, plan))
        caches.written.keep(key, found)
    return found.text


def usable(lab: Lab, plan: HeadPlan) -> HeadPlan:
    """The plan without constant heads where a model has no matrices for them yet."""
    if lab.constant is not None:
        return plan
    return plan.with_heads([address for address, state in plan.heads.items() if state.constant], constant=False)


def _is_light(lab: Lab, prompt: Prompt) -> bool:
    """True for one text of our own models that is no longer than LIGHT; what writes too takes four times as long."""
    return not is_foreign(lab.name) and len(prompt.ids) <= LIGHT and all(kind.key_row == TEXT and kind.query_row == TEXT
                                                                         for kind in lab.kinds)


def _writes(lab: Lab) -> bool:
    """True if a pass of the model begins with a beam search: the baseline translation."""
    return any(kind.query_row == TARGET for kind in lab.kinds)


def _passes(prompt: Prompt) -> int:
    """Passes that one pass over the prompt is charged as: one per LIGHT tokens."""
    return -(-len(prompt.ids) // LIGHT)


def _beam_passes(prompt: Prompt) -> int:
    """Passes that a beam search is charged as; its time grows with the square of the length."""
    return max(WRITING, round(WRITING * (len(prompt.ids) / LONG_SENTENCE) ** 2))


def _is_large(lab: Lab, prompt: Prompt) -> bool:
    n = len(prompt.ids)
    return bytes_of_maps(lab.kinds, dict.fromkeys((TEXT, TARGET), n)) > LARGE


def layer_of(lab: Lab, seen: Seen, plan: HeadPlan, kind: str, layer: int) -> Layer:
    """One layer's maps; of a sketch by a pass of their own, remembered."""
    if isinstance(seen, Trace):
        return seen.layer(kind, layer)
    plan = usable(lab, plan)
    key = (lab.identity, seen.prompt, plan, kind, layer)
    found = caches.layers.find(key)
    if found is None:
        limits.spend(limits.PASSES)
        with serving.computing():
            found = lab.layer(seen.prompt, plan, kind, layer)
        caches.layers.keep(key, found)
    return found


def tiles_of(seen: Seen, kind: Kind) -> ndarray:
    """(L, H, n, m) uint8, the weights as used, small."""
    if isinstance(seen, Sketch):
        return seen.thumbnails[kind.name]
    maps = seen.weights[kind.name]
    if not kind.attention.is_distribution:  # the largest weight of all takes the strongest colour
        maps = maps / max(float(maps.max()), 1e-9)
    return thumbnails(maps)


def read(lab: Lab, text: str, limit: int | None = None) -> Prompt:
    """The text as the model's task reads it, remembered: a click elsewhere does not read a long text again.

    Args:
        limit: most tokens that are read; the model's own by default.

    Raises:
        InputError: it cannot be read.
    """
    prompt = _read(lab.task, text[:LONGEST_TEXT], limit or lab.limit)
    if isinstance(prompt, InputError):
        raise InputError(str(prompt), prompt.start, prompt.stop)  # a new one: each raise adds frames to what it holds
    return prompt


@caches.remembered()
def _read(task: Reader, text: str, limit: int) -> Prompt | InputError:
    # By task, which models of a family share, and folders of one name do not: a remembered text must not keep a model
    # in memory that has been let go.
    try:
        with serving.aside() if len(text) > LONG else contextlib.nullcontext():
            return task.read(text, limit)
    except InputError as error:
        return error.with_traceback(None)


def facts_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    """models.studies.corpus.lengths.facts, remembered."""
    return _facts(lab.name, prompt, plan)


@caches.remembered()
def _facts(name: str, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    limits.spend(limits.PASSES)
    with serving.computing():
        return lengths.facts(own(name), prompt, plan)
