"""The model card of a released model."""

from collections.abc import Mapping
from typing import Any

from app.server import caches
from models import catalogue
from models.storage import checkpoint


def card_of(name: str) -> dict[str, Any]:
    """Returns card.json of a model. The model need not be loaded.

    Args:
        name: name of the model.

    Returns:
        The card.

    Raises:
        CheckpointError: the card cannot be read or lacks an entry that the panel shows.
    """
    return _card(name, checkpoint.stamp(checkpoint.folder_of(name)))


@caches.remembered()
def _card(name: str, changed: tuple[int, ...]) -> dict[str, Any]:
    return catalogue.complete_card(checkpoint.folder_of(name))


def headline(card: Mapping[str, Any], metric: dict[str, Any] | None = None) -> str:
    """Returns a card's main metrics as a sentence.

    Args:
        card: card.json of a model.
        metric: metrics of another seed; default: the metrics of the card.

    Returns:
        The sentence.
    """
    return catalogue.metric_of(card["task"]).describe(card["metric"] if metric is None else metric)
