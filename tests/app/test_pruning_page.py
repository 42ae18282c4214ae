"""Tests of the Pruning page: order of heads, slider, clicks in the chart, and the predictions with fewer heads.

    pytest tests/app/test_pruning_page.py
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import all_sent, opened, sent

import models
from app.panels.measured import pruning
from app.state import session, visit
from app.state.pages.pruning_view import ORDERS, PruningView
from figures.curves.pruning import _SERIES
from models import HeadPlan
from models.analysis import pruning_orders
from studies import store
from tests.figures.specs import table, titles

NAME, TYPED = "stories-softmax", "Once upon a time there was a little girl"
LAB = models.load(NAME)
HEADS = LAB.kinds[0].addresses


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Replaces the model's measurements by synthetic ones, and returns these.

    Ordered by loss, heads are pruned from the last to the first; ordered by confidence, from the first to the last.
    """
    losses = [[-(8.0 * layer + head) for head in range(8)] for layer in range(4)]
    confidence = [[8.0 * layer + head for head in range(8)] for layer in range(4)]
    role = {"kind": "self", "layer": 3, "share": 0.95, "role": "position -1"}
    found = {
        "heads": {"sentences": 9, "command": "python -m studies.corpus.heads stories-softmax",
                  "kinds": {"self": {"loss": losses, "confidence": confidence}},
                  "roles": [role | {"head": 7}, role | {"head": 0}]},
        "pruning": {"texts": 32, "predictions": 8192, "draws": 5, "cost_tokens": 128, "scopes": {"all": {
            "main": "alone", "orders": {"alone": pruning_orders.written(HEADS[::-1])},
            "curves": {"alone": [[n, 6 - n / 16, 0.01] for n in range(33)],
                       "random": [[n, 7 - n / 16, 0.2] for n in range(0, 33, 4)]},
            "costs": [{"left": n, "multiplications": 1000 * (68 + n), "of_heads": 1000 * n, "seconds": 0.01 + n / 1e4}
                      for n in range(0, 33, 4)]}}}}
    monkeypatch.setattr(store, "read", lambda name, kind, *rest: found.get(kind) if name == NAME else None)
    return found


@pytest.fixture
def go() -> Callable[..., None]:
    """Returns the function go(app, x, drag=True), which moves the slider to x and runs the page.

    With key="pruning chart" it sends the same event from the chart.
    """
    def move(app: AppTest, x: object, drag: bool = True, key: str = "pruning dial", kind: str = "at") -> None:
        now = app.session_state["visit"]
        with visit.use(now):
            now.channel.handlers[key]({"type": kind, "x": x, "drag": drag})
        app.run()
        assert not app.exception

    return move


def dials(app: AppTest) -> dict[str, dict[str, Any]]:
    """Returns the payloads of the slider and of the component with the numbers. Both have the same position."""
    found = {"slider" if header["label"] else "numbers": header for header, _ in all_sent(app, "dial")
             if header["group"]}
    assert {(its["group"], its["at"]) for its in found.values()} == {(found["slider"]["group"], heads_left(app))}
    return found


def heads_left(app: AppTest) -> int:
    """Returns the number of heads left, after checking that slider and chart show the same number."""
    (slider,) = (header for header, _ in all_sent(app, "dial") if header.get("label"))
    assert slider["positions"] == list(range(len(slider["positions"])))
    for header, _ in all_sent(app, "figure"):
        assert (header["group"], header["at"]) == (slider["group"], slider["at"])
    return slider["at"]


def plan_of(app: AppTest) -> HeadPlan:
    return app.session_state["visit"].history.present.plan


def displayed(app: AppTest) -> str:
    """Returns the visible text of the page, including the text of slider, numbers and roles."""
    texts = [header["texts"][header["positions"].index(header["at"])] for header, _ in all_sent(app, "dial")]
    return "\n".join([*texts, *(its.value for its in (*app.markdown, *app.caption))])


def test_curves_of_another_order_are_not_shown(measured: dict[str, dict[str, Any]]):
    """A curve is hidden if its pruning order is not the current one.

    This happens if losses were measured again and curves were not.
    """
    counts = []
    for order in (HEADS[::-1], HEADS):
        measured["pruning"]["scopes"]["all"]["orders"]["alone"] = pruning_orders.written(order)
        app = opened(page="pruning", model=NAME, text=TYPED)
        assert not app.exception
        counts.append(["Not measured yet" in caption.value for caption in app.caption].count(True))
    assert counts == [0, 1]


