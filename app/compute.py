"""Computes and caches model results for the pages.

Results are cached (app/server/caches.py). Each computation counts against the visitor's limits (app/server/limits.py)
and waits for a turn (app/server/serving.py).
"""

import contextlib
import time

from app.content.effect import AnyTrace as AnyTrace
from app.content.effect import shown_output as shown_output
from app.content.effect import usable as usable
from app.server import caches, limits, serving
from models import HeadPlan, Lab, Trace
from models.errors import InputError
from models.kind import TARGET, TEXT
from models.labs.foreign import is_foreign
from models.loading import own
from models.prompt import LONGEST_TEXT, Prompt, TargetPrompt
from models.tasks.base import Reader
from models.trace import Layer, bytes_of_maps
from studies.corpus import lengths

LARGE = 32 * 2**20  # bytes of attention maps above which a sketch replaces the trace: 12 x 12 heads from 171 tokens on
# Seconds to wait before a beam search, so that the maps, which are already computed, reach the browser first. A beam
# search has many small steps and keeps the GIL from the sending thread. With the wait, maps appear 133 ms instead of
# 176 ms after a key press, the translation after 224 ms instead of 225 ms (benchmarks/browser.py).
PICTURES_FIRST = 0.05
LONG = 2000  # number of characters above which tokenizing would make other visitors wait too long


def traces_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> tuple[AnyTrace, AnyTrace]:
    """Returns the traces without and under the plan, cached, one object for no plan; sketches above LARGE bytes."""
    plan = usable(lab, plan, prompt)
    first, second = (lab.identity, prompt, HeadPlan()), (lab.identity, prompt, plan)
    before, after = caches.traces.find(first), caches.traces.find(second)
    if before is None or after is None:
        missing = [HeadPlan()] * (before is None) + [plan] * (after is None and bool(plan))
        # a decoder's baseline pass begins with a beam search, unless the target is given
        writes = before is None and not isinstance(prompt, TargetPrompt) and any(
            kind.query_row == TARGET for kind in lab.kinds)
        if writes:
            serving.begin_long()
        passes = len(missing) * limits.passes_of(prompt) + (writes and limits.beam_passes_of(prompt))
        limits.spend(limits.PASSES, passes)
        with serving.computing_long() if writes else serving.computing(_is_light(lab, prompt)):
            text = lab.anchored(prompt if before is None else before.prompt)
            is_large = bytes_of_maps(lab.kinds, dict.fromkeys((TEXT, TARGET), len(prompt.ids))) > LARGE
            traces: list[AnyTrace] = [*(lab.sketch if is_large else lab.run)(text, missing)]
        before = traces[0] if before is None else before
        if after is None or not plan:
            after = traces[-1] if plan else before
        caches.traces.keep(first, before)
        caches.traces.keep(second, after)
    return before, after


def rewritten(lab: Lab, prompt: Prompt, plan: HeadPlan) -> str:
    """Returns the output text that an encoder-decoder model generates under a plan, cached."""
    def rewrite() -> str:
        serving.begin_long()
        limits.spend(limits.PASSES, limits.beam_passes_of(prompt))
        with serving.aside():
            time.sleep(PICTURES_FIRST)
        with serving.computing_long():
            return lab.rewrite(prompt, plan)

    return caches.written.get((lab.identity, prompt, plan), rewrite)


def _is_light(lab: Lab, prompt: Prompt) -> bool:
    """Returns True if a pass takes about 20 ms: our own models without a decoder, up to LIGHT tokens."""
    return not is_foreign(lab.name) and len(prompt.ids) <= limits.LIGHT and all(
        kind.key_row == TEXT and kind.query_row == TEXT for kind in lab.kinds)


def layer_of(lab: Lab, seen: AnyTrace, plan: HeadPlan, kind: str, layer: int) -> Layer:
    """Returns the full attention maps of one layer, cached; for a sketch this needs another forward pass."""
    if isinstance(seen, Trace):
        return seen.layer(kind, layer)
    plan = usable(lab, plan, seen.prompt)

    def run() -> Layer:
        limits.spend(limits.PASSES)
        with serving.computing():
            return lab.layer(seen.prompt, plan, kind, layer)

    return caches.layers.get((lab.identity, seen.prompt, plan, kind, layer), run)


def read(lab: Lab, text: str, limit: int | None = None, target: str = "") -> Prompt:
    """Returns the tokenized text, cached for the next click; `target` as in models.run."""
    prompt = _read(lab.task, text[:LONGEST_TEXT], limit or lab.limit)
    if isinstance(prompt, InputError):
        # a copy of the error is raised, because each raise adds frames to an exception
        raise InputError(str(prompt), prompt.start, prompt.stop)
    return lab.forced(prompt, target) if target else prompt


@caches.remembered()
def _read(task: Reader, text: str, limit: int) -> Prompt | InputError:
    # The cache key contains the task and not the model: models of a family share a task, and the cache must not keep an
    # evicted model in memory. Two model folders of the same name have two tasks.
    try:
        with serving.aside() if len(text) > LONG or task.is_slow else contextlib.nullcontext():
            return task.read(text, limit)
    except InputError as error:
        return error.with_traceback(None)


def facts_of(lab: Lab, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    """Returns the result of studies.corpus.lengths.facts for one pass, cached."""
    return _facts(lab.name, prompt, usable(lab, plan, prompt))


@caches.remembered()
def _facts(name: str, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    limits.spend(limits.PASSES)
    with serving.computing():
        return lengths.facts(own(name), prompt, plan)
