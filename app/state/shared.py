"""What several models of one state have between them: a plan and a selection may name what any of them has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from models import catalogue
from models.info import ModelInfo
from models.kind import policies_of as of_kinds
from models.plan import HeadPlan

VIEWS = ("used", "live", "constant", "difference", "mask")


def entries(models: Iterable[str]) -> list[ModelInfo]:
    """Their entries in the catalogue; raises as catalogue.find does."""
    return [catalogue.find(name) for name in models]


def shape_of(models: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Kind -> the most layers and the most heads that one of the models has: where a selection may stand."""
    found: dict[str, tuple[int, int]] = {}
    for entry in entries(models):
        for kind, (layers, heads) in entry.shape.items():
            most = found.get(kind, (0, 0))
            found[kind] = max(layers, most[0]), max(heads, most[1])
    return found


def policies_of(models: Iterable[str]) -> frozenset[str]:
    """The scale policies that at least one of the models knows."""
    return frozenset(policy for entry in entries(models) for policy in of_kinds(entry.kinds))


def views_of(models: Iterable[str]) -> tuple[str, ...]:
    """What can be shown large: the mask F only where one of the models has it."""
    return VIEWS if any(entry.selects for entry in entries(models)) else VIEWS[:-1]


def fit(plan: HeadPlan, models: Sequence[str]) -> tuple[HeadPlan, list[str]]:
    """The part of a plan that at least one of the models has heads and scales for, and what was left out."""
    shape, *beside = (entry.shape for entry in entries(models))
    return plan.within(shape, policies_of(models), beside)
