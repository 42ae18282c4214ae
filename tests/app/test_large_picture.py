"""Tests of the data for the large map, and of the scale that applies to all heads, from links and from events.

pytest tests/app/test_large_picture.py
"""

from __future__ import annotations

from urllib.parse import parse_qsl

import numpy
import pytest

import models
from app.content.heads import log_n_note, scale_of
from app.state import visit
from app.state.lab_state import FORMS, MEANS, SHADINGS, LabState
from app.state.link import query_of, read_query
from models import HeadPlan
from models.plan import Scale
from models.trace import row_entropy
from tests.app.test_pages import opened, sent

TEXT = "y=7; x=1; x=3; z=5; x=?"


@pytest.mark.parametrize("shading", SHADINGS)
def test_the_colour_scale_is_in_the_link_and_in_maps_and_thumbnails(shading: str):
    link = dict(parse_qsl(query_of(LabState("assignment-selective", TEXT, shading=shading))))
    assert link.get("shade", "root") == shading
    app = opened(**link)
    assert [sent(app, name)[0].get("shading", "root") for name in ("heads", "head_map")] == [shading, shading]
    with visit.use(app.session_state["visit"]) as now:
        for value in ("log", 7, [], "linear"):  # a forged event changes nothing
            now.channel.receive([("map", {"type": "shading", "shading": value, "sequence": now.channel.newest + 1})])
    app.run()
    assert app.session_state["visit"].history.present.shading == "linear"
    assert sent(app, "heads")[0]["shading"] == "linear"


@pytest.mark.parametrize(("form", "mean"), [(form, mean) for form in FORMS for mean in MEANS])
def test_the_choice_is_in_the_link_and_sends_no_more(form: str, mean: str):
    link = dict(parse_qsl(query_of(LabState("assignment-selective", TEXT, form=form, mean=mean))))
    assert read_query(link)[0].form == form
    assert read_query(link)[0].mean == mean
    assert ("as" in link, "mean" in link) == (form != "words", mean != "head")
    app = opened(**link)
    header, arrays = sent(app, "head_map")
    assert (header["form"], header["mean"]) == (form, mean)
    n = len(header["rows"])
    # the Words view needs no additional payload: these triangles and the thumbnails are sent anyway
    assert {name: array.nbytes for name, array in arrays.items()} == dict.fromkeys(
        ("live", "constant", "scores", "selected"), 4 * n * (n + 1) // 2)
    (name, tiles), = sent(app, "heads")[1].items()
    assert (name, tiles.nbytes) == ("tiles self", 3 * 4 * n * (n + 1) // 2)


@pytest.mark.parametrize(("model", "text", "ask", "at"), [
    ("assignment-selective", "k=4; m=9; k=?; k=2; m=?; k=?", "0", 5),
    ("assignment-selective", "k=4; m=9; k=?; k=2; m=?; k=?", "9", None), ("stories-softmax", "A red ball", "", None),
    ("masked-softmax", "The [cat] sat on the mat.", "", 2)])
def test_without_a_pointer_the_current_word_is_a_predicted_one(model: str, text: str, ask: str, at: int | None):
    app = opened(model=model, text=text, **({"ask": ask} if ask else {}))
    header, _ = sent(app, "head_map")
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
    for _title, text in lab.task.examples[:3]:
        trained = models.run(lab, text)
        offered = scale_of(lab, Scale(), len(trained.tokens))["base"]
        plan = HeadPlan().with_scale("logn", offered)
        assert growth(models.run(lab, text, plan)) < 0.8 * growth(trained), text


def test_the_scale_says_what_it_does_to_this_text():
    assert "note" not in sent(opened(model="stories-softmax"), "heads")[0]["scale"]
    shown = sent(opened(model="stories-softmax", plan="scale-logn9"), "heads")[0]["scale"]
    assert shown["note"] == log_n_note(19, 9, causal=True)
    assert "by 1.34 at the last of 19 tokens and by 1 at token 9" in shown["note"]
    beyond = sent(opened(model="stories-softmax", plan="scale-logn256"), "heads")[0]["scale"]
    assert "every row gets flatter" in beyond["note"]
    assert "by 0.53" in beyond["note"]
    assert "by 1.30: every query sees all 20 tokens" in log_n_note(20, 10, causal=False)
    for causal in (True, False):  # the name in the literature, for a reader who knows the source
        assert all(log_n_note(20, base, causal).startswith("Entropy-invariant softmax") for base in (10, 64))
    assert "flatter" in log_n_note(20, 64, causal=False)
