"""Tests of Compare, Length and About without a browser: valid and invalid links, and texts that a model cannot read."""

from __future__ import annotations

import re

import numpy
import pytest
from streamlit.testing.v1 import AppTest

import models
from app.panels.choice.companions import by_source
from app.panels.measured.lengths import TRAINED, curves_of
from app.state.handlers.events import on_compared
from app.state.history import History
from app.state.lab_state import LabState
from app.state.link import query_of, read_query
from components.payload import unpack
from models import catalogue
from models.trace import divergence, row_entropy
from models.training.recipes import RECIPES
from tests.app.test_route import content, mounted, post
from tests.browser import ROOT
from tests.figures.specs import panels, parts, rows, table

PAIR = {"model": "assignment-softmax", "with": "assignment-selective"}
# a text of 82 tokens; the tables of assignment-random have 49 positions
LONG = "; ".join(f"a={i % 10}" for i in range(40)) + "; a=?"


def opened(page: str, **link: str) -> AppTest:
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    for key, value in link.items():
        app.query_params[key] = value
    app.query_params["page"] = page
    return app.run()


def sent(app: AppTest, name: str) -> list[tuple[dict, dict[str, numpy.ndarray]]]:
    """Returns the headers and arrays that were sent to every component with this name."""
    return [unpack(element.proto.bytes) for element in app.get("bidi_component")
            if element.proto.component_name.endswith(f"attention_lab_{name}")]


def test_compare_shows_each_model_with_its_own_numbers():
    text = "y=7; x=1; x=3; y=?; z=5; x=?"
    app = opened("compare", text=text, **PAIR)
    assert not app.exception and not app.error
    maps = sent(app, "head_map")
    effects = sent(opened("compare", text=text, part="prediction", **PAIR), "effect")
    ((standing, _),) = sent(app, "comparison")
    assert len(maps) == len(effects) == len(sent(app, "heads")) == len(standing["rows"]) == 2
    first = models.run(models.load(PAIR["model"]), text)
    for name, (_, arrays), (header, _), row in zip((PAIR["model"], PAIR["with"]), maps, effects, standing["rows"],
                                                   strict=True):
        trace = models.run(models.load(name), text)
        numpy.testing.assert_allclose(arrays["live"], trace.live["self"][0, 0][numpy.tril_indices(len(trace.tokens))])
        assert header["before"] == row["loss"][0] == row["loss"][1] == pytest.approx(trace.loss, abs=1e-6)
        assert name.endswith(row["name"])
        assert row["answer"]["after"] == trace.output.labels[0]
        assert row["answer"]["p_after"] == pytest.approx(float(trace.output.probabilities[0]), abs=1e-6)
        assert row["answer"]["right_after"] == (trace.output.target == trace.output.order[0])
        apart = None if name == PAIR["model"] else pytest.approx(divergence(first.output, trace.output), abs=1e-6)
        assert row["kl_from_first"] == apart
    assert maps[0][0]["rows"] == maps[1][0]["rows"]  # both maps have the same row labels


def takeaway_of(**link: str) -> str:
    ((shown, _),) = sent(opened("compare", **link), "comparison")
    return shown["takeaway"]


def test_one_sentence_says_which_model_gives_the_right_token_more():
    text, names = "x=1; x=7; y=3; x=?", ("assignment-softmax", "assignment-random")
    outputs = [models.run(models.load(name), text).output for name in names]
    softmax, random = (float(its.distribution[its.target]) for its in outputs)
    assert softmax - random > 0.01
    sentence = takeaway_of(text=text, model=names[0], **{"with": names[1]})
    assert f"“{outputs[0].names[outputs[0].target]}”" in sentence
    assert f"{100 * (softmax - random):.1f} points" in sentence
    assert sentence.index("highest with softmax") < sentence.index("lowest with random")
    # under a plan: its probabilities
    pruned = takeaway_of(text=text, model=names[0], plan="self-0.0~3g0", **{"with": names[1]})
    changed = models.run(models.load(names[0]), text, models.HeadPlan.parse("self-0.0~3g0")).output
    assert pruned != sentence and f"{100 * float(changed.distribution[changed.target]):.1f}%" in pruned


