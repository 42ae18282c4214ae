"""The table of models on the page Models: every model has a dot, and a press opens it in the Lab."""

from typing import Any

import pytest

from app.panels import choosing
from app.state.history import History
from app.state.lab_state import LAB, LabState
from models import catalogue
from tests.app.test_pages import opened, sent
from tests.app.visitors import visiting


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
