"""Tests of the choice of a model: it offers all released models, and its events are validated.

pytest tests/app/test_choosing.py
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import models
from app import texts
from app.panels.choice import choosing
from app.state.handlers import events
from app.state.history import History
from app.state.lab_state import LabState
from app.state.pages.companions import informative_models, with_companion
from models import catalogue
from models.labs import foreign
from studies import store
from tests.app.test_pages import opened, sent
from tests.browser import ROOT


def offered() -> list[dict[str, Any]]:
    """Returns name, title, line, task and source of every model card on the page."""
    return [model | {"task": task["task"], "source": group["source"]}
            for task in choosing.groups(choosing.entries(models.names()))
            for group in task["groups"] for model in group["models"]]


def test_every_model_has_one_card_of_its_own():
    cards = offered()
    assert sorted(card["name"] for card in cards) == models.names()
    assert len({(card["task"], card["title"]) for card in cards}) == len(cards)
    assert all(card["line"].endswith(".") and len(card["line"]) < 110 for card in cards)


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_the_title_of_a_variant_begins_as_that_of_its_base_model(language: str):
    """In every language, so that one list does not mix translated and English names."""
    spoken = texts.language()
    texts.speak(language)
    try:
        variants = [entry for entry in choosing.entries(models.names()) if entry.base]
        assert variants
        assert all(choosing.name_of(entry).startswith(texts._(entry.attention.title)) for entry in variants)
    finally:
        texts.speak(spoken)


def test_a_card_names_a_training_shorter_than_others_of_its_task():
    lines = {card["name"]: card["line"] for card in offered()}
    marked = {name for name, line in lines.items() if "Trained for" in line}
    assert lines["translation-dense"].endswith("from itself alone. Trained for 800 steps, not 4,000.")
    assert "translation-softmax-one-pass" in marked
    # translation-pruned-60 counts as fully trained, because its gates were learned from a fully trained model
    assert not marked & {"translation-softmax", "translation-pruned-60"}
    assert all(name.startswith("translation-") for name in marked)


def test_what_is_offered_beside_a_model_was_trained_as_long_where_there_is_such():
    def beside(first: str) -> list[tuple[str, int]]:
        found = informative_models(first, choosing.entries(catalogue.family(first)))
        return [(entry.name, entry.steps) for entry in found]

    assert beside("translation-dense")[:3] == [("translation-softmax-one-pass", 800), ("translation-random", 800),
                                           ("translation-softmax", 4000)]
    # the suggestions include softmax trained for 800 steps
    assert {steps for _, steps in beside("translation-disagreement-out")} == {800}
    assert [name for name, _ in beside("translation-softmax")][:2] == ["translation-random", "translation-dense"]
    assert [name for name, _ in beside("assignment-random")][:2] == ["assignment-softmax", "assignment-selective"]
    assert "translation-softmax-one-pass" not in dict(beside("translation-softmax"))
    assert informative_models("nobody", []) == []


def test_the_page_compare_opens_with_a_second_model(monkeypatch: pytest.MonkeyPatch):
    history = History(LabState("stories-selective"), [])
    monkeypatch.setattr(events, "history", lambda: history)
    events.on_toolbar({"type": "page", "page": "length"})
    assert history.present.compared == ()
    events.on_toolbar({"type": "page", "page": "compare"})
    assert (history.present.page, history.present.compared) == ("compare", ("stories-softmax",))
    history.undo()
    assert (history.present.page, history.present.compared) == ("length", ())
    chosen = LabState("stories-selective", compared=("stories-random",))
    assert with_companion(chosen) is chosen
    for name in models.names():
        beside = with_companion(LabState(name)).compared
        assert len(beside) == (len(catalogue.family(name)) > 1)
        assert all(catalogue.same_family(name, other) and other != name for other in beside)


def test_an_offered_model_names_its_steps_relative_to_the_page_s_model():
    app = opened(page="compare", model="translation-dense", text="The dog is asleep.")
    sentences = [its.value for its in app.markdown if "Trained for" in its.value]
    assert len(sentences) == 1 and "Trained for 4,000 steps, not 800" in sentences[0]


def test_a_comparison_of_unequal_trainings_has_a_caption():
    short = {"page": "compare", "model": "translation-dense", "text": "The dog is asleep."}

    def step_captions(other: str) -> list[str]:
        captions = [caption.value for caption in opened(**short, **{"with": other}).caption]
        return [caption for caption in captions if "different numbers of steps" in caption]

    assert [its.count("4,000 steps") + its.count("800 steps") for its in step_captions("translation-softmax")] == [2]
    assert step_captions("translation-random") == []


def test_people_read_names_and_no_ids():
    titles = {card["name"]: card["title"] for card in offered()}
    assert titles["stories-softmax"] == "Softmax"
    assert titles["masked-gau-relu2"] == "Gated attention unit, relu²/n"
    assert titles["stories-selective-memory"] == "Selective · memory"
    assert titles["stories-softmax-wide"] == "Softmax · twice the heads"
    assert not any(name.split("-", 1)[1] == title for name, title in titles.items() if "-" in title)


def test_models_are_grouped_by_task_and_source():
    tasks = choosing.groups(choosing.entries(models.names()))
    assert [task["title"] for task in tasks][:3] == ["Next word", "Hidden word", "Variables"]
    stories = {group["source"]: [model["name"] for model in group["models"]] for group in tasks[0]["groups"]}
    assert next(iter(stories.items())) == ("Vaswani et al. 2017", [
        "stories-softmax", "stories-softmax-512", "stories-softmax-wide"])
    assert stories["Qiu et al. 2025"] == ["stories-gated"]
    assert stories["Leviathan et al. 2024"] == [
        "stories-selective", "stories-selective-512", "stories-selective-memory", "stories-selective-memory-512"]
    assert len(stories["Tay et al. 2020"]) == 8
    # softmax without additions comes first, then the models with an addition in the title
    translation = tasks[3]["groups"][0]["models"]
    assert translation[0]["title"] == "Softmax" and all(" · " in model["title"] for model in translation[1:])
    assert {"Softmax · one pass", "Softmax · outputs disagree", "Softmax · 60 heads left"} <= {
        model["title"] for model in translation}


@pytest.mark.parametrize(("published", "source"), [
    ("Vaswani et al. 2017, arXiv 1706.03762", "Vaswani et al. 2017"),
    ("control for Su Jianlin 2021", "Su Jianlin 2021"),
    ("ours, after Hua et al. 2022, arXiv 2202.10447", "Hua et al. 2022"), ("Nakanishi 2025", "Nakanishi 2025"),
    ("by nobody", "by nobody"), ("", "")])
def test_the_source_is_the_first_publication(published: str, source: str):
    assert choosing.source_of(published) == source


def test_every_model_has_a_picture_of_its_present_weights():
    for name in models.names():
        found = store.read(name, "picture")
        assert found, f"python -m studies.corpus.pictures {name}"
        assert found["side"] > 4


def test_the_catalogue_is_sent_in_all_languages(monkeypatch):
    monkeypatch.setattr(foreign, "in_memory", list)  # hides models that other tests have opened
    app = opened()
    header, _ = sent(app, "catalogue")
    assert set(header["offered"]) == set(texts.LANGUAGES)
    assert header["offered"]["zh"][0]["title"] == "下一个词"
    assert set(header["pictures"]) == set(models.names())
    assert texts.language() == "en"
    shown = sent(app, "chooser")[0]
    assert (shown["task"], shown["title"], shown["foreign"]) == ("Next word", "Selective", [])
    assert not opened(page="about").get("bidi_component")[0].proto.component_name.endswith("chooser")


def test_nothing_of_transformers_is_imported_for_the_choice():
    code = ("import sys; from app.panels.choice import choosing; from models.labs import foreign; "
            "assert foreign.in_memory() == [] and 'models.labs.foreign.model_cache' not in sys.modules; "
            "assert 'transformers' not in sys.modules")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True).returncode == 0


def test_a_page_is_drawn_while_another_visitor_s_first_model_is_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "models.labs.foreign.model_cache", ModuleType("half imported"))
    assert foreign.in_memory() == []



def test_a_visitors_own_models_are_a_group(monkeypatch):
    name = "hf:nobody/here"
    find, ours = catalogue.find, catalogue.find("stories-softmax")
    monkeypatch.setattr(foreign, "in_memory", lambda: [SimpleNamespace(name=name)])
    monkeypatch.setattr(catalogue, "find", lambda asked: replace(ours, name=name) if asked == name else find(asked))
    assert sent(opened(), "chooser")[0]["foreign"] == [
        {"name": name, "title": "nobody/here", "line": "Next word"}]


@pytest.mark.parametrize("event", [
    {}, {"type": "model"}, {"type": "model", "model": None}, {"type": "model", "model": ["stories-softmax"]},
    {"type": "model", "model": "stories"}, {"type": "model", "model": "../stories-softmax"}, {"type": ["model"]},
    {"type": "model", "model": "hf:nobody/here"}, {"type": "view", "model": "stories-softmax"}])
def test_events_that_no_browser_of_ours_sends_change_nothing(event: dict[str, Any], monkeypatch):
    history = History()
    monkeypatch.setattr(events, "history", lambda: history)
    events.on_chooser(event)
    assert history == History()


def test_a_card_opens_its_model(monkeypatch):
    history = History()
    monkeypatch.setattr(events, "history", lambda: history)
    monkeypatch.setattr(events, "cached", lambda name: SimpleNamespace() if name == "x" else None)
    events.on_chooser({"type": "model", "model": "assignment-selective"})
    assert history.present.model == "assignment-selective"


def test_the_label_names_the_model_that_a_fourth_would_replace():
    def label(*names: str) -> str:
        beside = " ".join(f"assignment-{name}" for name in names)
        captions = opened(page="compare", model="assignment-softmax", **{"with": beside}).caption
        (text,) = [caption.value for caption in captions if caption.value.startswith("Compare softmax")]
        return text

    assert label("random", "log-n") == "Compare softmax with up to 3 models:"
    assert label("random", "log-n", "selective") == (
        "Compare softmax with these models; one more takes the place of random:")
