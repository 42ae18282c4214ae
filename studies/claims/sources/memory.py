"""Claim 3 on memory: how many keys of its context selective attention can drop at equal perplexity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy import ndarray

from models.messages import N_, listed, message
from studies.claims import Statement, tables
from studies.claims.contrast import judged, of_texts
from studies.claims.evidence import Evidence
from studies.claims.verdict import NO, TOLERANCE, UNCLEAR, UNKNOWN, YES, Check, below_in_texts

MOST = 2.0  # the factor on the memory must be above this: more than half of the memory is dropped
Windows = dict[float, ndarray]  # factor -> (W,) losses of the same windows, nats

CURVES = {"selective": ("selective", "chosen"), N_("selective, oldest tokens dropped"): ("selective", "chosen-oldest"),
          N_("memory loss"): ("selective-memory", "chosen"),
          N_("memory loss, oldest tokens dropped"): ("selective-memory", "chosen-oldest"),
          N_("softmax, oldest tokens dropped"): ("softmax", "chosen")}
# reduction factors in the source, at a context of 512; the first was not checked in the paper
THEIRS = {"selective": 5.0, "memory loss": 16.0}
LONGER = ("softmax-512", "selective-512", "selective-memory-512")  # models with a context of 512


def statements(evidence: Evidence) -> list[Statement]:
    """Returns the statement at the context of all stories models, and that at the source's context and factors."""
    return [_statement(evidence, "", _most, len(THEIRS), "selective-memory", most=MOST, margin=TOLERANCE),
            _statement(evidence, "-512", _as_theirs, 1, "selective-memory-512", plain=THEIRS["selective"],
                       trained=THEIRS["memory loss"])]


Wanted = Callable[[Mapping[str, "Reach | None"]], list[Check]]


def _statement(evidence: Evidence, context: str, wanted: Wanted, best_of: int, key: str, **values: Any) -> Statement:
    """Returns the statement at one context."""
    readings = {title: (f"{name}{context}", way) for title, (name, way) in CURVES.items()}
    curves = {title: evidence.memory(f"stories-{name}", way) for title, (name, way) in readings.items()}
    limit = curves["softmax, oldest tokens dropped"].get(1)
    comparable = {title: evidence.is_compared(f"stories-{name}") and evidence.is_compared(f"stories-softmax{context}")
                  for title, (name, _) in readings.items()}
    windows = {title: evidence.memory_losses(f"stories-{name}", way) for title, (name, way) in readings.items()}
    whole = windows["softmax, oldest tokens dropped"].get(1)
    reached = {title: _reach(windows[title], whole if comparable[title] else None, best_of) for title in THEIRS}
    # without a sufficient memory there is no factor at which to test F
    checks = wanted(reached) + [_by_mask(title, reach.factor if reach else None, windows[title],
                                         windows[f"{title}, oldest tokens dropped"])
                                for title, reach in reached.items() if reach is None or reach.factor > 1]
    title, factor = ("memory loss", 16) if context else ("selective", 4)
    kept = windows[title].get(factor) if comparable[title] else None
    estimate = of_texts(None if kept is None or whole is None else kept - whole)
    factors = sorted({factor for curve in curves.values() for factor in curve})
    names = {title: message("{title} (1/{factor:g} is enough)", title=message(title), factor=reach.factor)
             for title, reach in reached.items() if reach is not None and reach.factor > 1}
    table = [{N_("perplexity with 1 / x memory"): names.get(title, message(title))} | {
        f"{factor:g}x": f"{curve[factor]:.2f}" if factor in curve else tables.NOTHING for factor in factors}
        for title, curve in curves.items() if curve]
    points = [{"name": message(title), "x": factor, "seed": 0, "value": round(value, 3)}
              for title, curve in curves.items() for factor, value in curve.items()]
    chart = tables.chart("lines", points, message("perplexity"), N_("{name} {x:g}x {value:.2f}"),
                         message("full memory / memory kept"),
                         (limit, message("softmax with full memory")) if limit else None)
    models = " ".join(f"stories-{name}{context}" for name in ("selective", "selective-memory", "softmax"))
    return judged(
        key, _ours(curves, reached, limit), estimate, checks, table, chart,
        f"for name in {models}; do python -m studies.corpus.forgetting $name; done\n"
            "python -m studies.claims",
        **values)


