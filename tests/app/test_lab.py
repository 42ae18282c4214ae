"""The Lab: its view, the payload of its picture, the looking word, the scale of all heads, events and its link."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_plus

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray

import models
from app import compute
from app.content import picture
from app.content.effect import log_n_note, scale_of
from app.lab import page
from app.lab.view import View
from app.panels import text
from app.state import visit
from app.state.events import on_heads, on_toolbar
from app.state.lab_state import LabState
from app.state.lab_view import LAST, LabView
from app.state.link import query_of, read_query
from models.plan import HeadPlan, Scale
from models.trace import row_entropy
from tests.app.test_pages import opened, sent

STORY = "Tom had a big red ball. He went to the park with his mom. He wanted to play with his"
LAYER = HeadPlan.parse("self-2.0~7g0")


def view_of(model: str, plan: HeadPlan = HeadPlan(), written: str | None = None, **shown: Any) -> View:
    """Returns the view of a new visitor."""
    now = visit.Visit()
    with visit.use(now):
        state = LabState(model, written)
        state = replace(state, page="lab", plan=plan, selection=state.selection.within(state.shape),
                        lab=LabView(**shown))
        now.history.do(state)
        lab = models.load(model)
        return View(lab, text.read(lab, now.history, state.text), state.for_model(model))


def unpacked(view: View, kind: str, array: ndarray) -> ndarray:
    """Returns weights (L, H, n, m) of packed tiles."""
    block = next(block for block in picture.content(view)[0]["kinds"] if block["kind"] == kind)
    weights = (array / 255.0) ** 2
    if not block["packed"]:
        return weights
    rows, columns = block["side"]
    whole = numpy.zeros((*array.shape[:2], rows, columns))
    whole[:, :, *numpy.tril_indices(rows)] = weights
    return whole


@pytest.mark.parametrize("model", ["stories-selective", "masked-softmax", "translation-softmax", "masked-gau-softmax"])
def test_contributions_and_guesses_take_no_pass_of_their_own(model: str, request: pytest.FixtureRequest):
    lab = models.load(model)
    view = view_of(model, HeadPlan().gate(lab.kinds[-1].name, 0, 0, 0.0))
    assert view.changed  # computes both traces
    passes: list[int] = []
    hook = lab.model.register_forward_pre_hook(lambda *_: passes.append(1))
    request.addfinalizer(hook.remove)
    before, after = view.formations
    assert not passes
    for formation, trace in ((before, view.before), (after, view.after)):
        position = view.output.position
        expected = lab.writes(trace.prompt, HeadPlan() if trace is view.before else view.plan, position)
        assert passes and numpy.allclose(formation.logits, expected.logits, atol=1e-5)
        assert numpy.allclose(formation.logits.softmax(-1),
                              next(o for o in trace.outputs if o.position == position).distribution, atol=1e-5)


def test_bars_below_tiles_are_the_share_of_attention_that_a_change_moved():
    view = view_of("stories-selective", HeadPlan().gate("self", 1, 2, 0.0))
    moved = picture.content(view)[1]["moved.self"]
    old, new = (trace.weights["self"][:, :, view.look].astype(float) for trace in view.traces)
    assert moved == pytest.approx(numpy.maximum(new - old, 0).sum(-1), abs=1e-6)  # what words gained, others lost
    assert not moved[:2].any() and moved[2:].all() and moved.max() <= 1
    assert not any(name.startswith("moved") for name in picture.content(view_of("stories-selective"))[1])


@pytest.mark.parametrize("model", ["stories-selective", "masked-softmax", "assignment-log-n", "translation-softmax",
                                   "masked-gau-softmax", "masked-gau-relu2"])
def test_tiles_are_the_patterns_after_the_plan(model: str):
    view = view_of(model)
    header, arrays = picture.content(view)
    json.dumps(header, allow_nan=False)
    for kind in view.lab.kinds:
        tiles = unpacked(view, kind.name, arrays[f"tiles.{kind.name}"])
        most = next(block["most"] for block in header["kinds"] if block["kind"] == kind.name)
        numpy.testing.assert_allclose(most * tiles, view.after.weights[kind.name], atol=4e-3)


def test_a_long_text_has_pooled_tiles_and_whole_rows():
    view = view_of("stories-softmax", written=" ".join(["The red ball is in the box."] * 12))
    header, arrays = picture.content(view)
    block = header["kinds"][0]
    assert not block["exact"] and max(block["side"]) <= picture.SIDE
    weights = view.after.weights["self"][:, :, view.look]
    numpy.testing.assert_allclose((arrays["rows.self"] / 255.0) ** 2, weights, atol=4e-3)
    kept = unpacked(view, "self", arrays["tiles.self"])
    assert abs(kept.max() - view.after.weights["self"].max()) < 4e-3  # the darkest cell is never lost


@pytest.mark.parametrize("plan", [HeadPlan(), HeadPlan().gate("self", 1, 2, 0.5)])
def test_contributions_and_guesses_are_those_of_the_analysis(plan: HeadPlan):
    """With the scale of its own pass, the parts are those of models.head_attribution."""
    view = view_of("stories-softmax", plan, STORY, marks="cg")
    token, _base = view.tokens
    before, after = view.formations
    heads, rest = after.contributions(token)
    known = models.head_attribution(view.lab, STORY, plan, token=token)
    numpy.testing.assert_allclose(heads["self"], known.heads["self"], atol=1e-4)
    assert sum(rest.values()) + heads["self"].sum() == pytest.approx(known.total, abs=1e-3)
    lens = models.logit_lens(view.lab, STORY, plan, k=3)
    shown = picture.content(view)[0]["guesses"]
    assert [[guess["label"] for guess in row] for row in shown["layers"]] == lens.labels[:, -1].tolist()
    numpy.testing.assert_allclose(shown["chance"], lens.final[:, -1], atol=1e-4)
    assert (before is after) == (not plan)


def test_a_head_without_a_change_keeps_its_contribution():
    """After layer 3 is pruned, the bars of layers 1 and 2 keep their height: the norm's scale is the baseline's."""
    view = view_of("stories-selective", LAYER, STORY, marks="c")
    _header, arrays = picture.content(view)
    numpy.testing.assert_allclose(arrays["stubs.self"][:2], arrays["stubs_before.self"][:2], atol=1e-4)
    assert not arrays["stubs.self"][2].any() and arrays["stubs_before.self"][2].any()


def test_bars_and_line_have_one_target():
    """After a change, both explain the new answer first, and the former answer if it is chosen."""
    view = view_of("stories-selective", LAYER, STORY, marks="cg")
    _new, former = view.tokens
    chosen = replace(view.state, explanation=replace(view.state.explanation, token=former))
    for each, label in ((view, " friends"), (replace(view, state=chosen), " ball")):
        header, _arrays = picture.content(each)
        assert header["contributions"]["token"]["label"] == header["guesses"]["token"] == label
        row = next(row for row in header["answer"]["rows"] if row["label"] == label)
        assert header["guesses"]["chance"][-1] == pytest.approx(row["after"], abs=1e-4)


@given(tool=st.sampled_from(["head.looks", "answer.who", "layer.mean"]), look=st.integers(-1, 999),
       marks=st.sampled_from(["", "c", "g", "cg"]),
       pins=st.sampled_from([(), ("head.why",), ("answer.who", "all.find")]),
       settings=st.dictionaries(st.from_regex(r"[a-z]{1,16}\.[a-z]{1,16}", fullmatch=True),
                                st.from_regex(r"[a-z0-9]{1,12}", fullmatch=True), max_size=4))
def test_a_link_holds_the_view(tool: str, look: int, marks: str, settings: dict[str, str], pins: tuple[str, ...]):
    view = LabView(tool, look, marks, tuple(sorted(settings.items())), pins)
    assert LabView.parse(str(view)) == view
    state = replace(LabState("stories-softmax"), page="lab", lab=view)
    query = dict(pair.split("=", 1) for pair in query_of(state).split("&"))

    assert read_query({key: unquote_plus(value) for key, value in query.items()})[0].lab == view


@pytest.mark.parametrize("field", ["", "head", "head.looks~x", "head.looks~~q", "head.looks~~~a", "x.y",
                                   "head.looks~1~c~a.b!c~~", "head.looks~~~~x.y",
                                   "head.looks~~~~head.why'head.why", "head.looks~~~" + "'".join(["a.b!c"] * 40)])
def test_a_broken_view_of_a_link_is_reported(field: str):
    state, problems = read_query({"page": "lab", "model": "stories-softmax", "lab": field})
    assert state.lab == LabView() and len(problems) == 1


HOSTILE: list[dict[str, Any]] = [
    {}, {"type": None}, {"type": "look", "position": "3"}, {"type": "look", "position": 10**9},
    {"type": "tool", "name": "head.<b>"}, {"type": "thing", "thing": "world"}, {"type": "marks", "guesses": "yes"},
    {"type": "set", "name": "find.role", "value": "~" * 10}, {"type": "set", "name": "a" * 99, "value": "x"},
    {"type": "select", "kind": "self", "layer": 99, "head": 0, "scope": "head"}, {"type": "prediction", "index": -4},
    {"type": "contribution", "token": -7}, {"type": "model", "name": "../../etc/passwd"}, {"type": "text", "text": 7},
    {"type": "heads"}, {"type": "heads", "layer": True, "head": 0}, {"type": ["select"]}, {"type": "view", "view": "x"},
    {"type": "prediction", "index": -3}, {"type": "view", "view": {}}, {"type": "prune", "heads": None, "left": 0},
    {"type": "select", "layer": 0, "head": 0, "scope": "everything"},
    *({"type": "heads", "layer": 0, "head": 0, "scope": "head"} | values for values in (
        {"layer": 99, "gate": 0.5}, {"layer": -1, "gate": 0}, {"gate": numpy.nan}, {"gate": 7}, {"constant": "yes"})),
    *({"type": "scale", "policy": policy, "base": base} for policy, base in (
        ("logn", 1), ("logn", "64"), ("other", 64), (["logn"], 64))),
    *({"type": "prune", "heads": [head], "left": 0} for head in (["self", 0], ["self", 9, 0], ["no", 0, 0],
                                                                 [["self"], 0, 0], 1)),
    *({"type": "act", **values} for values in (
        {}, {"tool": 7}, {"tool": "answer.who"}, {"tool": "word.hide", "word": -1}, {"tool": "all.papa", "count": 1e9},
        {"tool": "all.papa", "count": 10**9}, {"tool": "answer.cont", "seed": 1e999, "top_p": "x", "temperature": -4},
        {"tool": "all.fewest", "bound": [1], "wanted": {}, "apply": "fewest"}, {"tool": "answer.cont", "memory": "99"},
        {"tool": "all.second", "model": "../etc"}, {"tool": "all.second", "model": ["stories-softmax"]}))]


@pytest.mark.parametrize("event", HOSTILE)
def test_a_hostile_event_changes_nothing(event: dict[str, Any]):
    now = visit.Visit()
    with visit.use(now):
        now.history.do(LabState("stories-softmax", STORY))
        before = (now.history.present, [*now.history.past], [])
        for handler in (page.on_lab, on_heads, on_toolbar):
            handler(event)
        assert (now.history.present, now.history.past, now.history.problems) == before


def test_events_change_the_view():
    now = visit.Visit()
    with visit.use(now):
        now.history.do(replace(LabState("stories-softmax"), page="lab"))
        for event in ({"type": "select", "kind": "self", "layer": 2, "head": 0, "scope": "row"},
                      {"type": "look", "position": 4}, {"type": "marks", "contributions": True},
                      {"type": "set", "name": "looks.view", "value": "constant"}):
            page.on_lab(event)
        shown = now.history.present
        assert shown.selection.scope == "row" and shown.lab.thing == "layer"
        assert (shown.lab.look, shown.lab.marks) == (4, "c") and shown.lab.setting("looks.view") == "constant"
        page.on_lab({"type": "look", "position": LAST})
        assert now.history.present.lab.look == LAST


def test_a_view_that_waits_for_its_turn_stops_no_other_view(monkeypatch):
    """Both views read the same property, whose computation in the one waits until the other is done."""
    one, other = (view_of("stories-softmax", written=written) for written in ("Once upon a time", "One day"))
    begun, done, traces_of = threading.Event(), threading.Event(), compute.traces_of

    def waiting(lab, prompt, plan):
        if prompt is one.reading.prompt:
            begun.set()
            assert done.wait(20)
        return traces_of(lab, prompt, plan)

    monkeypatch.setattr(compute, "traces_of", waiting)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: one.index)
        assert begun.wait(20)
        second = pool.submit(lambda: other.index)
        try:
            assert second.result(10) == other.index
        finally:
            done.set()
        assert first.result(20) == one.index


@pytest.mark.parametrize(("model", "text", "ask", "at"), [
    ("assignment-selective", "k=4; m=9; k=?; k=2; m=?; k=?", "0", 5),
    ("assignment-selective", "k=4; m=9; k=?; k=2; m=?; k=?", "9", None), ("stories-softmax", "A red ball", "", None),
    ("masked-softmax", "The [cat] sat on the mat.", "", 2)])
def test_without_a_pointer_the_current_word_is_a_predicted_one(model: str, text: str, ask: str, at: int | None):
    app = opened(model=model, text=text, **({"ask": ask} if ask else {}))
    header, _ = sent(app, "lab")
    predicted = models.load(model).read(text).predict_at
    assert header["at"] == (predicted[-1] if at is None else at)
    assert header["at"] in predicted


def growth(trace: models.Trace) -> float:
    """Returns the slope of the mean entropy of all heads against ln n, in nats."""
    nats = numpy.concatenate([row_entropy(maps) for maps in trace.weights["self"]]).mean(0)
    places = numpy.log(numpy.arange(1, len(nats) + 1))
    return float(numpy.polyfit(places[3:], nats[3:], 1)[0])


@pytest.mark.parametrize("name", ["stories-softmax", "stories-selective", "assignment-softmax"])
def test_log_n_with_the_offered_base_keeps_entropy_from_growing(name: str):
    lab = models.load(name)
    for _title, story in lab.task.examples[:3]:
        trained = models.run(lab, story)
        offered = scale_of(lab, Scale(), len(trained.tokens))["base"]
        plan = HeadPlan().with_scale("logn", offered)
        assert growth(models.run(lab, story, plan)) < 0.8 * growth(trained), story


def test_the_scale_says_what_it_does_to_this_text():
    assert "note" not in sent(opened(model="stories-softmax"), "lab")[0]["scale"]
    shown = sent(opened(model="stories-softmax", plan="scale-logn9"), "lab")[0]["scale"]
    assert shown["note"] == log_n_note(19, 9, causal=True)
    assert "by 1.34 at the last of 19 tokens, by 1 at token 9" in shown["note"]
    beyond = sent(opened(model="stories-softmax", plan="scale-logn256"), "lab")[0]["scale"]
    assert "rows get flatter" in beyond["note"]
    assert "by 0.53" in beyond["note"]
    assert "by 1.30, because every query sees 20 tokens" in log_n_note(20, 10, causal=False)
    for causal in (True, False):  # the name in the literature, for a reader who knows the source
        assert all(log_n_note(20, base, causal).startswith("Entropy-invariant softmax") for base in (10, 64))
    assert "flatter" in log_n_note(20, 64, causal=False)
