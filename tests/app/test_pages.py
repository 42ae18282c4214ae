"""Tests of the pages without a browser: the payloads for the components, for valid and invalid states.

A payload is unpacked by the inverse function of the packer. Clicks on components are tested in tests/e2e.

pytest tests/app/test_pages.py
"""

from __future__ import annotations

import itertools
import shutil
from collections import OrderedDict
from typing import Any
from urllib.parse import parse_qsl

import numpy
import pytest
from streamlit.testing.v1 import AppTest

import models
from app.panels.measured import lengths
from app.state import visit
from app.state.handlers.events import on_effect, on_toolbar
from app.state.handlers.head_events import on_heads, on_map
from app.state.lab_state import DEFAULT_MODEL, HEAD, SECTION_GROUPS, SECTIONS
from app.views import length
from components.payload import unpack
from models import HeadPlan
from models.generate.sampling import Sampling
from models.tasks import TASKS
from tests.browser import ROOT


def opened(**link: str) -> AppTest:
    """Returns the app, opened by a link with these fields; without fields, by a link to the page Explore."""
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
    """Sends the event of a changed text box, then runs the script."""
    with visit.use(app.session_state["visit"]) as now:
        now.channel.receive([("text", {"type": "text", "text": text, "sequence": now.channel.newest + 1})])
    return app.run()


def test_every_run_sends_the_library_and_the_catalogue():
    """Streamlit drops the messages of a run that a newer run overtakes: the newer one has to send everything."""
    app = opened()
    for _run in range(3):
        components = [element.proto.component_name for element in app.get("bidi_component")]
        assert components[0].endswith("attention_lab_library_import")
        assert components[1].endswith("attention_lab_catalogue")
        assert sent(app, "catalogue")[0]["offered"]
        app = app.run()


def test_no_exception_on_the_default_page():
    app = opened()
    assert not app.exception
    assert not app.error
    header, arrays = sent(app, "heads")
    assert [(grid["kind"], grid["layers"], grid["heads"]) for grid in header["grids"]] == [("self", 4, 8)]
    assert arrays["tiles self"].dtype == numpy.uint8


def shared_out() -> list[tuple[str, str]]:
    """Returns (model, text) pairs in which every model and every example of its task occurs.

    All combinations would take a minute; tests/models/test_contract.py runs them without pages.
    """
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
    assert not sent(app, "notice")[0]["problem"]
    assert sent(app, "effect")[0]["predictions"]


def test_a_plan_reaches_the_computation_and_the_panel():
    text = "y=7; x=1; x=3; z=5; x=?"
    app = opened(model="assignment-selective", text=text, plan="self-0.0~3c-1.0~3c-2.0~3c")
    lab = models.load("assignment-selective")
    trace = models.run(lab, text, HeadPlan.parse("self-0.0~3c-1.0~3c-2.0~3c"))
    rows = sent(app, "effect")[0]["predictions"][-1]["rows"]
    after = {row["label"]: row["after"] for row in rows}
    expected = dict(zip(trace.output.labels, trace.output.probabilities, strict=True))
    assert after == pytest.approx({digit: float(expected[digit]) for digit in after}, abs=1e-6)
    assert sent(app, "effect")[0]["predictions"][-1]["kl"] > 0
    _, arrays = sent(app, "head_map")
    n = len(trace.tokens)
    # the attention of these heads is the lower triangle of the constant matrix, row by row
    rows, columns = numpy.tril_indices(n)
    numpy.testing.assert_allclose(arrays["constant"], lab.constant["self"][0, 0, :n, :n].numpy()[rows, columns])
    assert sent(app, "head_map")[0]["used"] == "constant"


def test_the_last_good_picture_stays_while_the_text_is_wrong():
    app = opened(model="assignment-selective", text="k=4; k=?")
    before = sent(app, "heads")[1]["tiles self"].tobytes()
    type_text(app, "k=4; k=44")
    notice = sent(app, "notice")[0]
    assert notice["problem"]
    assert "more than one digit" in notice["messages"][0]
    assert notice["excerpt"][1] == "44"
    assert sent(app, "heads")[1]["tiles self"].tobytes() == before
    assert sent(app, "text_box")[0]["text"] == "k=4; k=44"


def test_typing_undo_and_redo():
    app = opened(model="assignment-selective")
    type_text(app, "k=4; k=?")
    assert sent(app, "toolbar")[0]["query"].endswith("text=k%3D4%3B+k%3D%3F")
    history = app.session_state["visit"].history
    history.undo()
    app.run()
    assert sent(app, "text_box")[0]["text"] == models.load("assignment-selective").task.examples[0][1]
    assert sent(app, "toolbar")[0]["redo"]


def test_a_browser_that_lags_behind_does_not_undo_typing():
    """Each run receives the address from the browser, which can be older than the current text. It does not undo
    typing.
    """
    app = opened(model="assignment-selective", text="a=1; a=?")
    type_text(app, "a=2; a=?")
    assert app.query_params["text"] == "a=1; a=?"
    app.run()
    assert sent(app, "text_box")[0]["text"] == "a=2; a=?"


