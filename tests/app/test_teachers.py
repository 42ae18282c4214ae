"""The page for teachers agrees with the lessons, and its links open the steps that it names."""

import re
from urllib.parse import parse_qsl

from app.state import visit
from app.state.lessons.lesson_files import CHOICES, step_at
from app.state.link import read_query
from app.views.teaching.teachers import PLAN
from tests.app.test_pages import opened
from tools.extract import template


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


def test_its_links_keep_the_language():
    text = "\n".join(its.value for its in opened(page="teachers", lang="zh").markdown)
    links = re.findall(r"\?lesson=[a-z]+\.\d&teach=1&lang=zh\)", text)
    assert len(links) == sum(len(part.steps) for part in PLAN)


def test_the_lessons_page_leads_there():
    app = opened(page="lessons")
    with visit.use(app.session_state["visit"]) as now:
        now.channel.receive([("lessons", {"type": "teachers", "sequence": 1})])
    assert not app.run().exception and any("45" in its.value for its in app.markdown)


def test_the_plan_names_buttons_and_places_that_exist():
    texts = {text.id for text in template()}
    named = [name for part in PLAN for name in re.findall(r"\*([^*]+)\*", part.what)]
    assert len(named) >= 3 and set(named) <= texts
