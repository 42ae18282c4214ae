"""The controls of the Lab's tools: continuation, search, comparison, constant heads, hidden words, and the files."""

import base64
import io
import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy
import pytest
import torch
from starlette.applications import Starlette
from starlette.testclient import TestClient

import models
from app import files_route
from app.lab import page, tools
from app.lab.tools.fewest import Fewest
from app.lab.view import View, present_view
from app.panels.text import read_picture
from app.state import visit
from app.state.lab_state import LabState
from app.state.lab_view import LabView
from app.state.visit import Visit
from models.generate.decoding import GREEDY
from models.labs.foreign import model_cache
from models.nets.config import START
from models.plan import HeadPlan
from tests.app.test_lab import LAYER, STORY
from tests.app.test_pages import opened, sent
from tests.models.foreign_tiny import folder_of
from tests.models.foreign_tiny import picture as drawing
from tests.own_loop import until

ASSIGNMENT = "x=7; y=2; x=?"


def visiting(model: str, text: str, plan: HeadPlan = HeadPlan(), tool: str = "head.looks") -> Visit:
    """Returns a visit on the Lab."""
    here = Visit()
    with visit.use(here):
        state = LabState(model, text)
        here.history.do(replace(state, page="lab", plan=plan, selection=state.selection.within(state.shape),
                                lab=LabView(tool)))
    return here


def shown() -> tuple[dict[str, Any], View]:
    """Returns the payload of the open tool, and the view; call it within `visit.use`."""
    view = present_view()
    header, _arrays = tools.content(view, tools.offered(view))
    assert header is not None
    return header, view


def act(tool: str, **values: Any) -> None:
    page.on_lab({"type": "act", "tool": tool, **values})


def written(header: dict[str, Any]) -> list[str]:
    return ["".join(text for _look, text in part["pieces"]) for part in header["parts"] if part["part"] == "written"]


def test_a_continuation_grows_with_each_event_and_equals_the_models_own():
    with visit.use(visiting("stories-selective", STORY, LAYER, "answer.cont")):
        until(lambda: "again" not in shown()[0])
        header, view = shown()  # the likeliest tokens, of which the first is the answer
        texts = ["".join(view.lab.generate(view.reading.prompt, plan, 128, GREEDY)) for plan in (HeadPlan(), view.plan)]
        assert written(header) == texts


def test_a_choice_by_chance_has_a_temperature():
    with visit.use(visiting("stories-selective", STORY, HeadPlan(), "answer.cont")) as here:
        for greedy, written in (("no", "0.8-0.95-1"), ("yes", "0-0.95-1")):
            page.on_lab({"type": "act", "tool": "answer.cont", "greedy": greedy})
            assert str(here.history.present.sampling) == written


def test_a_continuation_stops_and_another_text_does_not_show_it():
    with visit.use(visiting("stories-softmax", STORY, tool="answer.cont")):
        header, _view = shown()
        assert header["again"] and written(header)[0]
        act("answer.cont", on=False)
        assert "again" not in shown()[0]
        page.on_lab({"type": "text", "text": "Tom was sad because"})
        assert not written(shown()[0])


def test_a_limited_memory_strikes_words():
    with visit.use(visiting("stories-selective", STORY, tool="answer.cont")) as here:
        act("answer.cont", memory="5")  # four tokens per layer
        assert here.history.present.budgets == (4,) * 4
        until(lambda: "again" not in shown()[0])
        header, _view = shown()
        pieces = header["parts"][-1]["pieces"]
        kept = [text for look, text in pieces if look != "gone"]
        assert any(look == "gone" for look, _text in pieces) and 0 < len(kept) <= 4


def test_a_typed_translation_gets_its_probability_word_by_word():
    with visit.use(visiting("translation-softmax", "I don't have a dog.", tool="answer.own")) as here:
        own = shown()[0]
        act("answer.own", text="Ich habe Hund nicht.")
        header, view = shown()
        lab: Any = view.lab
        ids = lab.task.tokenizer.encode("Ich habe Hund nicht.", add_special_tokens=False).ids
        with torch.inference_mode():
            hidden = lab.model(torch.tensor([lab.read("I don't have a dog.").ids]), torch.tensor([[START, *ids]]))[0]
            losses = -lab.model.logits(hidden).log_softmax(-1)[range(len(ids)), ids]
        rows = header["parts"][2]["rows"]
        assert [row[0]["word"].strip() for row in rows] == ["Ich", "habe", "Hund", "nicht", "."]
        assert [row[1][0]["share"] for row in rows] == pytest.approx(losses.neg().exp().tolist(), rel=1e-3)
        assert f"{float(losses.mean()):.2f}" in header["parts"][3]["text"][0]
        assert own["parts"][3]["text"][0].split()[2] in header["parts"][3]["text"][2]
        act("answer.own", text=["Ich"])
        assert here.history.present.target == "Ich habe Hund nicht."
        page.on_lab({"type": "text", "text": "I have a cat."})
        assert not here.history.present.target


