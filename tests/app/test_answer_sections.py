"""Tests of the sections about the answer: prediction by layer, contributions of heads, and two prompts.

pytest tests/app/test_answer_sections.py
"""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import models
from app.state.pages.answer_view import AnswerView
from models.analysis.answer.head_patching import head_patching
from models.analysis.relevance import relevance_of
from models.plan import HeadPlan
from tests.app.test_pages import opened
from tests.app.test_route import content, mounted, post
from tests.models.foreign_tiny import TEXT as FOREIGN_TEXT
from tests.models.foreign_tiny import folder_of

TEXT, SOURCE = "The girl was sad because", "The boy was sad because"
PLAN = HeadPlan().gate("self", 2, 3, 0.0)


def event(key: str, sequence: int, **fields: Any) -> dict[str, Any]:
    return {"key": key, "sequence": sequence} | fields


def test_who_wrote_the_answer_sums_to_the_logit():
    app = opened(model="stories-softmax", text=TEXT, open="writers")
    header, _ = mounted(app)["writers"]
    found = models.head_attribution(models.load("stories-softmax"), TEXT)
    assert sum(bar["value"] for bar in header["bars"]) == pytest.approx(found.total, abs=1e-4)
    assert len(header["bars"]) == 32 + 5
    now = app.session_state["visit"]
    against = header["choices"][1]["options"][2]["value"]
    about, parts = post(now, [event("writers", 1, type="choose", name="against", value=against)])
    assert not about["layout"]
    pair = models.head_attribution(models.load("stories-softmax"), TEXT, token=found.token, against=against)
    assert sum(bar["value"] for bar in parts["writers"][0]["bars"]) == pytest.approx(pair.total, abs=1e-4)
    app.run()
    assert content(parts["writers"]) == content(mounted(app)["writers"])


def test_gradient_times_input_of_heads_and_tokens():
    app = opened(model="stories-softmax", text=TEXT, open="writers", tokens=".h")
    header, _ = mounted(app)["writers"]
    lab = models.load("stories-softmax")
    found = relevance_of(lab, lab.read(TEXT), HeadPlan(), 5)
    assert {tuple(bar["head"]): bar["value"] for bar in header["bars"]} == pytest.approx(
        {(kind, layer, head): values[layer, head] for kind, values in found.heads.items()
         for layer, head in numpy.ndindex(values.shape)}, abs=1e-4)
    assert "100.0% is conserved" in header["total"] and "patented" in header["about"]
    notes = mounted(app)["heads"][0]["grids"][0]["notes"]
    assert float(notes[2][3][0].replace("−", "-")) == pytest.approx(found.heads["self"][2, 3], abs=0.006)
    now = app.session_state["visit"]
    _, parts = post(now, [event("writers", 1, type="choose", name="measure", value="tokens")])
    assert now.history.present.explanation.measure == "tokens"
    assert sum(bar["value"] for bar in parts["writers"][0]["bars"]) == pytest.approx(found.total, abs=1e-3)
    app = opened(model="masked-gau-softmax", open="writers", tokens=".h")  # the rule does not hold for this type
    assert [choice["name"] for choice in mounted(app)["writers"][0]["choices"]] == ["token", "against"]


def test_two_prompts_patch_each_head_and_the_plan():
    app = opened(model="stories-softmax", text=TEXT, source=SOURCE, open="pair")
    header, _ = mounted(app)["pair"]
    found = head_patching(models.load("stories-softmax"), TEXT, SOURCE)
    best, share = found.ranked[0]
    assert header["bars"][0]["head"] == list(best) and header["bars"][0]["value"] == pytest.approx(100 * share, abs=0.1)
    now = app.session_state["visit"]
    _, parts = post(now, [event("pair", 1, type="patch", kind=best[0], layer=best[1], head=best[2], on=True)])
    assert now.history.present.plan == HeadPlan().patch(*best)
    assert parts["pair"][0]["bars"][0]["patched"]
    rows = {row["label"]: row["after"] for row in parts["effect"][0]["predictions"][0]["rows"]}
    trace = models.run(models.load("stories-softmax"), TEXT, HeadPlan().patch(*best), SOURCE)
    assert rows[trace.output.labels[0]] == pytest.approx(float(trace.output.probabilities[0]), abs=1e-5)


def test_a_second_prompt_that_does_not_fit_is_named_and_its_patches_wait():
    plan = HeadPlan().patch("self", 2, 3)
    app = opened(model="stories-softmax", text=TEXT, source="The boy", plan=str(plan), open="pair")
    assert not app.exception
    parts = mounted(app)
    assert "one length" in parts["pair"][0]["message"]
    assert not parts["effect"][0]["changed"]
    assert app.session_state["visit"].history.present.plan == plan


@pytest.mark.parametrize("name", ["masked-softmax", "translation-softmax", "assignment-softmax"])
@pytest.mark.parametrize("section", ["writers", "pair"])
def test_every_family(name: str, section: str):
    from app.panels.answer.pair import PAIRS

    task = models.load(name).task.name
    text, source = PAIRS[task][0]
    app = opened(model=name, text=text, source=source, open=section)
    assert not app.exception
    assert not mounted(app)[section][0]["message"]


@pytest.mark.parametrize("family", ["assignment", "stories", "masked", "translation", "summary", "dialogue"])
def test_every_pair_has_two_answers_and_one_length(family: str):
    from app.panels.answer.pair import PAIRS

    lab = models.load(f"{family}-softmax")
    for text, source in PAIRS[family]:
        found = head_patching(lab, text, source)
        assert found.token != found.against and max(share for _, share in found.ranked) > 0.2


