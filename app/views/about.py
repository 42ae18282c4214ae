"""The About page: the meaning of the controls, the models with their metrics, the data with their licences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

import models
from app import texts
from app.markdown import linked, plain, translated
from app.panels.choice import card
from app.panels.page import frame
from app.state import session
from app.texts import _
from models.storage.checkpoint import CheckpointError

TEXT = Path(__file__).parents[2] / "assets" / "about.md"


def page() -> None:
    frame.in_one_column(_text, "stretch")


def _text() -> None:
    cards = []
    for name in models.names():
        try:
            cards.append(card.card_of(name))
        except CheckpointError as error:
            st.error(plain(_(str(error))))
    with st.container(key="about"):  # style.css stacks the parts on a narrow screen
        text, facts = st.columns([46, 54], gap="large")
    with text:
        st.markdown(linked(translated(TEXT.read_text(encoding="utf-8"))))
    with facts:
        _facts(cards)
    with st.container(key="glossary"):  # style.css sets the glossary in columns
        st.markdown(_("#### Glossary"))
        st.markdown("\n".join(f"- **{_(term)}**: {_(text)}" for term, text in texts.glossary().values()))


def numbers(each: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Returns the title of a card's held-out metrics, and column -> formatted metric.

    A metric that is not given by text length is one sentence in a single column.
    """
    metric = each["metric"]
    if "accuracy_by_events" in metric:
        return _("right answers, by number of events in the text"), {n: f"{share:.1%}" for n, share in
                                                         metric["accuracy_by_events"].items()}
    if "accuracy_by_length" in metric:
        return _("hidden tokens predicted right, by length of the text in tokens"), {n: f"{share:.1%}" for n, share in
                                                                       metric["accuracy_by_length"].items()}
    if "perplexity_books" in metric:
        return _("perplexity"), {_("all"): f"{metric['perplexity']:.1f}",
                                 _("books"): f"{metric['perplexity_books']:.1f}",
                                 _("stories"): f"{metric['perplexity_stories']:.1f}"}
    return "", {_("held out"): _(card.headline(each))}


def _facts(cards: Sequence[dict[str, Any]]) -> None:
    st.markdown(_("#### The models"))
    families: dict[str, list[dict[str, Any]]] = {}
    for each in cards:
        families.setdefault(each["task"], []).append(each)
    for task, members in families.items():
        what, _first = numbers(members[0])
        st.markdown(f"**{plain(task)}**" + (f": {plain(what)}" if what else ""))
        st.table([{_("model"): f"{plain(_(each['attention']['title']))} `{each['name']}`",
                   _("parameters"): f"{each['model']['parameters']:,}", **numbers(each)[1]} for each in members],
                 border="horizontal", hide_index=True)
    for each in cards:
        if each["name"] == session.history().present.model:
            with st.container(border=True):
                card.draw(each)
    st.markdown(_("#### The data"))
    sources = {source["name"]: source for each in cards for source in each["data"] if source["licence"]}
    for source in sources.values():
        st.markdown(_("- {name}. Licence: {licence}. {attribution}.", name=plain(_(source["name"])),
                      licence=plain(source["licence"]), attribution=plain(source["attribution"])))
    st.markdown(_("The code and the models' weights are under the MIT licence."))