def test_the_search_for_minimal_heads_reports_its_progress_and_is_applied():
    with visit.use(visiting("assignment-softmax", ASSIGNMENT, tool="all.fewest")) as here:
        act("all.fewest", bound="0.2")
        assert here.history.present.search.bound == 0.2
        act("all.fewest", search=True)
        header, _view = shown()
        until(lambda: shown() and not here.search.job.running)
        assert isinstance(here.search.job.result, Fewest), here.search.job.problem
        header, _view = shown()
        assert {"lines", "button"} <= {part["part"] for part in header["parts"]}
        act("all.fewest", apply="fewest")
        result = here.search.job.result
        assert here.history.present.plan == result.plans[result.answer(0.2)][1]


def test_a_search_ends_when_its_text_changes():
    with visit.use(visiting("assignment-softmax", ASSIGNMENT, tool="all.fewest")) as here:
        act("all.fewest", search=True)
        job = here.search.job
        page.on_lab({"type": "text", "text": "x=1; y=2; x=?"})
        shown()
        assert here.search is None
        until(lambda: not job.running)
        assert job.problem == "Cancelled."


def test_models_are_added_and_removed_and_share_the_plan():
    with visit.use(visiting("stories-selective", STORY, LAYER, "all.second")) as here:
        for name in ("stories-softmax", "stories-gated", "stories-random", "stories-log-n"):
            act("all.second", model=name)
        assert here.history.present.compared == ("stories-gated", "stories-random", "stories-log-n")
        act("all.second", model="stories-random")
        header, view = shown()
        table = next(part for part in header["parts"] if part["part"] == "table")
        assert [len(row) for row in table["rows"]] == [4, 4, 4]
        tiles = next(part for part in header["parts"] if part["part"] == "row" and part["look"] == "beside")["parts"]
        assert [part["states"][2][0]["gate"] for part in tiles] == [0, 0, 0]
        assert f"{view.after.loss:.3f}" in table["rows"][0][2]


def test_a_hidden_word_is_predicted_and_shown_again():
    with visit.use(visiting("masked-softmax", "The girl lost her toy in the park.", tool="word.hide")) as here:
        act("word.hide", word=3)
        assert here.history.present.text == "The girl lost [her] toy in the park."
        act("word.hide", word=3)
        assert here.history.present.text == "The girl lost her toy in the park."


def test_the_curve_of_constants_makes_heads_constant():
    with visit.use(visiting("masked-softmax", "The girl lost [her] toy in the park.", tool="all.papa")) as here:
        act("all.papa", count=5)
        plan = here.history.present.plan
        assert sum(state.constant for state in plan.heads.values()) == 5
        header, _view = shown()
        chart = next(part for part in header["parts"] if part["part"] == "lines")
        assert chart["at"] == 5 and chart["curves"]


def test_the_selected_head_is_patched_from_the_second_text():
    with visit.use(visiting("assignment-softmax", ASSIGNMENT, tool="head.carry")) as here:
        page.on_lab({"type": "source", "text": "x=3; y=2; x=?"})
        header, view = shown()
        button = next(part for part in header["parts"] if part["part"] == "button")
        assert button["act"] == {"type": "patch", "kind": "self", "layer": 0, "head": 0, "on": True}
        page.on_lab(button["act"])
        header, view = shown()
        assert view.changed and here.history.present.plan.state("self", 0, 0).patch


def test_files_have_the_patterns_of_the_present_state():
    here = visiting("stories-softmax", "The cat sat.", LAYER)
    client = TestClient(Starlette(routes=[files_route.route()]))
    answers = {kind: client.get(f"/lab/visits/{here.channel.id}/files/all.{kind}") for kind in ("npz", "json", "csv")}
    assert {answer.status_code for answer in answers.values()} == {200}
    assert "attention-lab_stories-softmax_all-heads.npz" in answers["npz"].headers["content-disposition"]
    with visit.use(here):
        view = present_view()
    with numpy.load(io.BytesIO(answers["npz"].content)) as arrays:
        numpy.testing.assert_allclose(arrays["self 2 weights"], view.layer(layer=1).weights, atol=1e-6)
    stored = json.loads(answers["json"].content)
    assert stored["plan"] == str(LAYER) and "model=stories-softmax" in stored["link"]
    assert client.get(f"/lab/visits/{here.channel.id}/files/all.exe").status_code == 404
    assert client.get("/lab/visits/unknown/files/all.npz").status_code == 404