def test_without_a_right_token_the_sentence_is_about_the_prediction_of_the_first_model():
    names = ("stories-softmax", "stories-selective")
    text = "Once upon a time there was a little"
    first, second = (models.run(models.load(name), text).output for name in names)
    token = first.names[first.order[0]]
    points = 100 * abs(first.distribution[first.order[0]] - second.distribution[second.names.index(token)])
    sentence = takeaway_of(text=text, model=names[0], **{"with": names[1]})
    assert sentence.startswith(f"“{token.strip()}”")
    assert f"{points:.1f} points apart" in sentence if points >= 1 else "No difference" in sentence


def test_under_one_point_there_is_no_difference():
    assert takeaway_of(text="x=7; x=?", **PAIR).startswith("No difference: all models give “7”")
    assert takeaway_of(model="assignment-softmax", text="x=7; x=?") == ""  # one model alone


def test_the_compared_models_are_grouped_as_in_the_choice_of_a_model():
    app = opened("compare", model="stories-softmax", **{"with": "stories-selective"})
    groups = {pills.label: pills for pills in app.button_group}
    family = set(catalogue.family("stories-softmax")) - {"stories-softmax"}
    shown = {source: groups[source].options for source in by_source(sorted(family))}
    assert len(shown) == 6 and sum(map(len, shown.values())) == len(family)
    assert "selective, memory loss" in " ".join(shown["Leviathan et al. 2024"]).replace("\\", "")
    assert groups["Leviathan et al. 2024"].value == ["stories-selective"]
    assert groups["Tay et al. 2020"].value == []


def test_a_choice_in_one_group_keeps_the_choices_in_others(monkeypatch):
    history = History(LabState("stories-softmax", compared=("stories-log-n", "stories-dense")))
    monkeypatch.setattr("app.state.handlers.events.history", lambda: history)
    monkeypatch.setattr("app.state.handlers.events.widget", lambda *_: ["stories-selective"])
    on_compared("compared-4", ["stories-selective", "stories-selective-512"])
    assert history.present.compared == ("stories-log-n", "stories-dense", "stories-selective")
    monkeypatch.setattr("app.state.handlers.events.widget", lambda *_: ["no such model", "stories-gated"])
    on_compared("compared-4", ["stories-selective", "stories-selective-512"])  # forged: not offered
    assert history.present.compared == ("stories-log-n", "stories-dense")


def test_a_plan_and_a_selection_hold_for_all():
    app = opened("compare", plan="self-1.2c-1.0g0", at="1.2", **PAIR)
    for header, _ in sent(app, "heads"):
        assert header["grids"][0]["constant"][1][2] and header["grids"][0]["gates"][1][0] == 0
        assert header["selection"] == {"kind": "self", "layer": 1, "head": 2, "scope": "head"}
    ((standing, _),) = sent(app, "comparison")
    assert standing["changed"]
    assert [header["bare"] for header, _ in sent(app, "heads")] == [False, True]


def test_entropies_of_all_models_are_one_chart():
    app = opened("compare", part="entropy", text="y=7; x=1; x=?", **PAIR)
    ((header, _),) = sent(app, "figure")
    for name, points in zip((PAIR["model"], PAIR["with"]), table(header["spec"]).values(), strict=False):
        expected = row_entropy(models.run(models.load(name), "y=7; x=1; x=?").weights["self"][0, 0])
        assert [y for _, y in points] == pytest.approx(expected.tolist(), abs=6e-5)
    assert not sent(app, "head_map")


def test_a_fourth_model_takes_the_place_of_the_first_chosen(monkeypatch):
    state = LabState("stories-softmax", compared=("stories-log-n", "stories-dense", "stories-random"))
    history = History(state)
    monkeypatch.setattr("app.state.handlers.events.history", lambda: history)
    names = ["stories-dense", "stories-log-n", "stories-random", "stories-selective"]  # the order of models on the page
    monkeypatch.setattr("app.state.handlers.events.widget", lambda *_: names)
    on_compared("compared-0", names)
    assert history.present.compared == ("stories-dense", "stories-random", "stories-selective")


