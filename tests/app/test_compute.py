"""Tests of app/compute.py: cached traces, sketches of large maps, missing constant matrices, equal folder names."""

import shutil
from pathlib import Path

import numpy
import pytest

import models
from app import compute
from app.content import effect
from app.lab.tools.second import Compared
from app.lab.tools.second import read as read_model
from app.panels.text import read_picture
from app.server import caches
from app.server.caches import ByteCache
from app.state import visit
from app.state.lab_state import LabState
from models import HeadPlan
from models.labs.foreign import model_cache
from models.thumbnails import MAX_SIDE
from models.trace import Sketch, Trace
from tests.app.test_pages import address_of, opened, sent
from tests.app.visitors import visiting
from tests.models.foreign_tiny import TEXT, folder_of
from tests.models.foreign_tiny import picture as drawing

MODEL = "stories-softmax"
# a text with more tokens than a thumbnail has pixels
LONG = "Once upon a time there was a little dragon who was afraid of the dark. " * 8
PLAN = HeadPlan().constant("self", 0, 3).gate("self", 1, 2, 0.0).gate("self", 2, 5, 0.5)


@pytest.fixture
def empty(monkeypatch):
    """Replaces the caches by empty ones with the size limits of the app."""
    monkeypatch.setattr(caches, "traces", ByteCache(caches.TRACE_BYTES))
    monkeypatch.setattr(caches, "layers", ByteCache(caches.LAYER_BYTES))


@pytest.mark.parametrize(("index", "shown"), [(0, 0), (2, 2), (3, 2), (999, 2), (-1, 2), (-2, 2)])
def test_a_prediction_that_the_text_does_not_have_gives_way_to_the_last(index: int, shown: int):
    outputs = [models.Output(position, numpy.ones(1, numpy.float32), ("a",)) for position in range(3)]
    assert effect.existing_index(outputs, index) == shown


def test_the_same_question_is_answered_from_memory(empty):
    lab = models.load(MODEL)
    prompt = compute.read(lab, TEXT)
    before, after = compute.traces_of(lab, prompt, PLAN)
    assert compute.traces_of(lab, prompt, PLAN) == (before, after)
    alone = compute.traces_of(lab, prompt, HeadPlan())
    assert alone[0] is alone[1] is before


@pytest.mark.parametrize("lost", ["before", "after", "both"])
def test_what_memory_has_lost_is_made_again_and_the_rest_stays_right(lost: str, empty):
    lab = models.load(MODEL)
    prompt = compute.read(lab, TEXT)
    expected = lab.run(prompt, [HeadPlan(), PLAN])
    found = compute.traces_of(lab, prompt, PLAN)
    caches.traces = ByteCache(caches.TRACE_BYTES)
    if lost == "before":
        caches.traces.keep((lab.identity, prompt, PLAN), found[1])
    if lost == "after":
        caches.traces.keep((lab.identity, prompt, HeadPlan()), found[0])
    for ours, its in zip(compute.traces_of(lab, prompt, PLAN), expected, strict=True):
        numpy.testing.assert_allclose(ours.output.distribution, its.output.distribution, atol=1e-6)


def test_large_maps_are_sketched_and_show_the_same(empty, monkeypatch):
    lab = models.load(MODEL)
    prompt = compute.read(lab, LONG)
    assert len(prompt.ids) > MAX_SIDE
    whole = compute.traces_of(lab, prompt, PLAN)
    assert all(isinstance(trace, Trace) for trace in whole)
    monkeypatch.setattr(compute, "LARGE", 10_000)
    monkeypatch.setattr(caches, "traces", ByteCache(caches.TRACE_BYTES))
    sketched = compute.traces_of(lab, prompt, PLAN)
    (kind,) = lab.kinds
    for trace, sketch, plan in zip(whole, sketched, (HeadPlan(), PLAN), strict=True):
        assert isinstance(sketch, Sketch)
        assert sketch.nbytes < trace.nbytes / 10
        tiles = effect.tiles_of(sketch, kind)
        assert tiles.shape[-1] <= MAX_SIDE
        numpy.testing.assert_array_equal(tiles, effect.tiles_of(trace, kind))
        for layer in range(kind.layers):
            large, its = compute.layer_of(lab, sketch, plan, "self", layer), trace.layer("self", layer)
            for name in ("scores", "live", "weights"):
                numpy.testing.assert_allclose(getattr(large, name), getattr(its, name), atol=1e-5)
        numpy.testing.assert_allclose(sketch.output.distribution, trace.output.distribution, atol=1e-6)
        assert (sketch.loss, sketch.tokens, sketch.rows) == (pytest.approx(trace.loss), trace.tokens, trace.rows)
    assert effect.prediction(lab, *sketched, 0)["kl"] == pytest.approx(effect.prediction(lab, *whole, 0)["kl"])
    again = compute.layer_of(lab, sketched[1], PLAN, "self", 2)
    assert again is compute.layer_of(lab, sketched[1], PLAN, "self", 2)  # the second call returns the same cached layer