def test_the_charts_have_the_weights_and_no_tag_of_the_text():
    here = visiting("stories-selective", "The <b>cat</b> sat.", LAYER)
    with TestClient(Starlette(routes=[files_route.route()])) as client:
        pages = [client.get(f"/lab/visits/{here.channel.id}/files/{name}.html") for name in ("head", "mask")]
    assert [page.status_code for page in pages] == [200, 200]
    names = [page.headers["content-disposition"] for page in pages]
    assert "attention-lab_stories-selective_self-1-1.html" in names[0] and "mask-1.html" in names[1]
    assert all("Plotly.newPlot" in page.text and "<b>cat" not in page.text for page in pages)
    plain = visiting("stories-softmax", "The cat sat.")
    with TestClient(Starlette(routes=[files_route.route()])) as client:
        refused = client.get(f"/lab/visits/{plain.channel.id}/files/mask.html")
    assert refused.status_code == 422 and "no mask F" in refused.text


def test_pinned_tools_stay_and_the_fifth_takes_the_place_of_the_first():
    with visit.use(visiting("stories-softmax", STORY, tool="answer.who")) as here:
        for name in ("head.looks", "layer.mean", "all.find", "answer.lens", "answer.who"):
            page.on_lab({"type": "pin", "name": name, "on": True})
        assert here.history.present.lab.pins == ("layer.mean", "all.find", "answer.lens", "answer.who")
        page.on_lab({"type": "pin", "name": "all.find", "on": False})
        view = present_view()
        headers, arrays = tools.pinned(view, tools.offered(view))
        assert [header["key"] for header in headers] == ["layer.mean", "answer.lens", "answer.who"]
        assert list(arrays) == ["pin0.map.mean"]


def test_a_visit_has_two_files_made_at_a_time(monkeypatch):
    here = visiting("stories-softmax", STORY)
    begun, done = threading.Semaphore(0), threading.Event()

    def slow(*given: Any) -> tuple[str, bytes]:
        begun.release()
        assert done.wait(20)
        return "a.csv", b"a"

    monkeypatch.setattr(files_route, "made", slow)
    with TestClient(Starlette(routes=[files_route.route()])) as client, ThreadPoolExecutor(2) as pool:
        address = f"/lab/visits/{here.channel.id}/files/all.csv"
        two = [pool.submit(client.get, address) for _ in range(2)]
        assert begun.acquire(timeout=20) and begun.acquire(timeout=20)
        assert client.get(address).status_code == 429
        done.set()
        assert [each.result(20).status_code for each in two] == [200, 200]
        assert client.get(address).status_code == 200


def test_a_file_that_is_no_picture_leaves_the_visitors_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(model_cache, "_cache", model_cache.ModelCache(lambda: 2**30))
    lab = models.load_folder(shutil.copytree(folder_of("vit"), tmp_path / "vit"))
    with visit.use(visiting(lab.name, "")) as here:
        for data, problems in ((drawing(1), 0), (b"no picture", 1), (b"", 1)):
            page.on_lab({"type": "picture", "data": base64.b64encode(data).decode()})
            assert len(here.history.problems) == problems
            assert present_view().reading.prompt == lab.read_picture(drawing(1))
        page.on_lab({"type": "picture", "data": "not base64"})
        assert present_view().reading.prompt == lab.read_picture(drawing(1))
        page.on_lab({"type": "picture", "data": None})
        assert present_view().reading.prompt == read_picture(lab)


def test_a_model_with_random_weights_shows_no_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(model_cache, "_cache", model_cache.ModelCache(lambda: 2**30))
    for name, is_random in (("tiny-random-gpt2", True), ("gpt2-of-mine", False)):
        lab = models.load_folder(shutil.copytree(folder_of("gpt2"), tmp_path / name))
        header = sent(opened(model=lab.name, text="One day"), "lab")[0]
        assert header["model"]["untrained"] == is_random == (header["answer"] is None)
        assert (header["guesses"] is None) >= is_random
        assert ("mean nothing" in (header["notice"] or {"message": ""})["message"]) == is_random


def test_undoing_all_changes_keeps_what_is_selected():
    with visit.use(visiting("stories-softmax", STORY, tool="layer.mean")) as here:
        head = {"kind": "self", "layer": 2, "head": 4, "scope": "row"}
        for event in ({"type": "select"} | head, {"type": "heads", "gate": 0} | head, {"type": "reset"}):
            before = here.history.present
            page.on_lab(event)
        assert before.plan and not here.history.present.plan
        assert here.history.present == replace(before, plan=HeadPlan())
