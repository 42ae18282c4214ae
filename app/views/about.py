"""The About page: what the controls mean, the models with their numbers, the data with their licences."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import models
from app import texts
from app.markdown import linked, plain, translated
from app.panels import card, frame
from app.state import session
from app.texts import _
from models.checkpoint import CheckpointError

TEXT = Path(__file__).parents[2] / "assets" / "about.md"


def page() -> None:
    frame.in_one_column(_text)


def _text() -> None:
    st.markdown(linked(translated(TEXT.read_text(encoding="utf-8"))))
    st.markdown(_("#### Words"))
    st.markdown("\n".join(f"- **{_(term)}**: {_(text)}" for term, text in texts.glossary().values()))
    st.markdown(_("#### The models"))
    cards = []
    for name in models.names():
        try:
            cards.append(card.card_of(name))
        except CheckpointError as error:
            st.error(plain(_(str(error))))
    st.table([{_("model"): each["name"], _("attention"): _(each["attention"]["title"]),
               _("parameters"): f"{each['model']['parameters']:,}", _("held out"): _(card.headline(each))}
              for each in cards])
    for each in cards:
        if each["name"] == session.history().present.model:
            with st.container(border=True):
                card.draw(each)
    st.markdown(_("#### The data"))
    sources = {source["name"]: source for each in cards for source in each["data"] if source["licence"]}
    for source in sources.values():
        st.markdown(linked(_("- {name}. Licence: {licence}. {attribution}.", name=plain(_(source["name"])),
                             licence=plain(source["licence"]), attribution=plain(source["attribution"]))))
    st.markdown(_("The code and the models' weights are under the MIT licence."))
