"""Tests of the pages without a browser: the payloads for the components, for valid and invalid states."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy
import pytest
from streamlit.testing.v1 import AppTest

import models
from app.state import visit
from app.state.lab_state import DEFAULT_MODEL
from components.payload import unpack
from models import HeadPlan
from models.tasks import TASKS
from tests.browser import ROOT


def opened(**link: str) -> AppTest:
    """Returns the app, opened by a link with these fields; without fields, by a link to the Lab."""
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    for key, value in (link or {"model": DEFAULT_MODEL}).items():
        app.query_params[key] = value
    return app.run()


def all_sent(app: AppTest, name: str) -> list[tuple[dict[str, Any], dict[str, numpy.ndarray]]]:
    """Returns the headers and arrays that were sent to every component `name`."""
    return [unpack(element.proto.bytes) for element in app.get("bidi_component")
            if element.proto.component_name.endswith(f"attention_lab_{name}")]


def sent(app: AppTest, name: str) -> tuple[dict[str, Any], dict[str, numpy.ndarray]]:
    """Returns the headers and arrays that were sent to the only component `name`."""
    (found,) = all_sent(app, name)
    return found


def type_text(app: AppTest, text: str) -> AppTest:
    """Sends the event of a changed text, then runs the script."""
    with visit.use(app.session_state["visit"]) as now:
        now.channel.receive([("lab", {"type": "text", "text": text, "sequence": now.channel.newest + 1})])
    return app.run()


def query_of(app: AppTest) -> dict[str, str]:
    """Returns the fields of the address that the header writes."""
    return dict(parse_qsl(sent(app, "bar")[0]["query"], keep_blank_values=True))


def test_every_run_sends_the_library():
    """Streamlit drops the messages of a run that a newer run overtakes: the newer one has to send everything."""
    app = opened()
    for _run in range(3):
        assert app.get("bidi_component")[0].proto.component_name.endswith("attention_lab_library_import")
        app = app.run()


def shared_out() -> list[tuple[str, str]]:
    """Returns (model, text) pairs with every model and every example once; test_contract.py has all combinations."""
    pairs = []
    for task in TASKS:
        names = [name for name in models.names() if name.startswith(f"{task}-")]
        if not names:  # the models of this task are not trained yet
            continue
        texts = [text for _, text in TASKS[task].reader.examples]
        pairs += [(names[i % len(names)], texts[i % len(texts)]) for i in range(max(len(names), len(texts)))]
    return pairs


@pytest.mark.parametrize(("name", "text"), shared_out())
def test_every_model_opens_with_its_examples(name, text):
    app = opened(model=name, text=text)
    assert not app.exception
    header = sent(app, "lab")[0]
    assert header["answer"]["rows"] and not header["problems"]
    assert "start" not in (header["notice"] or {})  # the place of an error


def test_a_plan_reaches_the_computation():
    text = "y=7; x=1; x=3; z=5; x=?"
    plan = "self-0.0~3c-1.0~3c-2.0~3c"
    app = opened(model="assignment-selective", text=text, plan=plan, at="0.0", lab="head.looks~~~looks.view!constant")
    lab = models.load("assignment-selective")
    trace = models.run(lab, text, HeadPlan.parse(plan))
    header, arrays = sent(app, "lab")
    after = {row["label"]: row["after"] for row in header["answer"]["rows"]}
    expected = dict(zip(trace.output.labels, trace.output.probabilities, strict=True))
    assert after == pytest.approx({digit: float(expected[digit]) for digit in after}, abs=1e-6)
    assert header["answer"]["kl"] > 0
    n = len(trace.tokens)
    # the attention of these heads is the lower triangle of the constant matrix, row by row
    rows, columns = numpy.tril_indices(n)
    constant = lab.constant["self"][0, 0, :n, :n].numpy()[rows, columns]
    numpy.testing.assert_array_equal(arrays["map.constant"], numpy.floor(255 * numpy.sqrt(constant) + 0.5))


def test_the_last_good_picture_stays_while_the_text_is_wrong():
    app = opened(model="assignment-selective", text="k=4; k=?")
    before = sent(app, "lab")[1]["tiles.self"].tobytes()
    type_text(app, "k=4; k=44")
    header, arrays = sent(app, "lab")
    assert "more than one digit" in header["notice"]["message"]
    assert header["notice"]["excerpt"][1] == "44"
    assert arrays["tiles.self"].tobytes() == before
    assert header["text"] == "k=4; k=44"


def test_typing_undo_and_redo():
    app = opened(model="assignment-selective")
    type_text(app, "k=4; k=?")
    assert query_of(app)["text"] == "k=4; k=?"
    history = app.session_state["visit"].history
    history.undo()
    app.run()
    assert sent(app, "lab")[0]["text"] == models.load("assignment-selective").task.examples[0][1]
    assert sent(app, "bar")[0]["redo"]


def test_a_browser_that_lags_behind_does_not_undo_typing():
    """Each run receives the address from the browser, which can be older than the current text."""
    app = opened(model="assignment-selective", text="a=1; a=?")
    type_text(app, "a=2; a=?")
    assert app.query_params["text"] == "a=1; a=?"
    app.run()
    assert sent(app, "lab")[0]["text"] == "a=2; a=?"


def test_a_new_link_in_an_open_page_is_followed():
    app = opened(model="assignment-selective", text="a=1; a=?")
    app.query_params["text"] = "b=2; b=?"
    app.run()
    assert sent(app, "lab")[0]["text"] == "b=2; b=?"


def test_going_back_brings_the_whole_text_back(monkeypatch):
    long = "x=1; y=2; x=?;" * 400
    app = opened(model="assignment-selective", text="k=4; k=?")
    type_text(app, long)
    query = query_of(app)
    assert len(query["text"]) < 2000
    type_text(app, "a=1; a=?")
    monkeypatch.setattr("app.server.serving.went_back_or_forward", lambda: True)
    app.query_params["text"] = query["text"]
    app.run()
    assert sent(app, "lab")[0]["text"] == long


def test_the_link_of_a_long_text_shows_the_same_picture():
    first = opened(model="assignment-selective", text="x=1; y=2; x=?;" * 400)
    second = opened(**query_of(first))
    assert sent(second, "lab")[1]["tiles.self"].tobytes() == sent(first, "lab")[1]["tiles.self"].tobytes()
    assert not sent(second, "lab")[0]["problems"]


def test_without_any_model_the_repair_is_named(checkpoints: Path):
    app = opened(model="stories-softmax", plan="self-99.99c")
    assert not app.exception
    assert "git checkout -- models/checkpoints" in app.error[0].value


def test_an_empty_text_leaves_the_picture_of_the_last_one_and_says_so():
    app = opened(model="stories-softmax", text="Once upon a time")
    type_text(app, "")
    notice = sent(app, "lab")[0]["notice"]
    assert "Type the beginning of a story" in notice["message"] and notice["shown"] == "Once upon a time"
