"""The panel that shows a model card: architecture, cost of attention, data, training, metrics, licence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.markdown import linked, plain
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


def draw(card: Mapping[str, Any]) -> None:
    facts, training, attention = card["model"], card["training"], card["attention"]
    st.markdown(linked(f"**{plain(card['name'])}** · {plain(_(attention['title']))} · {plain(attention['source'])}"))
    st.code(_(attention["formula"]), language=None, wrap_lines=True)
    st.markdown(_("{parameters:,} parameters, {layers} layers of {heads} heads, width {width}, vocabulary of "
                  "{vocabulary:,} tokens; a text may have at most {longest} tokens.", parameters=facts["parameters"],
                  layers=facts["layers"], heads=facts["heads"], width=facts["width"], vocabulary=facts["vocabulary"],
                  longest=facts["longest_text"]))
    st.table(costs(card))
    if "alpha" in card:
        st.markdown(_("Learned weight α of each part of the mixture, by layer:"))
        st.table([{_("layer"): layer, **dict(zip(card["alpha"]["parts"], (f"{a:.3f}" for a in row), strict=True))}
                  for layer, row in enumerate(card["alpha"]["by_layer"], 1)])
    st.markdown(_("**Numbers**, on held-out data: {numbers}.", numbers=plain(_(headline(card)))))
    for seed, metric in card.get("other_seeds", {}).items():
        st.markdown(_("Seed {seed}: {numbers}.", seed=seed, numbers=plain(_(headline(card, metric)))))
    st.code(card["evaluate"], language="bash", wrap_lines=True)
    st.markdown(_("**Training**: {steps:,} steps of {tokens:,} tokens, {optimiser}, peak learning rate {rate}, seed "
                  "{seed}, {minutes} minutes on one core.", steps=training["steps"], tokens=training["tokens_per_step"],
                  optimiser=training["optimiser"], rate=training["learning_rate"], seed=training["seed"],
                  minutes=training["minutes"]))
    if "memory_loss" in training:
        st.markdown(_("Memory loss: {weight}.", weight=training["memory_loss"]))
    if "strength" in training:
        left = ", ".join(_("{kind} {n}", kind=_(block.title), n=training["heads_left"][block.name])
                         for block in catalogue.find(card["name"]).kinds if block.name in training["heads_left"])
        st.markdown(_("Trained further from {start}, with learned gates of strength {strength}. Heads left: {left}.",
                      start=plain(training["start"]), strength=training["strength"], left=left))
    if "lengths" in training:
        st.markdown(_("Lengths of the texts: {lengths}.", lengths=", ".join(map(str, training["lengths"]))))
    st.code(training["command"], language="bash", wrap_lines=True)
    data = "; ".join(plain(_(source["name"])) + (f" ({plain(source['licence'])}; {plain(source['attribution'])})"
                                                 if source["licence"] else "") for source in card["data"])
    st.markdown(linked(_("**Data**: {data}. **Licence**: {licence}.", data=data, licence=plain(card["licence"]))))


def costs(card: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the cost of computing the attention scores, compared with softmax attention.

    Args:
        card: card.json of a model.

    Returns:
        Rows of a table.
    """
    cost, rows = card["cost"], []
    for key, what in (("score_parameters", N_("parameters that compute the scores")),
                      ("score_multiplications", N_("multiplications to compute the scores of one text of the trained "
                                                   "length"))):
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
