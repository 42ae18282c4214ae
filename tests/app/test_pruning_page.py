"""The Pruning page: heads go in an order, by the slider or a place in the chart; what the model says without them.

    pytest tests/app/test_pruning_page.py
"""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import opened, sent

import models
from app.panels import pruning
from app.state import head_events, session
from app.state.pruning_view import ORDERS, PruningView
from models import HeadPlan, orders
from models.studies import store

NAME, TYPED = "stories-softmax", "Once upon a time there was a little girl"
LAB = models.load(NAME)
HEADS = LAB.kinds[0].addresses


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Numbers of texts, whatever was measured of the model: heads go from the last one to the first by their loss, and
    from the first to the last by confidence."""
    losses = [[-(8.0 * layer + head) for head in range(8)] for layer in range(4)]
    confidence = [[8.0 * layer + head for head in range(8)] for layer in range(4)]
    role = {"kind": "self", "layer": 3, "share": 0.95, "role": "position -1"}
    found = {
        "heads": {"sentences": 9, "command": "python -m models.studies.heads stories-softmax",
                  "kinds": {"self": {"loss": losses, "confidence": confidence}},
                  "roles": [role | {"head": 7}, role | {"head": 0}]},
        "pruning": {"texts": 32, "predictions": 8192, "draws": 5, "cost_tokens": 128, "scopes": {"all": {
            "main": "alone",
            "curves": {"alone": [[n, 6 - n / 16, 0.01] for n in range(33)],
                       "random": [[n, 7 - n / 16, 0.2] for n in range(0, 33, 4)]},
            "costs": [{"left": n, "multiplications": 1000 * (68 + n), "of_heads": 1000 * n, "seconds": 0.01 + n / 1e4}
                      for n in range(0, 33, 4)]}}}}
    monkeypatch.setattr(store, "read", lambda name, kind, *rest: found.get(kind) if name == NAME else None)
    return found


def plan_of(app: AppTest) -> HeadPlan:
    return app.session_state["history"].present.plan


def said(app: AppTest) -> str:
    return "\n".join(its.value for its in (*app.markdown, *app.caption))


def test_the_slider_prunes_in_the_order_that_is_shown():
    app = opened(page="pruning", model=NAME, text=TYPED)
    assert not app.exception
    assert app.slider(key=session.LEFT).value == 32 and app.selectbox(key=session.ORDER).value == "alone"
    app.slider(key=session.LEFT).set_value(28).run()
    assert not app.exception
    plan = plan_of(app)
    assert [*plan.heads] == [("self", 3, head) for head in (4, 5, 6, 7)]
    after = models.run(LAB, TYPED, plan)
    rows = sent(app, "effect")[0]["predictions"][-1]["rows"]
    assert {row["label"]: row["after"] for row in rows} == pytest.approx(
        {row["label"]: float(after.output.distribution[after.output.names.index(row["label"])]) for row in rows},
        abs=1e-5)
    told = said(app)
    assert "28 of 32 heads are left." in told and "position -1 (-1) 1 of 2" in told
    assert "**4.250** nats" in told and "by chance 5.250" in told and "all have 4.000" in told
    assert "**96%** of the multiplications (88% of those of the heads) and **97%** of the time" in told
    # One drag is one step of undo.
    app.slider(key=session.LEFT).set_value(10).run()
    app.session_state["history"].undo()
    app.run()
    assert not plan_of(app) and app.slider(key=session.LEFT).value == 32


def test_a_study_that_was_stopped(measured: dict[str, dict[str, Any]]):
    """Points are missing, that of all heads among them: what is there is drawn, and nothing is said of the rest."""
    its = measured["pruning"]["scopes"]["all"]
    its["curves"] = {"alone": its["curves"]["alone"][:20:4], "random": []}
    app = opened(page="pruning", model=NAME, text=TYPED, plan="self-2.0~7g0-3.0~7g0")
    assert not app.exception and "16 of 32 heads" in said(app) and "By this order" not in said(app)
    assert len(sent(app, "chart")[0]["spec"]["panels"][0]["lines"][0]["points"]) == 5


def test_seeds_that_left_as_many_heads_are_one_point(measured: dict[str, dict[str, Any]]):
    runs = [(16, 4.0), (8, 1.0), (16, 6.0)]
    measured["gates"] = {"series": [{"kinds": ["self"], "heads_left": {"self": left}, "bleu": bleu}
                                    for left, bleu in runs] + [{"kinds": ["other"], "heads_left": {"other": 3},
                                                                "bleu": 9.0}]}
    chosen = pruning.Choice(orders={"alone": HEADS}, name="alone", scope="all", addresses=HEADS)
    (few, one, no_spread), (many, mean, spread) = pruning.trained_on(LAB, chosen)
    assert (few, one, no_spread, many, mean) == (8, 1.0, None, 16, 5.0) and spread == pytest.approx(2**0.5)


def test_another_order_keeps_the_number():
    """Of a plan that follows the order before; one made by hand stays as it is."""
    app = opened(page="pruning", model=NAME, text=TYPED, plan="self-3.6~7g0")
    app.selectbox(key=session.ORDER).set_value("confidence").run()
    assert str(plan_of(app)) == "self-0.0~1g0"
    app.selectbox(key=session.ORDER).set_value("random").run()
    assert [*plan_of(app).heads] == sorted(orders.at_random(HEADS)[:2])
    app = opened(page="pruning", model=NAME, text=TYPED, plan="self-1.1g0-2.2g0.5")
    assert "31 of 32 heads are left, not by this order" in said(app)
    app.selectbox(key=session.ORDER).set_value("confidence").run()
    assert str(plan_of(app)) == "self-1.1g0-2.2g0.5"
    assert sent(app, "toolbar")[0]["query"].endswith("order=confidence.all")


def test_by_this_text():
    """The order is that of the losses on the text when each head is pruned alone; and the curve that of its plans."""
    app = opened(page="pruning", model=NAME, text=TYPED, order="text.all")
    assert not app.exception
    before = models.run(LAB, TYPED)
    losses = [models.run(LAB, TYPED, HeadPlan().gate(*address, 0.0)).loss for address in HEADS]
    app.slider(key=session.LEFT).set_value(29).run()
    goes = sorted(range(32), key=losses.__getitem__)[:3]
    assert {*plan_of(app).heads} == {HEADS[i] for i in goes}
    panels = sent(app, "chart")[0]["spec"]["panels"]
    (line,) = next(panel for panel in panels if panel["title"] == "KL on this text")["lines"]
    assert [point[0] for point in line["points"]] == list(range(33))
    assert line["points"][32][1] == pytest.approx(0, abs=1e-6) and line["points"][0][1] > 0.1
    assert before.loss != min(losses)


def test_a_place_in_the_chart():
    app = opened(page="pruning", model=NAME, text=TYPED)
    order = orders.by_values(HEADS, [-i for i in range(32)])
    spec = sent(app, "chart")[0]["spec"]
    assert spec["chooses"] and [panel["title"] for panel in spec["panels"]] == [
        "Loss on held-out texts", "Cost of a pass", "KL on this text"]
    assert spec["panels"][1]["lines"][0]["points"][-1] == [32, 1.0]

    def place(x: object) -> None:
        head_events.on_chart({"type": "at", "x": x}, order)

    history = app.session_state["history"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(head_events, "history", lambda: history)
        for wrong in (33, -1, 1.5, True, "3", None):
            place(wrong)
        assert not history.present.plan
        place(31)
    assert str(history.present.plan) == "self-3.7g0"


@pytest.mark.parametrize("name", ["assignment-selective", "masked-gau-relu2", "masked-softmax", "stories-selective"])
def test_models_of_which_nothing_is_measured(name: str):
    """They have the order by the typed text, and chance."""
    app = opened(page="pruning", model=name)
    assert not app.exception
    assert app.selectbox(key=session.ORDER).options == [ORDERS["text"], ORDERS["random"]]
    count = sum(layers * heads for layers, heads in models.load(name).shape.values())
    app.slider(key=session.LEFT).set_value(count // 2).run()
    assert not app.exception and len(plan_of(app).heads) == count - count // 2
    assert ("language models only" if name.startswith("assignment") else "Not measured yet") in said(app)


def test_the_view_is_a_link():
    for order in ("", *ORDERS):
        for scope in ("all", "self", "encoder"):
            assert PruningView.parse(str(PruningView(order, scope))) == PruningView(order, scope)
    for text in ("alone", "alone.", "alone.everything", "by hand.all", "<b>.all", "alone.all.all"):
        with pytest.raises(ValueError, match="no order of heads"):
            PruningView.parse(text)
    app = opened(page="pruning", model=NAME, order="by hand.all")
    assert not app.exception and "which is not here" in str(sent(app, "notice")[0]["messages"])
    app = opened(page="pruning", model=NAME, order="confidence.encoder")  # it has no such kind
    assert not app.exception and len(app.slider(key=session.LEFT).label) and app.slider(key=session.LEFT).max == 32
