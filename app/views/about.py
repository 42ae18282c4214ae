"""The guide: the picture of the Lab, glossary, keys, Python code, method, data and licences, citation."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import models
from app import texts
from app.lab.tools import downloads
from app.markdown import blocks
from app.panels import choosing
from app.state import events
from app.state.lab_state import LabState
from app.texts import _
from components.library import LINK, bibtex
from components.mounting import Part
from models import catalogue
from models.storage.checkpoint import CheckpointError

TEXT = Path(__file__).parents[2] / "assets" / "guide.md"
HEADING = "#### "  # begins a section of the text
MOST = 300  # characters of the text in the Python code
TERM = re.compile(r"- \*\*(.+?)\*\*[:：] ?(.+)")


def parts(state: LabState, problems: Sequence[str]) -> list[Part]:
    sections = [_section(*part.split("\n", 1)) for part in
                TEXT.read_text(encoding="utf-8").split(HEADING)[1:]]
    by_anchor = {section["anchor"]: section for section in sections}
    by_anchor["glossary"]["rows"] = [{"key": key, "term": _(term), "text": _(text)}
                                     for key, (term, text) in texts.glossary().items()]
    by_anchor["python-code"]["code"] = downloads.code_of(state.model, state.plan, state.text[:MOST])
    rows, damaged = _data()
    by_anchor["data"]["rows"] = rows
    by_anchor["citing"] |= {"rows": _sources(), "code": bibtex().replace(f",\n  url = {{{LINK}}}", "")}
    header = {"sections": sections, "problems": [_(problem) for problem in [*problems, *damaged]]}
    return [Part("guide", "guide", header, on_event=events.on_start)]


def _section(title: str, body: str) -> dict[str, Any]:
    """Returns a section; its anchor is the same in every language. In texts, names are between asterisks."""
    translated = [_(block) for block in blocks(body)]
    terms = [found for found in map(TERM.fullmatch, translated) if found]
    return {"anchor": re.sub(r"\W+", "-", title.lower()), "title": _(HEADING + title).removeprefix(HEADING),
            "texts": [part for part in translated if not TERM.fullmatch(part)], "code": "",
            "rows": [{"key": "", "term": found[1], "text": found[2]} for found in terms]}


def _data() -> tuple[list[dict[str, str]], list[str]]:
    """Returns the data sets of all cards, and a message for each card that cannot be read."""
    sources: dict[str, Any] = {}
    damaged: list[str] = []
    for name in models.names():
        try:
            sources |= {source["name"]: source for source in choosing.card_of(name)["data"] if source["licence"]}
        except CheckpointError as error:
            damaged.append(str(error))
    return [{"key": "", "term": _(source["name"]), "text": f"{source['licence']}. {source['attribution']}"}
            for source in sources.values()], damaged


def _sources() -> list[dict[str, str]]:
    """Returns each publication with the attention types that it introduced and that our models have."""
    titles: dict[str, dict[str, None]] = {}
    for entry in filter(None, map(catalogue.describe, catalogue.names())):
        titles.setdefault(entry.attention.published, {})[_(entry.attention.title)] = None
    return [{"key": "", "term": published, "text": "; ".join(names)} for published, names in titles.items()]