def test_a_new_link_in_an_open_page_is_followed():
    app = opened(model="assignment-selective", text="a=1; a=?")
    app.query_params["text"] = "b=2; b=?"
    app.run()
    assert sent(app, "text_box")[0]["text"] == "b=2; b=?"


@pytest.mark.parametrize("event", [
    {}, {"type": "heads"}, {"type": "heads", "layer": 99, "head": 0, "scope": "head", "gate": 0.5},
    {"type": "heads", "layer": 0, "head": 0, "scope": "head", "gate": float("nan")},
    {"type": "heads", "layer": 0, "head": 0, "scope": "head", "gate": 7},
    {"type": "heads", "layer": 0, "head": 0, "scope": "head", "constant": "yes"},
    {"type": "heads", "layer": -1, "head": 0, "scope": "head", "gate": 0}, {"type": "heads", "layer": True, "head": 0},
    {"type": "select", "layer": 0, "head": 0, "scope": "everything"}, {"type": "scale", "policy": "logn", "base": 1},
    {"type": "scale", "policy": "other", "base": 64}, {"type": "prediction", "index": -3},
    {"type": "view", "view": "x"}, {"type": "scale", "policy": "logn", "base": "64"},
    {"type": "scale", "policy": ["logn"], "base": 64}, {"type": "view", "view": {}}, {"type": ["select"]}])
def test_events_that_no_browser_of_ours_sends_change_nothing(event, monkeypatch):
    from app.state.history import History

    history = History()
    for module in ("events", "head_events"):
        monkeypatch.setattr(f"app.state.handlers.{module}.history", lambda: history)
    on_heads(event)
    on_effect(event)
    on_map(event)
    on_toolbar(event)
    assert history == History()


def continued(app: AppTest) -> list[str]:
    """Waits for the end of generation and returns the continuations on the page.

    There is one of the unmodified model, and one under the plan if there is a plan.
    """
    for _ in range(400):
        if app.button(key="continue").label != "Stop":
            return [text.value for text in app.text]
        app.run()
    raise AssertionError("it never ends")


def test_continuation_as_trained_and_under_the_plan():
    app = opened(model="stories-softmax", text="Once upon a time", plan="self-0.0~7g0")
    texts = continued(app.button(key="continue").click().run())
    assert len(texts) == 2
    assert texts[0].startswith("…")
    assert len(texts[0]) > 50
    assert texts[0] != texts[1]


def test_a_seed_of_the_link_decides_what_is_written():
    """The seed in the link determines the generated text, which ends at the model's length limit."""
    link = {"model": "stories-softmax", "text": "The dog " * 50}
    (text,) = continued(opened(draw="0.9-0.95-4", **link).button(key="continue").click().run())
    lab = models.load("stories-softmax")
    expected = list(lab.generate(lab.read(link["text"]), count=128, sampling=Sampling(0.9, 0.95, 4)))
    assert text == "…" + " ".join("".join(expected).split("\n"))
    (greedy,) = continued(opened(draw="0-0.95-4", **link).button(key="continue").click().run())
    assert greedy == "…" + " ".join("".join(lab.generate(lab.read(link["text"]), count=128)).split("\n"))


def test_another_seed_begins_anew_and_stands_in_the_link():
    app = opened(model="stories-softmax", text="The dog " * 50)
    first = continued(app.button(key="continue").click().run())
    second = continued(app.button(key="another").click().run())
    assert first != second and second[0].startswith("…")
    link = dict(parse_qsl(sent(app, "toolbar")[0]["query"]))
    assert link["draw"] == "0.8-0.95-2"
    assert continued(opened(**link).button(key="continue").click().run()) == second


def test_the_way_of_drawing_is_set_behind_a_button():
    app = opened(model="stories-softmax")
    assert "temperature" not in [slider.key for slider in app.slider]

    def behind_it() -> AppTest:
        """Returns the app with the popover of sampling open.

        AppTest closes the popover at every second run.
        """
        while "greedy" not in [box.key for box in app.checkbox]:
            app.session_state["sampling"] = True
            app.run()
        return app

    def sampling_in_link() -> str:
        return dict(parse_qsl(sent(app, "toolbar")[0]["query"]))["draw"]

    behind_it().slider(key="temperature").set_value(1.2).run()
    behind_it().number_input(key="seed").set_value(77).run()
    assert sampling_in_link() == "1.2-0.95-77"
    behind_it().checkbox(key="greedy").check().run()
    assert sampling_in_link() == "0-0.95-77"
    assert not app.exception and "temperature" not in [slider.key for slider in behind_it().slider]
    behind_it().checkbox(key="greedy").uncheck().run()
    assert sampling_in_link() == "0.8-0.95-77"


@pytest.mark.parametrize("section", ["entropy", "card"])
def test_sections_below(section):
    app = opened(model="stories-selective", plan="scale-logn64")
    app.selectbox(key="section").set_value(section).run()
    assert not app.exception
    link = dict(parse_qsl(sent(app, "toolbar")[0]["query"]))
    assert link["open"] == section
    assert opened(**link).selectbox(key="section").value == section