def test_compared_models_of_different_shapes_share_the_common_heads():
    """If compared models have different shapes, each model applies the part of the plan for the heads that it has.

    A model of gated attention units has 8 layers of one head. The other models have 4 layers of 8 heads.
    """
    app = opened("compare", model="masked-softmax", plan="self-1.5c-6.0g0_scale-length", at="6.0",
                 **{"with": "masked-gau-relu2"})
    assert not app.exception
    blocks, units = (header | header["grids"][0] for header, _ in sent(app, "heads"))
    assert blocks["constant"][1][5] and len(blocks["constant"]) == 4
    assert units["gates"][6] == [0] and len(units["gates"]) == 8
    assert (blocks["scale"]["policy"], units["scale"]["policy"]) == ("trained", "length")
    assert units["selection"]["layer"] == 6 and blocks["selection"]["layer"] == 3
    alone = opened("explore", model="masked-softmax", plan="self-1.5c-6.0g0", **{"with": "masked-gau-relu2"})
    assert not alone.exception
    assert sent(alone, "effect")[0][0]["changed"]


def test_compare_without_a_second_model():
    app = opened("compare", model="assignment-softmax")
    assert len(sent(app, "head_map")) == 1
    ((standing, _),) = sent(app, "comparison")
    assert len(standing["rows"]) == 1 and standing["rows"][0]["kl_from_first"] is None


def test_models_of_different_tasks_are_not_compared():
    app = opened("compare", **PAIR | {"with": "stories-softmax no-such-model assignment-selective"})
    assert len(sent(app, "head_map")) == 2
    messages = " ".join(sent(app, "notice")[0][0]["messages"])
    assert "stories-softmax" in messages and "no-such-model" in messages


def test_a_text_beyond_a_models_tables_is_refused_there_and_shown_elsewhere():
    if "assignment-random" not in models.names():
        pytest.fail("assignment-random is not shipped")
    app = opened("compare", model="assignment-softmax", text=LONG, **{"with": "assignment-random"})
    assert len(sent(app, "head_map")) == 1
    ((standing, _),) = sent(app, "comparison")
    assert "49" in standing["rows"][1]["problem"] and "82" in standing["rows"][1]["problem"]
    alone = opened("explore", model="assignment-random", text=LONG)
    assert "49 at most" in " ".join(sent(alone, "notice")[0][0]["messages"])


@pytest.mark.parametrize("page", ["compare", "length"])
def test_a_text_that_cannot_be_read_leaves_the_last_picture(page: str):
    app = opened(page, text="k=4; k=44", **PAIR)
    assert not app.exception
    assert sent(app, "notice")[0][0]["problem"]


def test_length_draws_the_measurements():
    app = opened("length", **PAIR)
    assert not app.exception and not app.error
    slider, _ = sent(app, "dial")[0]
    assert slider["at"] == 49
    now = app.session_state["visit"]
    about, answer = post(now, [{"key": "length", "type": "at", "x": 193, "drag": False, "sequence": 1}])
    # the events route responds, with the same payloads that Streamlit mounts
    assert not about["layout"] and {"length", "length charts", "length heads"} <= set(answer)
    app.run()
    assert not app.exception
    for key in ("length", "length charts", "length heads"):
        assert content(answer[key]) == content(mounted(app)[key])
    slider, _ = sent(app, "dial")[0]
    assert slider["at"] == 193 and "193 tokens" in slider["texts"][slider["positions"].index(193)]
    charts = [header for header, _ in sent(app, "figure")]
    assert [len(panels(header["spec"])) for header in charts] == [4, len(PAIR)]
    assert charts[0]["at"] == 193
    assert "193" in charts[1]["title"]


def test_length_shows_another_scale_only_where_it_was_chosen():
    def shown(**link: str) -> list[str]:
        (header,) = (header for header, _ in sent(opened("length", **link), "figure") if header["what"] == "length")
        return list(dict.fromkeys(row["series"] for row in header["spec"]["datasets"]["rows0"]))

    alone = {"model": "stories-selective"}
    assert len(curves_of("stories-selective")) == 2
    assert shown(**alone) == ["selective"]
    assert shown(**alone, plan="scale-logn9") == ["selective", "selective, log n"]


def test_a_letter_on_length_moves_the_rings_without_the_script():
    app = opened("length", **PAIR, text="a=1; b=2; a=?")
    longer = "a=1; b=2; c=3; a=?"
    event = {"key": "text", "type": "text", "text": longer, "sequence": 1}
    about, answer = post(app.session_state["visit"], [event])
    rings = [row["x"] for row in answer["length charts"][0]["spec"]["datasets"]["rows0"] if row.get("form") == "ring"]
    assert not about["layout"] and rings == 2 * [len(models.load("assignment-softmax").task.read(longer).ids)]


