"""Computes attribution, patching and score parts for the page's prompt.

Results are cached. Each computation counts against the visitor's limit of passes and waits for a computing turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.server import caches, limits, serving
from models import HeadPlan, Lab
from models.analysis.answer.head_patching import HeadPatching, patching_of
from models.analysis.relevance import HeadRelevance, relevance_of
from models.prompt import Prompt


def relevance(lab: Lab, prompt: Prompt, plan: HeadPlan, token: int | None, against: int | None,
              position: int) -> HeadRelevance:
    """Returns gradient x input of the linearised model; see models/analysis/relevance.py."""
    return _remembered("relevance", lab, prompt, (plan, token, against, position),
                       lambda: relevance_of(lab, prompt, plan, position, token, against), 3)


def patching(lab: Lab, prompt: Prompt, what: str, position: int | None) -> HeadPatching:
    """Returns the effect of patching each head alone; `prompt.source` is the second prompt."""
    heads = sum(kind.layers * kind.heads for kind in lab.kinds)
    return _remembered("patching", lab, prompt, (what, position),
                       lambda: patching_of(lab, prompt, what, position=position), 2 + heads // 8)


def _remembered(name: str, lab: Lab, prompt: Prompt, given: tuple[Any, ...], compute: Callable[[], Any],
                passes: int) -> Any:
    key = (name, lab.identity, prompt, *given)
    cached = caches.answers.find(key)
    if cached is None:
        limits.spend(limits.PASSES, passes * limits.passes_of(prompt))
        with serving.computing():
            cached = compute()
        caches.answers.keep(key, cached)
    return cached
