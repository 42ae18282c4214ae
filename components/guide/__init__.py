"""The guide: sections of paragraphs, terms with their explanations, and code."""

from collections.abc import Sequence
from typing import TypedDict

from components.mounting import Content, OnEvent, component


class Row(TypedDict):
    """A term and its explanation. `key` is the term's key in the glossary, or empty."""

    key: str
    term: str
    text: str


class Section(TypedDict):
    """A section. In texts, names are between asterisks and code is between backticks."""

    anchor: str
    title: str
    texts: list[str]
    rows: list[Row]
    code: str


@component("guide")
def guide(*, key: str, sections: Sequence[Section], problems: Sequence[str], on_event: OnEvent) -> Content:
    """Displays the guide. An address can end in `#` and the anchor of a section, or `#term-` and a glossary key.

    Args:
        key: key of the mount.
        sections: the sections; components/guide/guide.js adds the keys of the Lab to the section `keys`.
        problems: messages above the guide.
        on_event: called with {type: lab, plan: "", sequence} for the first minute.
    """
    return {"sections": list(sections), "problems": list(problems)}, {}
