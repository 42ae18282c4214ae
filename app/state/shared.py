"""Properties of a group of models. A plan or selection is valid if at least one model of the group has its heads."""

from collections.abc import Iterable, Sequence

from models import catalogue
from models.info import ModelInfo
from models.kind import largest_shape
from models.kind import policies_of as of_kinds
from models.plan import HeadPlan


def entries(models: Iterable[str]) -> list[ModelInfo]:
    return [catalogue.find(name) for name in models]


def shape_of(models: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Returns attention block -> (layers, heads), each the maximum over the models; limits the valid selections."""
    return largest_shape(entry.shape for entry in entries(models))


def policies_of(models: Iterable[str]) -> frozenset[str]:
    """Returns the scale policies that at least one of the models supports."""
    return frozenset(policy for entry in entries(models) for policy in of_kinds(entry.kinds))


def fit(plan: HeadPlan, models: Sequence[str]) -> tuple[HeadPlan, list[str]]:
    """Returns the part of a plan that at least one model supports, and a description of each omitted part."""
    shape, *beside = (entry.shape for entry in entries(models))
    return plan.within(shape, policies_of(models), beside)


def fits_memory(model: str, budgets: tuple[int, ...]) -> bool:
    """Returns True for a model with selective attention and one budget per layer."""
    (entry,) = entries([model])
    return entry.selects and len(budgets) == entry.kinds[0].layers
