"""Tests of the Heads page: measurements over a corpus and on the input text, role badges, points that select heads.

pytest tests/app/test_heads_page.py
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

import numpy
import pytest
from streamlit.testing.v1 import AppTest
from test_pages import all_sent, opened, sent

import models
from app.panels.choice.labels import model_label
from app.panels.measured import disagreement
from app.panels.measured.measures import of_corpus
from app.state import session
from app.state.handlers import head_events
from app.state.pages.heads_view import MEASURES, HeadsView
from figures.theme import palette
from models.analysis.head_similarity import disagreement_of, of_text
from models.plan import HeadPlan
from models.trace import divergence
from studies import store
from tests.browser import ROOT
from tests.figures.specs import panels, rows

TYPED = "Once upon a time there was a little girl"


def points(app: AppTest) -> list[tuple[float, float]]:
    """Returns the coordinates (x, y) of every head in the scatter chart."""
    (spec,) = (header["spec"] for header, _ in all_sent(app, "figure") if header["what"] == "heads")
    return [(row["x"], row["y"]) for row in rows(spec)]


def test_confidence_and_loss_difference_of_each_head_on_the_input_text():
    """The chart has the confidence of each head, and the loss difference when only this head is pruned."""
    app = opened(page="heads", model="stories-softmax", text=TYPED, show="confidence.loss.text")
    assert not app.exception
    lab = models.load("stories-softmax")
    trace = models.run(lab, TYPED)
    drawn = points(app)
    assert len(drawn) == 32
    for index in (0, 13, 31):
        head = divmod(index, 8)
        weights = trace.weights["self"][head][1:, 1:]
        assert drawn[index][0] == pytest.approx(weights.max(-1).mean(), abs=1e-5)
        pruned = models.run(lab, TYPED, models.HeadPlan().gate("self", *head, 0.0))
        assert drawn[index][1] == pytest.approx(pruned.loss - trace.loss, abs=1e-4)
    (chart,) = app.get("plotly_chart")
    axis = json.loads(chart.proto.spec)["layout"]["yaxis"]["title"]["text"]
    assert "increase" in axis and axis.endswith("nats")  # a difference, with its unit


def traces(app: AppTest) -> list[dict[str, Any]]:
    """Returns the traces (data series) of the plotly chart."""
    (chart,) = app.get("plotly_chart")
    return json.loads(chart.proto.spec)["data"]


def test_points_carry_their_heads_and_rings_none():
    """Each layer is a trace of the chart, and its points carry the index of their head.

    Rings mark the selected and the picked heads, and carry no index.
    """
    plan = HeadPlan().gate("self", 1, 2, 0.0)
    app = opened(page="heads", model="stories-softmax", text=TYPED, at="1.2", plan=str(plan))
    *layers, names, picked, selected = traces(app)
    assert [index for layer in layers for index in layer["customdata"]] == list(range(32))
    assert len({(layer["name"], str(layer["marker"]["symbol"][0])) for layer in layers}) == 4
    assert [index for layer in layers for index, its in zip(layer["customdata"], layer["marker"]["symbol"],
                                                            strict=True) if its.endswith("-open")] == [10]
    assert not any("customdata" in trace for trace in (names, picked, selected)) and picked["x"] == []
    assert "2.4" in names["text"]  # far from all others
    assert (selected["x"][0], selected["y"][0]) == points(app)[10]


@pytest.mark.parametrize(("selection", "expected"), [
    ({"points": [{"customdata": 3}]}, ([3], False)),
    ({"points": [{"customdata": [3]}, {"customdata": 3}, {}], "lasso": [{}]}, ([3], True)),
    ({"points": [{"customdata": 32}, {"customdata": -1}, {"customdata": True}, {"customdata": "1"}, 5]}, ([], False)),
    ({"points": 5, "box": []}, ([], False)), (None, ([], False)), ([], ([], False))])
def test_a_forged_selection_picks_no_other_heads(selection: Any, expected: tuple[list[int], bool]):
    assert head_events._selected({"selection": selection}, 32) == expected


def test_heads_are_picked_in_the_list_and_pruned_together():
    app = opened(page="heads", model="stories-softmax", text=TYPED)
    app.multiselect(key=session.PICKED).set_value([0, 9]).run()
    assert traces(app)[-2]["x"] == [points(app)[index][0] for index in (0, 9)]
    next(button for button in app.button if button.label == "Prune").click().run()
    gates = numpy.array(sent(app, "heads")[0]["grids"][0]["gates"])
    assert [tuple(map(int, place)) for place in numpy.argwhere(gates == 0)] == [(0, 0), (1, 1)]


def test_rank_correlations_are_a_chart():
    app = opened(page="heads", model="stories-softmax", text=TYPED)
    (spec,) = (header["spec"] for header, _ in all_sent(app, "figure") if header["what"] == "correlations")
    names = [name for name in MEASURES if MEASURES[name] in {row["down"] for row in rows(spec)}]
    measured = store.read("stories-softmax", "heads")["kinds"]["self"]
    for row in rows(spec):
        one, other = (next(name for name in names if MEASURES[name] == row[side]) for side in ("down", "across"))
        ranks = [numpy.argsort(numpy.argsort(numpy.ravel(measured[name]))) for name in (one, other)]
        assert row["value"] == pytest.approx(numpy.corrcoef(*ranks)[0, 1], abs=1e-6)


def test_plotly_has_the_colours_of_the_app():
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    for name in ("light", "dark"):
        assert config[name]["chartCategoricalColors"] == palette(name)["series"]


def test_the_heads_page_shows_the_effect_of_the_plan():
    plan = HeadPlan().gate("self", 0, 0, 0.0)
    app = opened(page="heads", model="stories-softmax", text=TYPED, plan=str(plan))
    ((header, _),) = all_sent(app, "effect")
    before, after = (models.run(models.load("stories-softmax"), TYPED, its) for its in (HeadPlan(), plan))
    assert header["changed"]
    assert header["predictions"][-1]["kl"] == pytest.approx(divergence(before.output, after.output), abs=1e-5)


def test_the_example_prunes_the_head_that_costs_most():
    app = opened(page="heads", model="stories-softmax", text=TYPED)
    losses = numpy.array(store.read("stories-softmax", "heads")["kinds"]["self"]["loss"])
    layer, head = divmod(int(losses.argmax()), losses.shape[1])
    button = app.button(key="example-head")
    assert f"head {layer + 1}.{head + 1}" in button.label
    button.click().run()
    gates = numpy.array(sent(app, "heads")[0]["grids"][0]["gates"])
    assert gates[layer, head] == 0 and gates.sum() == gates.size - 1


@pytest.mark.parametrize("name", ["masked-gau-relu2", "assignment-selective", "masked-softmax"])
def test_models_of_other_types_show_the_measures_that_apply(name: str):
    app = opened(page="heads", model=name, show="relevance.confidence.text")
    assert not app.exception
    if name == "masked-gau-relu2":
        assert [MEASURES["relevance"] in its.value for its in app.info] == [True]
    else:
        assert len(points(app)) == sum(a * b for a, b in models.load(name).shape.values())


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replaces the model's measurements over a corpus by synthetic numbers, and returns these."""
    values = {name: numpy.arange(32).reshape(4, 8).tolist() for name in ("confidence", "relevance", "loss")}
    role = {"kind": "self", "layer": 1, "head": 2, "share": 0.95, "examples": [
        {"text": "The cat *sat*.", "from": [8, 13], "to": [4, 7]}]}
    found = {"sentences": 9, "command": "python -m studies.corpus.heads stories-softmax",
             "kinds": {"self": values},
             "roles": [role | {"role": "position -1"}, role | {"role": "nsubj down", "baseline": 0.2},
                       role | {"role": "position -1", "layer": 3}]}
    monkeypatch.setattr(store, "read", lambda name, kind, *rest: found if kind == "heads" else None)
    return found


