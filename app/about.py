"""The About page: what the controls mean, the models with their numbers, the data with their licences."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import models
from app import header, serving, session
from app.text import plain
from models.checkpoint import CheckpointError

TEXT = Path(__file__).parent.parent / "assets" / "about.md"


@st.fragment
def page() -> None:
    session.fill_widgets()
    header.draw(session.history())
    with st.container(width=960):
        _text()


def _text() -> None:
    st.markdown(TEXT.read_text(encoding="utf-8"))
    st.markdown("#### The models")
    cards = []
    for name in models.names():
        try:
            cards.append(serving.load(name).card)
        except CheckpointError as error:
            st.error(plain(str(error)))
    st.table([{"model": card["name"], "attention": card["attention"]["title"],
               "parameters": f"{card['model']['parameters']:,}", "held out": headline(card["metric"])}
              for card in cards])
    st.markdown("#### The data")
    sources = {source["name"]: source for card in cards for source in card["data"] if source["licence"]}
    for source in sources.values():
        st.markdown(f"- {plain(source['name'])}. Licence: {plain(source['licence'])}. {plain(source['attribution'])}.")
    st.markdown("The code and the models' weights are under the MIT licence.")


def headline(metric: dict) -> str:
    """A card's first number in words."""
    if "perplexity" in metric:
        return (f"perplexity {metric['perplexity']} (books {metric['perplexity_books']}, "
                f"stories {metric['perplexity_stories']})")
    share = metric["accuracy_by_events"]
    return "right answers at " + ", ".join(f"{events} events {share[events]:.1%}" for events in ("12", "24", "48"))