def _ours(curves: Mapping[str, Mapping[float, float]], reached: Mapping[str, Reach | None], limit: float | None) -> str:
    """Returns the perplexities at the smallest sufficient memory, and softmax's with full memory."""
    parts = []
    for title, reach in reached.items():
        if reach is not None and (factor := reach.factor or 1.0) in curves[title]:
            value = curves[title][factor]
            parts.append(message("{title} with 1/{factor:g} of the memory: {value:.2f}", title=message(title),
                                 factor=factor, value=value) if factor > 1 else
                         message("{title} with full memory: {value:.2f}", title=message(title), value=value))
    if limit is not None:
        parts.append(message("{title} with full memory: {value:.2f}", title=message("softmax"), value=limit))
    return message("perplexity: {values}", values=listed(parts)) if parts else tables.NOTHING


def _most(reached: Mapping[str, Reach | None]) -> list[Check]:
    """Tests whether any of the models can drop as much of its memory as the statement claims."""
    more = math.nextafter(MOST, math.inf)
    parts = [Check("", UNKNOWN) if reach is None else reach.at_least(more) for reach in reached.values()]
    best = min(parts, key=lambda part: (YES, UNKNOWN, UNCLEAR, NO).index(part.outcome))
    known = max((reach.factor for reach in reached.values() if reach is not None), default=0)
    return [replace(best, what=message("over half dropped, here {known:g}x", known=known))]


def _as_theirs(reached: Mapping[str, Reach | None]) -> list[Check]:
    checks = []
    for title, reach in reached.items():
        part = Check("", UNKNOWN) if reach is None else reach.at_least(THEIRS[title])
        what = message("{title}: {theirs:g}x less memory, here {known:g}x", title=message(title), theirs=THEIRS[title],
                       known=reach.factor) if reach and reach.factor else \
            message("{title}: {theirs:g}x less memory, here not even 1x", title=message(title),
                    theirs=THEIRS[title])
        checks.append(replace(part, what=what))
    return checks


def _by_mask(title: str, factor: float | None, chosen: Windows, oldest: Windows) -> Check:
    """Tests whether dropping keys by the mask F costs less than dropping the oldest keys."""
    what = message("{title}: better than dropping the oldest", title=message(title))
    if factor is None or factor not in chosen or factor not in oldest:
        return Check(what, UNKNOWN)
    return below_in_texts(message("{what} at {factor:g}x", what=what, factor=factor), chosen[factor] - oldest[factor])


@dataclass(frozen=True)
class Reach:
    """The largest reduction of the memory at which the loss stays within the margin."""

    # the largest factor up to which the loss is clearly no worse than softmax's with full memory; 0 if there is none
    factor: float
    lost: float  # the smallest factor at which the loss is clearly worse; infinite if there is none
    measured: Mapping[float, Check]  # factor -> test at this factor

    def at_least(self, wanted: float) -> Check:
        """Tests whether 1 / wanted of the memory is sufficient."""
        shows = min((factor for factor in self.measured if factor >= wanted), default=math.inf)
        tested = [check for factor, check in self.measured.items() if factor <= shows]
        outcome = YES if self.factor >= wanted else NO if self.lost <= shows < math.inf else UNCLEAR
        last = tested[-1] if tested else Check("", UNCLEAR)
        return replace(last, outcome=outcome, p_true=max((part.p_true or 0.0 for part in tested), default=1.0),
                       p_false=min(1.0, len(tested) * min((part.p_false or 0.0 for part in tested), default=1.0)))


def _reach(windows: Windows, whole: ndarray | None, best_of: int = 1) -> Reach | None:
    """Returns the Reach of a model, tested window by window; None if not measured."""
    if not windows or whole is None:
        return None
    tested = {factor: below_in_texts("", windows[factor] - whole, math.log1p(TOLERANCE), best_of)
              for factor in sorted(windows)}
    enough = list(itertools.takewhile(lambda factor: tested[factor].outcome == YES, tested))
    return Reach(max(enough, default=0.0), min((factor for factor, check in tested.items() if check.outcome == NO),
                                               default=math.inf), tested)