def test_length_marks_where_each_was_trained():
    app = opened("length", model="stories-softmax-512", **{"with": "stories-softmax stories-selective"})
    (spec,) = (header["spec"] for header, _ in sent(app, "figure") if header["what"] == "length")
    for panel in panels(spec):
        rules = [part["encoding"]["x"]["datum"] for part in parts(panel)
                 if isinstance(part.get("mark"), dict) and part["mark"].get("style") == "reference"
                 and "datum" in part.get("encoding", {}).get("x", {})]
        assert rules == [256, 512]
    assert any("trained at 256, 512 tokens" in caption.value for caption in app.caption)


def test_a_translators_effect_is_shown_where_it_is_largest():
    """The effect panel of a translation shows the token with the largest KL divergence, unless the link selects another
    one.

    The last token would show little, because a full stop remains even if all cross-attention is pruned.
    """
    link = {"model": "translation-softmax", "text": "I am here."}
    heads = [("cross", layer, head) for layer in range(3) for head in range(8)]
    pruned = str(models.HeadPlan().with_heads(heads, gate=0.0))
    unchanged, _ = sent(opened("explore", **link), "effect")[0]
    words = [prediction["rows"][0]["label"] for prediction in unchanged["predictions"]]
    assert words[unchanged["index"]].strip() == "hier" and words[-1] == "end"
    header, _ = sent(opened("explore", **link, plan=pruned), "effect")[0]
    moved = [its["kl"] for its in header["predictions"]]
    assert header["index"] == numpy.argmax(moved) and moved[header["index"]] > 1
    chosen, _ = sent(opened("explore", **link, plan=pruned, ask="0"), "effect")[0]
    assert chosen["index"] == 0


def test_the_change_of_a_map_is_against_the_unmodified_model():
    plain, _ = sent(opened("explore", model="stories-softmax", text="The cat sat."), "head_map")[0]
    assert "changed" not in plain
    link = {"model": "stories-softmax", "text": "The cat sat.", "at": "3.0"}
    base = sent(opened("explore", **link), "head_map")[0][1]["live"]
    header, arrays = sent(opened("explore", **link, plan="self-0.0~7g0"), "head_map")[0]
    assert header["changed"] and header["base"] == "base"
    numpy.testing.assert_allclose(arrays["base"], base, atol=1e-6)
    assert numpy.abs(arrays["live"] - base).max() > 0.01
    header, _ = sent(opened("explore", **link, plan="self-3.0g0.5"), "head_map")[0]
    assert header["base"] == "live" and header["gate"] == 0.5  # the gate does not change the pattern


def test_heads_with_a_pattern_are_found_and_marked():
    link = {"model": "masked-softmax", "text": "The little girl went to the [park] with her mom."}
    header, _ = sent(opened("explore", **link), "heads")[0]
    assert header["find"]["find"] == "" and not header["grids"][0]["notes"]
    header, _ = sent(opened("explore", **link, find="previous"), "heads")[0]
    notes = header["grids"][0]["notes"]
    assert notes[1][2][0].endswith("%") and "Previous token" in notes[1][2][1]
    marked = sum(bool(short) for row in notes for short, _ in row)
    assert header["find"]["result"].startswith(f"{marked} heads")
    assert 0 < marked < 32


def test_length_explains_why_an_encoder_decoder_has_no_chart():
    app = opened("length", model="translation-softmax", text="I am here.")
    assert not app.get("button_group")  # without measurements there is nothing to compare
    assert not app.exception and not app.error
    messages = " ".join(info.value for info in app.info)
    assert "An encoder-decoder was not evaluated at other lengths" in messages and not sent(app, "figure")
    assert "Move the slider" not in " ".join(caption.value for caption in app.caption)
    assert "Move the slider" in " ".join(caption.value for caption in opened("length", **PAIR).caption)


@pytest.mark.parametrize(("plan", "limit"), [("", 193), ("self-0.0c", 128)])
def test_a_longer_text_than_explore_reads_is_a_point_here(plan: str, limit: int):
    text = "; ".join(f"a={i % 10}" for i in range(200)) + "; a=?"
    app = opened("length", text=text, plan=plan, **PAIR)
    assert not app.exception
    assert f"this model reads {limit} at most" in " ".join(sent(app, "notice")[0][0]["messages"])
    spec = sent(app, "figure")[0][0]["spec"]
    rings = [row for number in range(len(panels(spec))) for row in rows(spec, number, form="ring")]
    assert rings and all(limit - 1 <= ring["x"] <= limit for ring in rings)


