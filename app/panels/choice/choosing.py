"""Titles, labels and order of the models of the catalogue, and the models that the Lab suggests beside a model."""

from collections.abc import Sequence

from app.texts import _
from models import catalogue
from models.info import ModelInfo
from models.labs import foreign
from models.labs.foreign.errors import HUB

# the order of tasks in the table of models; tasks that are not listed follow
FIRST_TASKS = ("stories", "masked", "assignment", "translation", "summary", "dialogue")
# labels of the models whose comparison is most instructive, best first
TELLING = ("softmax", "softmax, one pass", "selective", "random", "dense", "GAU relu²/n", "log n")


def entries(names: Sequence[str]) -> list[ModelInfo]:
    """Returns the catalogue entries of models; models that cannot be read are omitted."""
    return [entry for name in names if (entry := catalogue.describe(name))]


def name_of(entry: ModelInfo) -> str:
    """Returns a model's title: its attention type and its difference from the base model of this attention type."""
    return entry.name.removeprefix(HUB) if foreign.is_foreign(entry.name) else _(entry.title)


def model_label(name: str) -> str:
    """Returns a label of one or two words that distinguishes a model within its family, in the visitor's language."""
    info = catalogue.describe(name)
    return name if info is None else _(info.label)


def informative_models(first: str, family: Sequence[ModelInfo]) -> list[ModelInfo]:
    """Returns the models whose comparison with a model is most informative.

    Models with the same number of training steps come first. Models with another number of steps are included only if
    they have another attention type.
    """
    own = next((entry for entry in family if entry.name == first), None)
    if own is None:
        return []
    by_label = {str(entry.label): entry for entry in family if entry is not own
                 and (entry.steps == own.steps or entry.kinds[0].attention != own.kinds[0].attention)}
    return sorted((by_label[label] for label in TELLING if label in by_label),
                  key=lambda entry: entry.steps != own.steps)
