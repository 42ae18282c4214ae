"""Titles and order of the models of the catalogue."""

from collections.abc import Sequence

from app.texts import _
from models import catalogue
from models.info import ModelInfo
from models.labs import foreign
from models.labs.foreign.errors import HUB

# the order of tasks in the table of models; tasks that are not listed follow
FIRST_TASKS = ("stories", "masked", "assignment", "translation", "summary", "dialogue")


def entries(names: Sequence[str]) -> list[ModelInfo]:
    """Returns the catalogue entries of models; models that cannot be read are omitted."""
    return [entry for name in names if (entry := catalogue.describe(name))]


def name_of(entry: ModelInfo) -> str:
    """Returns a model's title: its attention type and its difference from the base model of this attention type."""
    return entry.name.removeprefix(HUB) if foreign.is_foreign(entry.name) else _(entry.title)