def test_roles_are_badges_with_a_filter_and_examples(measured: dict[str, Any]):
    app = opened(page="heads", model="stories-softmax", at="1.2")
    assert not app.exception
    notes = sent(app, "heads")[0]["grids"][0]["notes"]
    assert notes[1][2] == ["-1 S↓", "position -1, verb → subject"] and notes[3][2][0] == "-1"
    assert notes[0][0] == ["", ""]
    text = "\n".join(its.value for its in app.markdown)
    assert "verb → subject" in text and "position -1" in text and "**cat**" in text and "*sat*" not in text
    assert "from “barked” to “dog”" in text and "attends to the token before it" in text
    assert "3% of this model's heads" in text and "6% of this model's heads" in text  # 1 and 2 of 32 heads
    app = opened(page="heads", model="stories-softmax", at="0.0", show="confidence.loss.corpus.nsubj down")
    notes = sent(app, "heads")[0]["grids"][0]["notes"]
    assert notes[1][2] == ["S↓", "verb → subject"] and notes[3][2] == ["", ""]
    explained = [its.value for its in app.caption if "Below a tile" in its.value]
    assert len(explained) == 1 and "verb → subject" in explained[0] and "position" not in explained[0]
    assert points(app)[9] == (9, 9)
    lab = models.load("stories-softmax")
    assert of_corpus(lab, measured).values["loss"].tolist() == list(range(32))


