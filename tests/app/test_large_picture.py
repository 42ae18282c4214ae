"""Tests of the position of the looking word, and of the scale that applies to all heads, from links and from events."""

import numpy
import pytest

import models
from app.content.heads import log_n_note, scale_of
from models import HeadPlan
from models.plan import Scale
from models.trace import row_entropy
from tests.app.test_pages import opened, sent


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
    for _title, text in lab.task.examples[:3]:
        trained = models.run(lab, text)
        offered = scale_of(lab, Scale(), len(trained.tokens))["base"]
        plan = HeadPlan().with_scale("logn", offered)
        assert growth(models.run(lab, text, plan)) < 0.8 * growth(trained), text


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
