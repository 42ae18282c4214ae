"""The guide: its sections, its length, and that its code, names and links are true."""

import re
from typing import Any

import numpy
import pytest

from app import texts
from app.lab.tools import TOOLS
from app.state.lab_state import PAGES
from app.texts import LANGUAGES
from models import HeadPlan, catalogue, load, run
from tests.app.test_pages import opened, sent

MOST_WORDS = 2_500
GONE = ("Explore", "Compare", "Pruning", "Length", "Results", "Your model", "Heads page")  # former pages


def sections(**state: str) -> dict[str, dict[str, Any]]:
    """Returns anchor -> section of the guide."""
    app = opened(page="about", **state)
    assert not app.exception and not app.error
    return {section["anchor"]: section for section in sent(app, "guide")[0]["sections"]}


def shown(section: dict[str, Any]) -> list[str]:
    return [section["title"], *section["texts"],
            *(text for row in section["rows"] for text in (row["term"], row["text"]))]


def test_the_guide_is_short_and_names_no_former_page():
    everything = [text for section in sections().values() for text in shown(section)]
    keys = 40  # words that components/guide/guide.js adds from the Lab's list of keys
    assert 1_000 < sum(len(text.split()) for text in everything) + keys <= MOST_WORDS
    assert not [text for text in everything for name in GONE if re.search(rf"\*{name}\*|[Pp]age {name}", text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_link_to_a_section_or_a_term_is_the_same_in_every_language(language: str):
    found = sections(lang=language)
    assert list(found) == ["what-you-see", "what-you-can-do", "glossary", "keys", "python-code", "method", "data",
                           "citing"]
    assert [row["key"] for row in found["glossary"]["rows"]] == list(texts.glossary())
    known = texts.catalogue("zh")
    terms = [term if language == "en" else known[term].string for term, _text in texts.glossary().values()]
    assert [row["term"] for row in found["glossary"]["rows"]] == terms
    # a list item of another form would become a paragraph
    assert not [text for section in found.values() for text in section["texts"] if text.startswith("-")]


def test_the_places_of_the_guide_are_pages():
    places = {row["term"] for row in sections()["what-you-can-do"]["rows"]} - {"Share"}
    assert places <= {"Findings", "Models"} | set(PAGES.values())


def test_the_guide_names_data_and_licences():
    text = " ".join(shown(sections()["data"]))
    for name in ("Standard Ebooks", "CC0", "TinyStories", "CDLA", "Eldan", "MIT", "ntsb.gov", "Tatoeba"):
        assert name in text


def test_every_attention_type_of_our_models_has_its_source():
    rows = {row["term"]: row["text"] for row in sections()["citing"]["rows"]}
    for name in catalogue.names():
        traits = catalogue.find(name).attention
        assert traits.title in rows[traits.published].split("; ")
    assert sections()["citing"]["code"].startswith("@software{") and "LINK" not in sections()["citing"]["code"]


def test_the_code_computes_the_present_state():
    given = {"model": "stories-softmax", "text": 'He said "no" and\\n', "plan": "self-2.4g0"}
    found: dict[str, Any] = {}
    exec(sections(**given)["python-code"]["code"], found)
    expected = run(load(given["model"]), given["text"], HeadPlan.parse(given["plan"]))
    assert numpy.array_equal(found["trace"].weights["self"], expected.weights["self"])
    assert found["plan"] == HeadPlan.parse(given["plan"])


def test_the_guide_reports_what_a_link_could_not_open():
    app = opened(page="about", claim="*nope*")
    (problem,) = sent(app, "guide")[0]["problems"]
    assert "*nope*" in problem


def test_the_tip_of_every_tool_is_in_the_glossary():
    tips = {tool.tip for tool in TOOLS if tool.tip}
    assert len(tips) > 10 and tips <= set(texts.glossary())