def test_a_row_of_the_effect_has_its_ranks_among_all_tokens(empty):
    lab = models.load(MODEL)
    before, after = compute.traces_of(lab, compute.read(lab, "She sat down on the"), HeadPlan().gate("self", 3, 2, 0.0))
    shown = effect.prediction(lab, before, after, 0)
    orders = [list(numpy.argsort(-trace.output.distribution, kind="stable")) for trace in (before, after)]
    assert [row["ranks"] for row in shown["rows"]] == [[order.index(row["id"]) + 1 for order in orders]
                                                       for row in shown["rows"]]
    assert any(row["ranks"][0] != row["ranks"][1] for row in shown["rows"])


def test_the_lab_shows_a_sketch_as_it_shows_a_trace(empty, monkeypatch):
    link = {"model": MODEL, "text": LONG, "plan": str(PLAN), "at": "1.2"}
    whole = opened(**link)
    monkeypatch.setattr(compute, "LARGE", 10_000)
    monkeypatch.setattr(caches, "traces", ByteCache(caches.TRACE_BYTES))
    app = opened(**link)
    assert not app.exception and not app.error
    (ours, arrays), (its, expected) = sent(app, "lab"), sent(whole, "lab")
    same = ("tokens", "kinds", "selection", "look", "at", "changed", "predicts", "tool")
    assert {name: ours[name] for name in same} == {name: its[name] for name in same}
    assert ours["answer"]["kl"] == pytest.approx(its["answer"]["kl"])
    # of a sketch, rows and map are those of the selected layer alone, which cannot tell how far all heads moved
    assert arrays.keys() ^ expected.keys() == {"moved.self"}
    numpy.testing.assert_allclose(arrays["tiles.self"].astype(float), expected["tiles.self"], atol=1)
    numpy.testing.assert_allclose(arrays["map.used"].astype(float), expected["map.used"], atol=1)
    numpy.testing.assert_allclose(arrays["rows.self"][0].astype(float), expected["rows.self"][1], atol=1)


def test_a_constant_head_without_a_matrix_is_shown_live_and_stays_in_the_link():
    models.load_folder(folder_of("bert"))
    link = {"model": "folder:bert", "text": TEXT, "plan": "self-0.1c-1.2g0", "at": "0.1"}
    app = opened(**link)
    assert not app.exception and not app.error
    assert address_of(app)["plan"] == link["plan"]
    shown = sent(app, "lab")[0]
    (block,) = shown["kinds"]
    assert not shown["can_constant"] and not any(map(any, block["constant"])) and block["gates"][1][2] == 0
    assert "constant" not in shown["tool"]["views"]
    assert sent(opened(**link | {"plan": "self-1.2g0"}), "lab")[0]["answer"] == shown["answer"]
    assert not sent(opened(**link | {"plan": "self-0.1c"}), "lab")[0]["changed"]  # the plan has no effect


@pytest.fixture
def twins(tmp_path: Path) -> tuple[Path, Path]:
    """Returns two folders with the same name whose models give different results."""
    for place, name in (("one", "bert"), ("other", "gpt2")):
        shutil.copytree(folder_of(name), tmp_path / place / "twin")
    return tmp_path / "one" / "twin", tmp_path / "other" / "twin"


def test_of_two_folders_with_the_same_name_the_last_is_shown(twins, monkeypatch):
    monkeypatch.setattr(model_cache, "_cache", model_cache.ModelCache(lambda: 2**30))
    first, second = (models.load_folder(folder) for folder in twins)
    assert first.name == second.name == "folder:twin"
    assert models.cached("folder:twin") is second
    for lab in (first, second):
        assert compute.read(lab, TEXT).tokens == lab.read(TEXT).tokens
    assert models.load_folder(twins[0]) is first is models.cached("folder:twin")


def test_matrices_are_of_the_model_that_they_were_made_for(twins, monkeypatch):
    from models.labs.foreign.running.constants import mean_weights

    visiting(monkeypatch)
    first, second = (models.load_folder(folder) for folder in twins)
    made = first.with_constant(mean_weights(first, [TEXT], 16))
    visit.keep_constants(made)
    assert visit.with_constants(first) is made
    assert visit.with_constants(second) is second


def test_models_that_see_are_compared_on_the_picture_of_the_page(tmp_path, monkeypatch):
    """Whichever model it was uploaded for; without an upload they run on the example image."""
    visiting(monkeypatch)
    monkeypatch.setattr(model_cache, "_cache", model_cache.ModelCache(lambda: 2**30))
    first, second = (models.load_folder(shutil.copytree(folder_of("vit"), tmp_path / name)) for name in "ab")
    state = LabState(first.name, compared=(second.name,))
    example = read_model(second.name, state, "")
    assert isinstance(example, Compared) and example.before.prompt == read_picture(second)
    visit.set_picture(first.name, drawing(1))
    one, other = (read_model(name, state, "") for name in state.models)
    assert isinstance(one, Compared) and isinstance(other, Compared)
    assert one.before.prompt == other.before.prompt == second.read_picture(drawing(1))
    assert other.before.prompt != example.before.prompt


def test_a_visitor_keeps_the_matrices_made_last(monkeypatch):
    class Made:
        def __init__(self, name: str) -> None:
            self.name, self.task = name, name

    now = visiting(monkeypatch)
    for name in ("a", "b", "a", "c"):
        visit.keep_constants(Made(name))
    assert list(now.labs) == ["a", "c"]