def test_one_sentence_counts_the_heads_that_can_be_pruned(measured: dict[str, dict[str, Any]]):
    """Perplexity rises by 10% when the loss rises by ln 1.1 = 0.0953 nats."""
    curves = measured["pruning"]["scopes"]["all"]["curves"]
    lead = "By *Single-head loss increase*, **1 of 32** heads can be pruned before perplexity rises by 10%."
    # the loss rises by 0.0625 per head, and in random order by 0.25 per four heads
    assert f"{lead} In other orders: *Random order* 0." in displayed(opened(page="pruning", model=NAME, text=TYPED))
    curves["alone"] = [[n, 4 + (32 - n) / 100, 0.01] for n in range(33)]
    curves["alone"][27][1] = 4.2  # above the limit: fewer heads do not count, although some are below it again
    assert "**4 of 32** heads" in displayed(opened(page="pruning", model=NAME, text=TYPED))
    del curves["alone"][32]  # an unfinished study
    text = displayed(opened(page="pruning", model=NAME, text=TYPED))
    assert "By *Random order*, **0 of 32** heads" in text and "In other orders" not in text
    curves["alone"].append([32, 4.0, 0.01])
    assert "before perplexity rises" not in displayed(opened(page="pruning", model="assignment-softmax"))


def test_no_two_curves_share_a_colour_or_a_dash_that_could_be_confused():
    looks = {name: look[1:] for name, look in _SERIES.items()}
    assert looks["confidence"][0] != looks["seconds"][0] and looks["confidence"][1] != looks["seconds"][1]
    assert looks["seconds"][1] != looks["multiplications"][1]
    assert len(set(looks.values())) == len(looks)


def test_the_slider_prunes_in_the_order_that_is_shown(go: Callable[..., None]):
    app = opened(page="pruning", model=NAME, text=TYPED)
    assert not app.exception
    assert heads_left(app) == 32 and app.selectbox(key=session.ORDER).value == "alone"
    go(app, 28)
    plan = plan_of(app)
    assert [*plan.heads] == [("self", 3, head) for head in (4, 5, 6, 7)]
    after = models.run(LAB, TYPED, plan)
    rows = sent(app, "effect")[0]["predictions"][-1]["rows"]
    assert {row["label"]: row["after"] for row in rows} == pytest.approx(
        {row["label"]: float(after.output.distribution[after.output.names.index(row["label"])]) for row in rows},
        abs=1e-5)
    text = displayed(app)
    assert "**28** of 32 heads are left." in text and "position -1 (-1) 1 of 2" in text
    assert all(number in text for number in ("**4.250** nats", "5.250", "4.000"))
    assert all(share in text for share in ("**96%**", "88%", "**97%**"))
    # the payload contains the texts of all positions
    assert "**31** of 32" in dials(app)["slider"]["texts"][31]
    assert "**4.062** nats" in dials(app)["numbers"]["texts"][31]


def test_a_drag_is_one_step_of_undo(go: Callable[..., None]):
    """One drag is one undo step, and so are several key presses in quick succession.

    Two separate drags are two steps.
    """
    app = opened(page="pruning", model=NAME, text=TYPED)
    history = app.session_state["visit"].history
    for left, drag in ((28, True), (20, True), (20, False), (18, True), (10, True)):
        go(app, left, drag)
    assert heads_left(app) == 10
    for left in (20, 32):
        history.undo()
        app.run()
        assert heads_left(app) == left
    assert not plan_of(app) and not history.past


def test_a_study_that_was_stopped(measured: dict[str, dict[str, Any]]):
    """The points of an unfinished study are drawn. Missing points cause no error, not even the one with all heads."""
    its = measured["pruning"]["scopes"]["all"]
    its["curves"] = {"alone": its["curves"]["alone"][:20:4], "random": []}
    app = opened(page="pruning", model=NAME, text=TYPED, plan="self-2.0~7g0-3.0~7g0")
    assert not app.exception and "**16** of 32 heads" in displayed(app)
    text = dials(app)["numbers"]["texts"][16]
    assert "nats" not in text and "ms" in text
    assert len(table(sent(app, "figure")[0]["spec"])["single-head loss increase"]) == 5


def test_seeds_that_left_as_many_heads_are_one_point(measured: dict[str, dict[str, Any]]):
    runs = [(16, 4.0), (8, 1.0), (16, 6.0)]
    measured["gates"] = {"series": [{"kinds": ["self"], "heads_left": {"self": left}, "bleu": bleu}
                                    for left, bleu in runs] + [{"kinds": ["other"], "heads_left": {"other": 3},
                                                                "bleu": 9.0}],
                         "controls": [{"kinds": ["self"], "heads_left": {"self": 32}, "bleu": 7.0}]}
    chosen = pruning.Choice(orders={"alone": HEADS}, name="alone", scope="all", addresses=HEADS)
    (few, one, no_spread), (many, mean, spread), control = pruning.trained_on(LAB, chosen)
    assert control == [32, 7.0, None]
    assert (few, one, no_spread, many, mean) == (8, 1.0, None, 16, 5.0) and spread == pytest.approx(2**0.5)


