"""The About page: the meaning of the controls, the models with their metrics, the data with their licences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

import models
from app import texts
from app.markdown import linked, plain, translated
from app.panels.choice import card
from app.panels.page import frame
from app.state import session
from app.texts import N_, _
from models import catalogue
from models.storage.checkpoint import CheckpointError

TEXT = Path(__file__).parents[2] / "assets" / "about.md"
HEADING = "#### "  # begins a section of the text
FOLDED = "about-"  # begins the key of a folded section


class Section(NamedTuple):
    """A section of the page.

    Attributes:
        heading: the line of its heading in English, which begins with HEADING.
        draw: displays the content below the heading.
    """

    heading: str
    draw: Callable[[], object]

    @property
    def title(self) -> str:
        """The heading in the visitor's language."""
        return _(self.heading).removeprefix(HEADING)

    @property
    def anchor(self) -> str:
        """The end of a link to the section, the same in every language."""
        return re.sub(r"\W+", "-", self.heading.removeprefix(HEADING).lower())


def page() -> None:
    frame.in_one_column(_text)


def _text() -> None:
    cards = []
    for name in models.names():
        try:
            cards.append(card.card_of(name))
        except CheckpointError as error:
            st.error(plain(_(str(error))))
    introduction, *parts = re.split(f"^(?={HEADING})", TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    explained = [Section(heading, partial(st.markdown, linked(translated(body))))
                 for heading, _line, body in (part.partition("\n") for part in parts)]
    measured = [Section(N_("#### The models"), partial(_models, cards)),
                Section(N_("#### The data"), partial(_data, cards))]
    glossary = Section(N_("#### Glossary"), _glossary)
    st.markdown(linked(translated(introduction)))
    if is_phone(st.context.headers.get("User-Agent")):
        with st.container(key="folded"):  # the closed sections are the list of contents
            for section in (*explained, *measured, glossary):
                # The heading, which style.css hides from the eye, is outside of the expander, because screen readers
                # do not find what is inside of a closed one. listen.js opens the section of the address by this key.
                with st.container(key=f"{FOLDED}{section.anchor}"):
                    st.header(section.title, anchor=section.anchor)
                    with st.expander(section.title):
                        section.draw()
        return
    with st.container(key="contents"):  # style.css sets the list in columns
        st.markdown("\n".join(f"- [{section.title}](#{section.anchor})"
                              for section in (*explained, *measured, glossary)))
    with st.container(key="about"):  # style.css stacks the parts on a narrow screen
        text, facts = st.columns([46, 54], gap="large")
    for place, sections in ((text, explained), (facts, measured), (st.container(), [glossary])):
        with place:
            for section in sections:
                st.header(section.title, anchor=section.anchor)
                section.draw()


def is_phone(agent: str | None) -> bool:
    """Returns True if the browser's identification is that of a phone, where each section of the page is folded.

    Args:
        agent: the header User-Agent; browsers on phones have "Mobi" in it.
    """
    return "Mobi" in (agent or "")


def _glossary() -> None:
    with st.container(key="glossary"):  # style.css sets the glossary in columns
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


def _models(cards: Sequence[dict[str, Any]]) -> None:
    families: dict[str, list[dict[str, Any]]] = {}
    for each in cards:
        families.setdefault(each["task"], []).append(each)
    for task, members in families.items():
        what, _first = numbers(members[0])
        title = plain(_(catalogue.reader_named(task).title))
        st.markdown(f"**{title}**" + (f": {plain(what)}" if what else ""))
        st.table([{_("model"): f"{plain(_(each['attention']['title']))} `{each['name']}`",
                   _("parameters"): f"{each['model']['parameters']:,}", **numbers(each)[1]} for each in members],
                 border="horizontal", hide_index=True)
    for each in cards:
        if each["name"] == session.history().present.model:
            with st.container(border=True):
                card.draw(each)


def _data(cards: Sequence[dict[str, Any]]) -> None:
    sources = {source["name"]: source for each in cards for source in each["data"] if source["licence"]}
    for source in sources.values():
        st.markdown(_("- {name}. Licence: {licence}. {attribution}.", name=plain(_(source["name"])),
                      licence=plain(source["licence"]), attribution=plain(source["attribution"])))
    st.markdown(_("The code and the models' weights are under the MIT licence."))
