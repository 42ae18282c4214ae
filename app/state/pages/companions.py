"""Which models the Lab suggests beside a model."""

from collections.abc import Sequence

from models.info import ModelInfo

# labels of the models whose comparison is most instructive, best first
TELLING = ("softmax", "softmax, one pass", "selective", "random", "dense", "GAU relu²/n", "log n")


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
