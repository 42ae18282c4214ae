"""A model's card as a page shows it: what it is, what its attention costs, data, training, numbers, licence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import caches
from app.markdown import plain
from models import catalogue, checkpoint


def card_of(name: str) -> dict[str, Any]:
    """card.json of a model, which need not be loaded; raises CheckpointError where it lacks what is shown."""
    return _card(name, checkpoint.stamp(checkpoint.CHECKPOINTS / name))


@caches.remembered()
def _card(name: str, changed: tuple[int, ...]) -> dict[str, Any]:
    return checkpoint.complete_card(checkpoint.CHECKPOINTS / name)


def draw(card: Mapping[str, Any]) -> None:
    facts, training, attention = card["model"], card["training"], card["attention"]
    st.markdown(f"**{plain(card['name'])}** · {plain(attention['title'])} · {plain(attention['source'])}")
    st.code(attention["formula"], language=None)
    st.markdown(f"{facts['parameters']:,} parameters, {facts['layers']} layers of {facts['heads']} heads, width "
                f"{facts['width']}, {facts['vocabulary']:,} tokens; a typed text may have {facts['longest_text']}.")
    st.table(costs(card))
    if "alpha" in card:
        st.markdown("What the mixture learned, α of each part by layer:")
        st.table([{"layer": layer, **dict(zip(card["alpha"]["parts"], (f"{a:.3f}" for a in row), strict=True))}
                  for layer, row in enumerate(card["alpha"]["by_layer"], 1)])
    st.markdown(f"**Numbers**, on held-out data: {plain(headline(card))}.")
    for seed, metric in card.get("other_seeds", {}).items():
        st.markdown(f"Seed {seed}: {plain(headline(card, metric))}.")
    st.code(card["evaluate"], language="bash")
    st.markdown(f"**Training**: {training['steps']:,} steps of {training['tokens_per_step']:,} tokens, "
                f"{training['optimiser']}, highest rate {training['learning_rate']}, seed {training['seed']}, "
                f"{training['minutes']} minutes on one core"
                + (f", memory loss {training['memory_loss']}" if "memory_loss" in training else "")
                + (f", lengths {', '.join(map(str, training['lengths']))}" if "lengths" in training else "") + ".")
    st.code(training["command"], language="bash")
    st.markdown("**Data**: " + "; ".join(
        plain(source["name"]) + (f" ({plain(source['licence'])}; {plain(source['attribution'])})"
                                 if source["licence"] else "") for source in card["data"])
                + f". **Licence**: {plain(card['licence'])}.")


def costs(card: Mapping[str, Any]) -> list[dict[str, str]]:
    """What the scores cost, beside softmax attention's."""
    cost, rows = card["cost"], []
    for key, what in (("score_parameters", "parameters of the scores"),
                      ("score_multiplications", "multiplications of the scores, one text of the trained length")):
        here, there = cost[key], cost[f"softmax_{key}"]
        rows.append({"": what, "here": f"{here:,}", "softmax attention": f"{there:,}",
                     "ratio": f"{here / there:.2f}"})
    return rows


def headline(card: Mapping[str, Any], metric: dict[str, Any] | None = None) -> str:
    """A card's numbers in words, or those of another seed."""
    return catalogue.task_named(card["task"]).in_words(card["metric"] if metric is None else metric)
