"""The panel that shows a model card: architecture, cost of attention, data, training, metrics, licence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.server import caches
from app.texts import N_, _
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


def costs(card: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the cost of computing the attention scores, compared with softmax attention.

    Args:
        card: card.json of a model.

    Returns:
        Rows of a table.
    """
    cost, rows = card["cost"], []
    for key, what in (("score_parameters", N_("parameters that compute the scores")),
                      ("score_multiplications", N_("multiplications for the scores of one text of trained length"))):
        own, softmax = cost[key], cost[f"softmax_{key}"]
        rows.append({"": _(what), _("here"): f"{own:,}", _("softmax attention"): f"{softmax:,}",
                     _("ratio"): f"{own / softmax:.2f}"})
    return rows


def headline(card: Mapping[str, Any], metric: dict[str, Any] | None = None) -> str:
    """Returns a card's main metrics as a sentence.

    Args:
        card: card.json of a model.
        metric: metrics of another seed; default: the metrics of the card.

    Returns:
        The sentence.
    """
    return catalogue.metric_of(card["task"]).describe(card["metric"] if metric is None else metric)
