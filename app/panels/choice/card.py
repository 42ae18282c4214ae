"""The model card of a released model."""

from collections.abc import Mapping
from typing import Any

from app.server import caches
from models import catalogue
from models.storage import checkpoint


def card_of(name: str) -> dict[str, Any]:
    """Returns card.json of a model, which need not be loaded. A damaged card raises CheckpointError."""
    return _card(name, checkpoint.stamp(checkpoint.folder_of(name)))


@caches.remembered()
def _card(name: str, changed: tuple[int, ...]) -> dict[str, Any]:
    return catalogue.complete_card(checkpoint.folder_of(name))


def headline(card: Mapping[str, Any], metric: dict[str, Any] | None = None) -> str:
    """Returns the main metrics of a card, or those of another seed, as a sentence."""
    return catalogue.metric_of(card["task"]).describe(card["metric"] if metric is None else metric)