def test_another_order_keeps_the_number():
    """If another order is selected, a plan that followed the old order keeps its number of heads.

    A plan made by hand does not change.
    """
    app = opened(page="pruning", model=NAME, text=TYPED, plan="self-3.6~7g0")
    app.selectbox(key=session.ORDER).set_value("confidence").run()
    assert str(plan_of(app)) == "self-0.0~1g0"
    app.selectbox(key=session.ORDER).set_value("random").run()
    assert [*plan_of(app).heads] == sorted(pruning_orders.at_random(HEADS)[:2])
    app = opened(page="pruning", model=NAME, text=TYPED, plan="self-1.1g0-2.2g0.5")
    assert re.search(r"\*\*31\*\* of 32 heads are left[^.]", displayed(app)) and heads_left(app) == 31
    assert dials(app)["slider"]["texts"][30] == "**30** of 32 heads are left."
    app.selectbox(key=session.ORDER).set_value("confidence").run()
    assert str(plan_of(app)) == "self-1.1g0-2.2g0.5"
    assert sent(app, "toolbar")[0]["query"].endswith("order=confidence.all")


def test_the_order_by_the_input_text(go: Callable[..., None]):
    """Heads can be ordered by the loss on the input text when a single head is pruned.

    The curve shows the KL divergence of the plans in this order.
    """
    app = opened(page="pruning", model=NAME, text=TYPED, order="text.all")
    assert not app.exception
    before = models.run(LAB, TYPED)
    losses = [models.run(LAB, TYPED, HeadPlan().gate(*address, 0.0)).loss for address in HEADS]
    go(app, 29)
    goes = sorted(range(32), key=losses.__getitem__)[:3]
    assert {*plan_of(app).heads} == {HEADS[i] for i in goes}
    spec = sent(app, "figure")[0]["spec"]
    (points,) = table(spec, titles(spec, "y").index("KL divergence on this text, nats")).values()
    assert [left for left, _ in points] == list(range(33))
    assert points[32][1] == pytest.approx(0, abs=1e-6) and points[0][1] > 0.1
    assert before.loss != min(losses)


def test_a_click_in_the_chart_moves_the_slider(go: Callable[..., None]):
    app = opened(page="pruning", model=NAME, text=TYPED)
    spec = sent(app, "figure")[0]["spec"]
    assert spec["usermeta"]["chooses"] and titles(spec, "y") == [
        "Loss on held-out texts, nats", "Cost of a pass, share of all heads", "KL divergence on this text, nats"]
    assert table(spec, 1)["multiplications"][-1] == (32, 1.0)

    for key in ("pruning chart", "pruning dial"):
        for wrong in (33, -1, 1.5, True, "3", None, [3], {}):
            go(app, wrong, key=key)
        go(app, 3, key=key, kind="pick")
        assert not plan_of(app)
    go(app, 31, key="pruning chart")
    assert str(plan_of(app)) == "self-3.7g0" and heads_left(app) == 31


@pytest.mark.parametrize("name", ["assignment-selective", "masked-gau-relu2", "masked-softmax", "stories-selective"])
def test_models_of_which_nothing_is_measured(name: str, go: Callable[..., None]):
    """Models without measurements offer the order by losses on the input text and a random order."""
    app = opened(page="pruning", model=name)
    assert not app.exception
    assert app.selectbox(key=session.ORDER).options == [ORDERS["text"], ORDERS["random"]]
    count = sum(layers * heads for layers, heads in models.load(name).shape.values())
    go(app, count // 2)
    assert len(plan_of(app).heads) == count - count // 2
    assert ("studies.corpus.pruning" in displayed(app)) is not name.startswith("assignment")


def test_the_view_is_a_link():
    for order in ("", *ORDERS):
        for scope in ("all", "self", "encoder"):
            assert PruningView.parse(str(PruningView(order, scope))) == PruningView(order, scope)
    for text in ("alone", "alone.", "alone.everything", "by hand.all", "<b>.all", "alone.all.all"):
        with pytest.raises(ValueError, match="no order of heads"):
            PruningView.parse(text)
    app = opened(page="pruning", model=NAME, order="by hand.all")
    assert not app.exception and "unknown pruning order" in str(sent(app, "notice")[0]["messages"])
    app = opened(page="pruning", model=NAME, order="confidence.encoder")  # this model has no block named `encoder`
    assert not app.exception and heads_left(app) == 32 and dials(app)["slider"]["label"] == "Heads left, of 32"


def test_other_heads_are_other_places(go: Callable[..., None]):
    """The slider has one position per number of heads in the selected block.

    Parts of the plan in other blocks are kept.
    """
    app = opened(page="pruning", model="translation-softmax", text="A dog runs.", order="random.encoder",
                 plan="decoder-0.0g0")
    assert not app.exception and dials(app)["slider"]["group"] == "pruning encoder" and heads_left(app) == 24
    go(app, 20)
    assert len(plan_of(app).heads) == 5 and heads_left(app) == 20
    app.segmented_control(key=session.SCOPE).set_value("all").run()
    assert not app.exception and dials(app)["slider"]["group"] == "pruning all"
    assert heads_left(app) == 67 and len(dials(app)["slider"]["positions"]) == 73