def test_an_empty_mask_names_the_layer_whose_mask_is_fullest():
    text = "Tom had a big red ball. He went to the park with his mom. He wanted to play with his"
    shares = 1 - numpy.exp(-models.run(models.load("stories-selective"), text).mask)
    assert shares[2].max() < 0.01  # layer 3
    fullest = shares.mean((1, 2)).argmax() + 1

    def remarks(layer: int, view: str = "mask") -> str:
        app = opened("explore", model="stories-selective", text=text, at=f"self-{layer - 1}.0", view=view)
        return " ".join(sent(app, "head_map")[0][0]["remarks"])

    assert f"The mask F of layer 3 is almost empty for this text. It is fullest in layer {fullest}." in remarks(3)
    assert "mask F" not in remarks(3, "live")
    assert "almost empty" not in remarks(int(fullest))


@pytest.mark.parametrize("name", [name for name in models.names() if catalogue.find(name).task.lengths])
def test_every_model_was_measured_at_its_trained_length(name: str):
    curves = curves_of(name)
    assert (curves[0].model, curves[0].policy) == (name, TRAINED)
    for curve in curves:
        assert RECIPES[name].config.trained_length in curve.by_length
        assert all(values["loss"] > 0 and 0 <= values["accuracy"] <= 1 for values in curve.by_length.values())
        assert all(value >= 0 for values in curve.by_length.values() for row in values["entropy"] for value in row)


def test_the_link_has_the_compared_models_and_the_length():
    state = LabState("assignment-softmax", compared=("assignment-selective",), length=97)
    state = LabState(state.model, "x=1; x=?", compared=state.compared, length=97)
    query = dict(re.findall(r"([^&=]+)=([^&]*)", query_of(state).replace("%3D", "=").replace("+", " ")))
    assert query["with"] == "assignment-selective" and query["n"] == "97"
    again, problems = read_query({"model": state.model, "text": state.text, "with": query["with"], "n": "97"})
    assert (again, problems) == (state, [])


@pytest.mark.parametrize(("given", "kept"), [
    ("", ()), ("assignment-softmax", ()), ("assignment-selective assignment-selective", ("assignment-selective",)),
    ("x" * 5000, ()), ("<script>", ()),
])
def test_links_with_invalid_compared_models(given: str, kept: tuple[str, ...]):
    state, problems = read_query({"model": "assignment-softmax", "with": given})
    assert state.compared == kept
    assert bool(problems) == (given in ("x" * 5000, "<script>"))


@pytest.mark.parametrize(("head", "is_closed"), [("0.0", True), ("0.1", False)])
def test_a_head_pruned_by_training_is_shown_as_pruned_with_the_reason(head: str, is_closed: bool):
    """A head that training pruned is displayed as pruned without any plan.

    A gate of the plan on this head changes nothing.
    """
    lab = models.load("translation-pruned-60")
    app = opened("explore", model=lab.name, text="I am here.", at=f"encoder-{head}")
    assert not app.exception
    encoder, *others = sent(app, "heads")[0][0]["grids"]
    closed = {("encoder", layer, head) for layer, row in enumerate(encoder["gates"])
              for head, gate in enumerate(row) if gate == 0}
    assert closed == lab.closed and len(closed) == 12 and all(min(map(min, grid["gates"])) == 1 for grid in others)
    for grid in (encoder, *others):
        assert grid["closed"] == [[gate == 0 for gate in row] for row in grid["gates"]]
    assert not sent(app, "effect")[0][0]["changed"]
    assert (sent(app, "head_map")[0][0]["gate"] == 0) == is_closed
    remarks = sent(app, "head_map")[0][0]["remarks"]
    assert any("pruned this head during training" in remark for remark in remarks) == is_closed
    kind, layer, place = sorted(closed)[0]
    before, after = (models.run(lab, "I am here.", models.HeadPlan().gate(kind, layer, place, gate))
                     for gate in (1.0, 0.5))
    assert (before.output.distribution == after.output.distribution).all() and before.written == after.written