def test_forged_events_change_nothing():
    app = opened(model="stories-softmax", text=TEXT, open="pair")
    now = app.session_state["visit"]
    before = now.history.present
    post(now, [event("pair", i, **fields) for i, fields in enumerate((
        {"type": "patch", "kind": "self", "layer": 99, "head": 0, "on": True}, {"type": "patch", "kind": [], "on": 1},
        {"type": "choose", "name": "token", "value": "x"}, {"type": "choose", "name": "what", "value": []},
        {"type": "source", "text": 3}, {"type": "pair", "text": None}, {"type": []}), 1)])
    assert now.history.present == before


@pytest.mark.parametrize("text", [".", "262.17", ".9a", "3.", "3.4a", ".h", "3.4at", "3.4a-9.1d", ".-2.", ".t-2."])
def test_the_links_field(text: str):
    assert str(AnswerView.parse(text)) == text
    with pytest.raises(ValueError, match="names no tokens"):
        AnswerView.parse(text + "!")


def test_the_strip_has_the_prediction_at_every_position():
    app = opened(model="stories-softmax", text=TEXT, plan=str(PLAN))
    lens = models.logit_lens(models.load("stories-softmax"), TEXT, PLAN, k=3)
    tokens = mounted(app)["effect"][0]["tokens"]
    assert "top" not in tokens[0]  # the first token has no prediction, because no token precedes it
    for place, token in enumerate(tokens[1:]):  # each token has the prediction of the position before it
        assert [label for label, _ in token["top"]] == [str(label) for label in lens.labels[-1, place]]
        for (_, shown), probability in zip(token["top"], lens.probabilities[-1, place], strict=True):
            assert shown == pytest.approx(float(probability), abs=1e-4)


def test_why_here_sums_to_the_score_for_every_split():
    app = opened(model="stories-selective", text=TEXT, open="why", at="1.2")
    now = app.session_state["visit"]
    trace = models.run(models.load("stories-selective"), TEXT)
    key = int(trace.live["self"][1, 2, -1].argmax())
    header = mounted(app)["why"][0]
    assert [choice["value"] for choice in header["choices"]] == [5, key, "key"]
    score = float(trace.scores["self"][1, 2, -1, key])
    for sequence, split in enumerate(("query", "dimensions", "position", "key"), 1):
        _, parts = post(now, [event("why", sequence, type="choose", name="split", value=split)])
        assert sum(bar["value"] for bar in parts["why"][0]["bars"]) == pytest.approx(score, abs=1e-3)
    _, parts = post(now, [event("why", 9, type="choose", name="query", value=2)])
    assert now.history.present.explanation.query == 2
    assert len(parts["why"][0]["choices"][1]["options"]) == 3  # query 2 sees keys 0 to 2


def test_a_click_on_a_cell_of_the_map_opens_why_here():
    app = opened(model="stories-selective", text=TEXT, at="1.2")
    assert mounted(app)["map"][0]["explains"]
    now = app.session_state["visit"]
    for sequence, cell in enumerate(((-1, 0), ("3", 1), (10**9, 0)), 1):
        post(now, [event("map", sequence, type="cell", row=cell[0], column=cell[1])])
        assert now.history.present.section != "why"
    post(now, [event("map", 4, type="cell", row=3, column=1)])
    assert now.history.present.section == "why"
    assert [choice["value"] for choice in mounted(app.run())["why"][0]["choices"]][:2] == [3, 1]
    app = opened(model="translation-softmax", at="cross-1.2")
    post(app.session_state["visit"], [event("map", 1, type="cell", row=3, column=1)])
    assert [choice["value"] for choice in mounted(app.run())["why"][0]["choices"]][:2] == [3, 1]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_why_here_of_an_encoder_decoder(kind: str):
    app = opened(model="translation-softmax", text="A cat sleeps.", open="why", at=f"{kind}-1.2", tokens=".-3.1p")
    trace = models.run(models.load("translation-softmax"), "A cat sleeps.")
    header = mounted(app)["why"][0]
    # cross-attention has no split by distance, so that the link's split is replaced
    splits = ["key", "query", "dimensions", *([] if kind == "cross" else ["position"])]
    assert [option["value"] for option in header["choices"][2]["options"]] == splits
    assert header["choices"][2]["value"] == ("key" if kind == "cross" else "position")
    assert sum(bar["value"] for bar in header["bars"]) == pytest.approx(float(trace.scores[kind][1, 2, 3, 1]), abs=1e-3)
    rows = ("text" if kind == "encoder" else "target", "target" if kind == "decoder" else "text")
    sizes = [len(choice["options"]) for choice in header["choices"][:2]]
    assert sizes == [len(trace.rows[rows[0]]), 4 if kind == "decoder" else len(trace.rows[rows[1]])]


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_why_here_of_an_imported_model(name: str):
    lab = models.load_folder(folder_of(name))
    head = "encoder-0.1" if name == "t5" else "0.1"
    app = opened(model=lab.name, text=FOREIGN_TEXT, open="why", at=head, tokens=".-3.1")
    header = mounted(app)["why"][0]
    trace = models.run(lab, FOREIGN_TEXT)
    score = float(trace.scores[lab.kinds[0].name][0, 1, 3, 1])
    assert sum(bar["value"] for bar in header["bars"]) == pytest.approx(score, abs=1e-3)
    assert [option["value"] for option in header["choices"][2]["options"]] == ["dimensions"]
    assert (header["bars"][-1]["label"] == "added to q·k (position bias or soft cap)") == (name == "t5")


def test_why_here_of_a_synthesizer_names_the_table():
    app = opened(model="stories-random", text=TEXT, open="why")
    assert "number of a table" in mounted(app)["why"][0]["message"]
