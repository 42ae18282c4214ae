"""The About page: what the controls mean, the models with their numbers, the data with their licences."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import models
from app.markdown import plain
from app.panels import card, frame
from app.state import session
from models.checkpoint import CheckpointError

TEXT = Path(__file__).parents[2] / "assets" / "about.md"


def page() -> None:
    frame.in_one_column(_text)


def _text() -> None:
    st.markdown(TEXT.read_text(encoding="utf-8"))
    st.markdown("#### The models")
    cards = []
    for name in models.names():
        try:
            cards.append(card.card_of(name))
        except CheckpointError as error:
            st.error(plain(str(error)))
    st.table([{"model": each["name"], "attention": each["attention"]["title"],
               "parameters": f"{each['model']['parameters']:,}", "held out": card.headline(each)}
              for each in cards])
    for each in cards:
        if each["name"] == session.history().present.model:
            with st.container(border=True):
                card.draw(each)
    st.markdown("#### The data")
    sources = {source["name"]: source for each in cards for source in each["data"] if source["licence"]}
    for source in sources.values():
        st.markdown(f"- {plain(source['name'])}. Licence: {plain(source['licence'])}. {plain(source['attribution'])}.")
    st.markdown("The code and the models' weights are under the MIT licence.")