def test_every_section_is_in_one_group_and_links_choose_it():
    assert sorted(itertools.chain(*SECTION_GROUPS.values())) == sorted([HEAD, *SECTIONS])
    for name in SECTIONS:
        app = opened(model="stories-gated" if name == "gates" else "stories-selective", open=name)
        assert app.selectbox(key="section").value == name


def test_going_back_brings_the_whole_text_back(monkeypatch):
    long = "x=1; y=2; x=?;" * 400
    app = opened(model="assignment-selective", text="k=4; k=?")
    type_text(app, long)
    query = dict(parse_qsl(sent(app, "toolbar")[0]["query"]))
    assert len(query["text"]) < 2000
    type_text(app, "a=1; a=?")
    monkeypatch.setattr("app.server.serving.went_back_or_forward", lambda: True)
    app.query_params["text"] = query["text"]
    app.run()
    assert sent(app, "text_box")[0]["text"] == long


def test_the_link_of_a_long_text_shows_the_same_picture():
    long = "x=1; y=2; x=?;" * 400
    first = opened(model="assignment-selective", text=long)
    query = dict(parse_qsl(sent(first, "toolbar")[0]["query"]))
    second = opened(**query)
    assert sent(second, "heads")[1]["tiles self"].tobytes() == sent(first, "heads")[1]["tiles self"].tobytes()
    assert not sent(second, "notice")[0]["problem"]


@pytest.mark.parametrize("page", ["compare", "heads", "pruning", "length"])
def test_a_page_has_an_example_to_press(page: str):
    app = opened(page=page)
    (button,) = [its for its in app.button if (its.key or "").startswith("example-")]
    before = sent(app, "toolbar")[0]["query"]
    assert sent(button.click().run(), "toolbar")[0]["query"] != before and not app.exception


def test_the_example_of_length_shows_what_it_promises():
    names = [length.EXAMPLE["model"], length.EXAMPLE["with"]]
    trained = models.load(names[0]).trained_length
    drops = []
    for name in names:
        accuracy = {n: values["accuracy"] for n, values in lengths.curves_of(name)[0].by_length.items()}
        drops.append(accuracy[trained] - accuracy[int(length.EXAMPLE["n"])])
    assert 0.05 < drops[0] < drops[1] - 0.1


def test_the_letters_below_tiles_are_explained():
    for page in ("heads", "pruning"):
        app = opened(page=page)
        letters = {short for row in sent(app, "heads")[0]["grids"][0]["notes"] for short, _words in row if short}
        captions = " ".join(caption.value for caption in app.caption)
        assert letters and all(one in captions for short in letters for one in short.split())


def test_without_any_model_the_repair_is_named(monkeypatch, tmp_path):
    from models import loading
    from models.storage import checkpoint

    monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(loading, "_held", OrderedDict())
    app = opened(model="stories-softmax", plan="self-99.99c")
    assert not app.exception
    assert "git checkout -- models/checkpoints" in app.error[0].value


@pytest.mark.parametrize("file", ["config.json", "card.json"])
def test_an_unreadable_model_is_reported_with_its_repair_and_others_open(file, monkeypatch, tmp_path):
    from models import loading
    from models.storage import checkpoint

    for name in ("stories-softmax", "stories-selective"):
        shutil.copytree(checkpoint.CHECKPOINTS / name, tmp_path / name)
    (tmp_path / "stories-softmax" / file).write_text("{}")
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(loading, "_held", OrderedDict())
    for page in ("explore", "compare", "length"):
        app = opened(page=page, model="stories-softmax")
        assert not app.exception
        messages = " ".join([*(error.value for error in app.error), *(warning.value for warning in app.warning),
                         *(" ".join(header["messages"]) for header, _ in all_sent(app, "notice"))])
        messages = messages.replace("\\", "").replace("\u2060", "")
        assert f"stories-softmax/{file}" in messages and "git checkout" in messages


def test_a_damaged_checkpoint_is_reported_without_a_traceback(monkeypatch, tmp_path):
    from models import loading
    from models.storage import checkpoint

    for name in models.names():
        for file in checkpoint.FILES:
            (tmp_path / name).mkdir(exist_ok=True)
            content = (checkpoint.CHECKPOINTS / name / file).read_bytes()
            (tmp_path / name / file).write_bytes(content[:700] if file.endswith("safetensors") else content)
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(loading, "_held", OrderedDict())
    app = opened()
    assert not app.exception
    assert "safetensors is damaged" in app.error[0].value.replace("\\", "")
    assert "models.training stories-selective" in app.error[0].value.replace("\\", "")


def test_an_empty_box_shows_the_text_that_is_computed():
    app = opened(model="stories-softmax", text="Once upon a time")
    type_text(app, "")
    assert sent(app, "text_box")[0]["placeholder"] == "Once upon a time"
    notice = sent(app, "notice")[0]
    assert "Type the beginning of a story" in notice["messages"][-1] and notice["status"].endswith("Once upon a time")
