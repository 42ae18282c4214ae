"""How does the text go on? Continuations by the unmodified model, by the changed one, and with a limited memory."""

import contextlib
from dataclasses import replace
from typing import Any

from app.content import parts
from app.content.tool import Tool
from app.lab import now
from app.lab.view import View
from app.panels.writing import continuation, forgetting
from app.panels.writing.continuation import Continuation
from app.state import visit
from app.state.session import history
from app.texts import N_, _
from components.mounting import Content
from models.capabilities import Forgets
from models.generate.sampling import MAX_SEED, MAX_TEMPERATURE, MIN_TOP_P, Sampling

KEY = "answer.cont"
ACT = {"type": "act", "tool": KEY}
SOON = 1  # ms until the browser asks for more text


def content(view: View, tool: Tool) -> Content:
    """Returns the texts so far; the generation goes on with each event, so that Stop and other events come between."""
    this, state = visit.current(), view.state
    key, reason = continuation.key_of(view.reading, state), continuation.refusal(view.lab, view.reading)
    begins, this.begin_writing = this.begin_writing or this.continuation is None, False
    if begins and reason is None:
        this.continuation = continuation.begin(view.lab, key)
    shown: Continuation | None = this.continuation
    if shown is not None and shown.key != key:
        shown.running, shown = False, None
    running = shown is not None and shown.running
    if shown is not None and running:
        continuation.advance(shown)
        running = shown.running
    control = parts.button(_("Stop") if running else _("Continue the text"), ACT | {"on": not running},
                           off=reason is not None)
    return parts.composed(
        parts.title(_("How does the text go on?"), "", control), parts.row(*_sampling(state.sampling), *_memory(view)),
        *([parts.note(reason)] if reason else []), *(_texts(view, shown) if shown else []),
        **({"again": SOON} if running else {}))


def _sampling(sampling: Sampling) -> list[parts.Part]:
    """Returns the controls of the choice of tokens."""
    way = parts.choice(_("Choice of words"), {"yes": _("Most likely"), "no": _("By chance")},
                       "yes" if sampling.is_greedy else "no", act=ACT, field="greedy")
    if sampling.is_greedy:
        return [way]
    return [way, parts.field(_("temperature"), sampling.temperature, act=ACT | {"temperature": 0}, field="temperature",
                             kind="number", min=0.05, max=MAX_TEMPERATURE, step=0.05),
            parts.field(_("top-p"), sampling.top_p, act=ACT | {"top_p": 0}, field="top_p", kind="number",
                        min=MIN_TOP_P, max=1, step=0.05),
            parts.field(_("seed"), sampling.seed, act=ACT | {"seed": 0}, field="seed", kind="number", min=0,
                        max=MAX_SEED),
            parts.button(_("Another seed"), ACT | {"seed": (sampling.seed + 1) % (MAX_SEED + 1), "on": True})]


def _memory(view: View) -> list[parts.Part]:
    """Returns the choice of the number of tokens that each layer keeps, for a selective model."""
    offered = _budgets(view)
    if not offered:
        return []
    chosen = next(str(i) for i, (_label, budgets) in enumerate(offered) if budgets == view.state.budgets)
    return [parts.choice(_("Memory"), {str(i): label for i, (label, _budget) in enumerate(offered)}, chosen,
                         act=ACT, field="memory", many=True)]


def _budgets(view: View) -> list[tuple[str, tuple[int, ...]]]:
    if not (isinstance(view.lab, Forgets) and view.lab.can_forget):
        return []
    offered = list(forgetting.choices(view.lab).items())
    if view.state.budgets not in [budgets for _label, budgets in offered]:  # a link can contain any budgets
        offered.append((_("Keep {budgets} tokens, by layer", budgets=", ".join(
            map(str, view.state.budgets))), view.state.budgets))
    return offered


def _texts(view: View, shown: Continuation) -> list[parts.Part]:
    if shown.refused:
        return [parts.note(_(shown.refused))]
    start = view.reading.shown[-60:]
    changed = len(shown.steps) > 1
    texts = [parts.written(start, [("new" if not changed else "kept", shown.trained)])]
    if changed:
        texts += [parts.note(_("With your changes")), parts.written(start, [("new", shown.planned)])]
    if shown.remembered:
        layer = min(view.state.selection.layer, len(shown.remembered[-1].kept) - 1)
        pieces = [("new" if is_new and is_kept else "kept" if is_kept else "gone", text)
                  for is_new, is_kept, text in forgetting.pieces(shown.remembered, layer)]
        texts += [parts.note([_("Layer {layer} no longer reads struck words.",
                                layer=layer + 1), " ", forgetting.counts(shown.remembered)]), parts.written("", pieces)]
    return texts


def act(event: dict[str, Any]) -> None:
    """Begins or stops the continuation, or changes how its tokens are chosen; every value is untrusted."""
    this, present = visit.current(), history().present
    if event.get("on") is False and this.continuation is not None:
        this.continuation.running = False
    sampling = present.sampling
    if event.get("greedy") in ("yes", "no"):
        temperature = 0.0 if event["greedy"] == "yes" else sampling.temperature or Sampling().temperature
        sampling = replace(sampling, temperature=temperature)
    numbers = {name: event[name] for name in ("temperature", "top_p", "seed")
               if isinstance(event.get(name), (int, float)) and not isinstance(event[name], bool)}
    with contextlib.suppress(ValueError, OverflowError):
        if "seed" in numbers:
            numbers["seed"] = int(numbers["seed"])
        sampling = replace(sampling, **numbers)
    if sampling != present.sampling:
        history().do(replace(present, sampling=sampling), merge="sampling")
    memory = event.get("memory")
    if isinstance(memory, str) and memory.isdecimal():
        with contextlib.suppress(*now.ERRORS):
            offered = _budgets(now.present())
            if int(memory) < len(offered):
                history().do(replace(history().present, budgets=offered[int(memory)][1]))
                this.begin_writing = True
    if event.get("on") is True:
        this.begin_writing = True


TOOLS = [Tool(KEY, N_("How does the text go on?"), N_("generation"), content,
              fits=lambda view: view.lab.task.writes, act=act)]