def test_a_role_of_more_than_80_percent_of_the_heads_is_not_shown(measured: dict[str, Any]):
    role = measured["roles"][0]
    for count, shown in ((25, True), (26, False)):  # 78% and 81% of 32 heads
        measured["roles"] = [role | {"layer": i // 8, "head": i % 8} for i in range(count)]
        notes = sent(opened(page="heads", model="stories-softmax"), "heads")[0]["grids"][0]["notes"]
        assert notes[0][0] == ["-1", "position -1"] if shown else notes == []


def test_other_texts_of_the_selected_head():
    """Explore lists the stored texts of the head; a click on a text makes it the input text."""
    app = opened(model="stories-softmax", open="elsewhere", at="2.3")
    assert not app.exception
    found = store.read("stories-softmax", "examples")
    examples = found["heads"]["self"][2][3]
    buttons = [its for its in app.button if (its.key or "").startswith("example by")]
    assert len(buttons) == 20
    buttons[9].click().run()
    assert app.session_state["visit"].history.present.text == found["texts"][examples["confidence"][9]]
    assert app.session_state["visit"].history.present.section == "elsewhere"
    assert len(app.table[0].value) == len(examples["keys"])


@pytest.mark.parametrize("term", ["out", "sub", "pos"])
def test_disagreement(term: str):
    """Similarities of head pairs are computed on the input text. The table shows exp(D) of the same pairs."""
    app = opened(page="heads", model="stories-softmax", text=TYPED, term=term)
    assert not app.exception
    lab = models.load("stories-softmax")
    found = of_text(lab, lab.read(TYPED))
    spec = next(header["spec"] for header, _ in all_sent(app, "figure") if header["what"].startswith("pairs"))
    assert len(panels(spec)) == 4
    numpy.testing.assert_allclose([row["value"] for row in rows(spec, 2)], found["self"][term][2].ravel(), atol=1e-3)
    table = app.table[-1].value
    assert table.iloc[0][{"out": "Outputs", "sub": "Values", "pos": "Positions"}[term]] == \
        f"{numpy.exp(disagreement_of(found, term)):.3f}"


def test_a_regularised_model_stands_beside_the_plain_one(monkeypatch: pytest.MonkeyPatch):
    """A model trained with a disagreement term is compared with the model without one, and the reverse.

    Both models have the same number of steps and differ in nothing else.
    """
    def card(steps: int, *terms: str, attention: str = "Softmax") -> dict[str, Any]:
        training = {"steps": steps, "tokens_per_step": 64} | ({"disagreement": [*terms]} if terms else {})
        return {"attention": {"title": attention}, "training": training}

    cards = {"plain": card(8), "longer": card(9), "dense": card(8, attention="Dense"), "out": card(8, "out"),
             "pos": card(9, "pos"), "all": card(8, "sub", "pos", "out")}
    monkeypatch.setattr(disagreement.catalogue, "family", lambda name: [*cards])
    monkeypatch.setattr(disagreement, "card_of", cards.__getitem__)
    for name, term, other in (("plain", "out", "out"), ("plain", "sub", None), ("plain", "pos", None),
                              ("longer", "pos", "pos"), ("out", "sub", "plain"), ("all", "out", "plain"),
                              ("pos", "pos", "longer"), ("dense", "out", None)):
        assert disagreement.counterpart(name, term) == other
    assert disagreement.counterpart("hf:org/name", "out") is None


def test_two_models_disagreements_are_shown_on_the_same_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(disagreement, "counterpart", lambda name, term: "stories-log-n")
    app = opened(page="heads", model="stories-softmax", text=TYPED, term="out")
    assert not app.exception
    charts = [header for header, _ in all_sent(app, "figure") if header["what"].startswith("pairs")]
    for number, name in enumerate(("stories-softmax", "stories-log-n")):
        lab = models.load(name)
        found = of_text(lab, lab.read(TYPED))
        assert charts[number]["models"] == [name] and model_label(name) in charts[number]["title"]
        numpy.testing.assert_allclose([row["value"] for row in rows(charts[number]["spec"], 2)],
                                   found["self"]["out"][2].ravel(), atol=1e-3)
        assert app.table[-1].value.iloc[number]["Outputs"] == f"{numpy.exp(disagreement_of(found, 'out')):.3f}"
    assert len(charts) == 2 and "**log n**" in [its.value for its in app.markdown]


def test_the_view_is_a_link():
    for view in (HeadsView(), HeadsView("relevance", "open", "text", "position -12"), HeadsView(role="rare")):
        assert HeadsView.parse(str(view)) == view
    for text in ("", "confidence", "confidence.loss", "confidence.loss.corpus.<b>", "a.b.corpus"):
        with pytest.raises(ValueError, match="nothing that the Heads page shows"):
            HeadsView.parse(text)
    app = opened(page="heads", model="stories-softmax", show="confidence.loss.somewhere")
    assert not app.exception and "unknown choice of measures" in str(sent(app, "notice")[0]["messages"])
    assert session.MEASURE_X != session.MEASURE_Y
