"""The guide, the page for teachers and the table of models: their numbers, names and links are true."""

import re
from typing import Any
from urllib.parse import parse_qsl

import numpy
import pytest

from app import texts
from app.lab.tools import TOOLS
from app.panels import choosing
from app.state import visit
from app.state.history import History
from app.state.lab_state import LAB, PAGES, LabState
from app.state.lessons import CHOICES, step_at
from app.state.link import read_query
from app.texts import LANGUAGES
from app.views.teachers import PLAN
from models import HeadPlan, catalogue, load, run
from tests.app.test_pages import opened, sent
from tests.app.visitors import visiting
from tools.extract import template

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


def test_the_guide_is_short_and_names_pages_data_and_licences():
    everything = [text for section in sections().values() for text in shown(section)]
    keys = 40  # words that components/guide/guide.js adds from the Lab's list of keys
    assert 1_000 < sum(len(text.split()) for text in everything) + keys <= MOST_WORDS
    assert not [text for text in everything for name in GONE if re.search(rf"\*{name}\*|[Pp]age {name}", text)]
    places = {row["term"] for row in sections()["what-you-can-do"]["rows"]} - {"Share"}
    assert places <= {"Findings", "Models"} | set(PAGES.values())
    text = " ".join(shown(sections()["data"]))
    for name in ("Standard Ebooks", "CC0", "TinyStories", "CDLA", "Eldan", "MIT", "ntsb.gov", "Tatoeba"):
        assert name in text


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


def test_the_class_takes_45_minutes_and_each_of_its_steps_is_a_link_that_opens_it():
    assert sum(part.minutes for part in PLAN) == 45
    app = opened(page="teachers")
    assert not app.exception
    text = "\n".join(its.value for its in app.markdown)
    folded = "\n".join(its.value for answer in app.expander for its in answer.markdown)
    places = [place for part in PLAN for place in part.steps]
    links = re.findall(r"\]\([^)?]*\?([^)]+)\)", text)
    states = [read_query(dict(parse_qsl(link)))[0] for link in links]
    assert [state.lesson for state in states] == places and all(state.teach for state in states)
    for place in places:
        question = step_at(place).question
        if question is not None:
            answer = f"**({CHOICES[question.right]})** {question.because}"
            assert answer in folded and question.ask in text and question.ask not in folded


def test_links_of_the_page_for_teachers_keep_the_language_and_lessons_lead_there():
    text = "\n".join(its.value for its in opened(page="teachers", lang="zh").markdown)
    links = re.findall(r"\?lesson=[a-z]+\.\d&teach=1&lang=zh\)", text)
    assert len(links) == sum(len(part.steps) for part in PLAN)
    app = opened(page="lessons")
    with visit.use(app.session_state["visit"]) as now:
        now.channel.receive([("lessons", {"type": "teachers", "sequence": 1})])
    assert not app.run().exception and any("45" in its.value for its in app.markdown)


def test_the_plan_names_buttons_and_places_that_exist():
    texts = {text.id for text in template()}
    named = [name for part in PLAN for name in re.findall(r"\*([^*]+)\*", part.what)]
    assert len(named) >= 3 and set(named) <= texts


def test_every_model_has_one_dot_in_the_row_of_its_attention_and_the_column_of_its_task():
    shown = sent(opened(page="yours", model="stories-selective"), "models")[0]
    found = {dot["name"]: (row["title"], task, dot["score"]) for row in shown["rows"]
             for task, dots in zip(shown["tasks"], row["cells"], strict=True) for dot in dots}
    expected = {entry.name: (entry.attention.title, entry.task.title, choosing.headline(choosing.card_of(entry.name)))
                for entry in map(catalogue.find, catalogue.names())}
    assert found == expected and shown["rows"][0]["title"] == "Softmax" and shown["present"] == "stories-selective"


@pytest.mark.parametrize(("event", "model"), [
    ({"type": "model", "model": "masked-softmax"}, "masked-softmax"), ({"type": "model", "model": "none"}, ""),
    ({"type": "model", "model": ["masked-softmax"]}, ""), ({"type": "x", "model": "masked-softmax"}, "")])
def test_a_press_opens_the_model_in_the_lab(event: dict[str, Any], model: str, monkeypatch: pytest.MonkeyPatch):
    past = History(LabState(page="yours"))
    visiting(monkeypatch, past)
    choosing.on_models(event)
    assert (past.present.model, past.present.page) == ((model, LAB) if model else (LabState().model, "yours"))
