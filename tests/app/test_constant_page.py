"""Tests of the Constant page without a browser: chart payloads, the verdict, the input text, links.

    pytest tests/app/test_constant_page.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import models
from app.state.handlers import constant_events
from app.state.history import History
from app.state.lab_state import LabState
from app.state.pages.constant_view import ConstantView
from studies import store
from studies.papa import probes, results, shipped
from studies.transfer import transfer_study
from tests.app.test_pages import all_sent, opened, sent
from tests.app.visitors import visiting
from tests.figures.specs import labels, looks, panels, rows, table
from tests.made_papa import made

LINK = {"page": "constant", "model": "masked-softmax", "text": "The cat sat on the mat."}


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Writes two synthetic measurements and returns their folder.

    One of them is for a released model, with random probes.
    """
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path)
    monkeypatch.setattr(shipped, "PROBES", tmp_path / "probes")
    lab = models.load("masked-softmax")
    layers, heads = lab.shape["self"]
    own = made(0.05) | {"layers": layers, "heads": heads}
    counts = results.head_counts(layers * heads)
    for its in own["tasks"].values():
        its["order"] = [list(address) for address in lab.kinds[0].addresses]
        its["scores"] = {f"learned {count} 0": {"0": {"score": 0.8 - 0.04 * i / 4}, "1": {"score": 0.81 - 0.04 * i / 4}}
                         for i, count in enumerate(counts)} | {f"removed {counts[-1]} 0": {"0": {"score": 0.4}}}
    other = made(0.15, name="all-Other-v2", base=0.9)
    for found in (own, other):
        (tmp_path / f"{found['name']}.papa.json").write_text(json.dumps(found))
    (tmp_path / "probes" / "masked-softmax").mkdir(parents=True)
    torch.manual_seed(1)
    width = lab.states(torch.tensor([[0, 5]]))[0].shape[-1]
    tensors = {"constant": torch.rand(layers, heads, 64, 64)}
    for count in counts:
        probe = probes.Probe(torch.zeros(layers + 1, width), torch.ones(layers + 1, width), 2, None)
        tensors |= {f"{count}.{name}": its for name, its in probes.to_tensors(probe).items()}
    save_file(tensors, tmp_path / "probes" / "masked-softmax" / "pos.safetensors")
    return tmp_path


def words(app) -> str:
    """Returns the text of the page and of the paragraphs that the events route can change."""
    paragraphs = [text for header, _ in all_sent(app, "dial") if not header["group"] for text in header.get("texts",
                                                                                                            [])]
    return "\n".join([*paragraphs, *(its.value for its in (*app.markdown, *app.caption, *app.info))])


def at_slider(app) -> tuple[str, list[list[str]]]:
    """Returns the verdict and the table for the number of heads at the slider."""
    slider, table = (header for header, _ in all_sent(app, "dial") if header["group"])
    assert slider["group"] == table["group"] and slider["at"] == table["at"]
    index = slider["positions"].index(slider["at"])
    return slider["texts"][index], table["tables"][index]


def test_the_numbers_are_those_of_the_study(measured: Path):
    app = opened(**LINK, fix="4.pos")
    assert not app.exception and not app.error
    verdict, rows = at_slider(app)
    assert verdict.startswith("**32 of 32 heads constant** in Softmax (Hidden word): the relative drop differs from 0 "
                              "by more than its standard deviation over the probes in 7 of 7 tasks; mean relative "
                              "drop there 5.0%")
    assert len(rows) == 7 and rows[0][1] == "0.805" and rows[0][3] == "5.0%"
    assert rows[0][-2:] == ["0.400", "0.010"]  # the two controls: all heads pruned, constant answer
    assert "All tasks are counted in the mean." in words(app)
    headers = {header["what"]: header for header, _ in all_sent(app, "figure")}
    charts = {what: header["spec"] for what, header in headers.items()}
    assert headers["constant"]["at"] == headers["constant-tasks"]["at"] == 32
    line = table(charts["constant"])["constant, in the learned order"]
    assert [round(y, 4) for _, y in line] == [0, 0.0124, 0.0248, 0.0373, 0.0497]
    assert labels(charts["constant"]) == ["paper: average drop with all heads constant",
                                           "paper: largest drop"]
    assert len(panels(charts["constant-tasks"])) == 7
    assert len(looks(charts["constant-loss"])) == 2
    assert "needs 3 trainings, and the current version of this study has measured 2" in words(app)


def test_one_model_is_not_compared(measured: Path):
    """With a single measured model a sentence replaces the chart, which would have only one point."""
    (measured / "all-Other-v2.papa.json").unlink()
    app = opened(**LINK)
    assert not app.exception and "has measured 1. Measure more" in words(app)
    assert "constant-loss" not in {header["what"] for header, _ in all_sent(app, "figure")}


def test_another_number_of_heads_is_another_verdict(measured: Path):
    app = opened(**LINK, fix="1.pos")
    assert at_slider(app)[0].startswith("**16 of 32 heads constant** in Softmax (Hidden word): ")
    app = opened(**LINK, fix="2.pos")
    assert at_slider(app)[0].startswith("**28 of 32 heads constant**") and not app.exception


def test_the_headline_leaves_out_tasks_within_their_spread(measured: Path):
    path = measured / "masked-softmax.papa.json"
    found = json.loads(path.read_text())
    first, second, *_others = found["tasks"].values()
    first["scores"]["learned 32 0"] = {"0": {"score": 0.80}, "1": {"score": 0.41}}  # one probe lost half, one nothing
    second["scores"]["learned 32 0"] = {"0": {"score": 0.72}, "1": {"score": 0.729}}  # both lost a tenth
    path.write_text(json.dumps(found))
    headline = at_slider(opened(**LINK, fix="4.pos"))[0]
    assert "in 6 of 7 tasks" in headline and "largest 10.0%" in headline
    assert f"mean relative drop there {(5 * 0.0497 + 0.1) / 6:.1%}" in headline
    for task in found["tasks"].values():
        task["scores"]["learned 32 0"] = {"0": {"score": 0.80}, "1": {"score": 0.41}}
    path.write_text(json.dumps(found))
    assert "in no task does the relative drop differ from 0" in at_slider(opened(**LINK, fix="4.pos"))[0]


def test_the_header_names_only_a_model_whose_numbers_the_page_shows(measured: Path):
    assert all_sent(opened(**LINK), "chooser")
    for other in (LINK | {"model": "stories-softmax"}, LINK | {"fix": "4.pos.all-Other-v2"}):
        app = opened(**other)
        assert not app.exception and not all_sent(app, "chooser")
        model = {"stories-softmax": "Softmax (Hidden word)", "masked-softmax": "all-Other-v2"}[other["model"]]
        assert f"heads constant** in {model}: " in at_slider(app)[0]


def test_the_slider_has_no_place_without_a_measurement(measured: Path):
    path = measured / "masked-softmax.papa.json"
    found = json.loads(path.read_text())
    for task in found["tasks"].values():
        del task["scores"]["learned 30 0"]
    path.write_text(json.dumps(found))
    app = opened(**LINK, fix="3.pos")
    slider = next(header for header, _ in all_sent(app, "dial") if header["group"])
    assert slider["positions"] == [0, 16, 28, 32]
    assert slider["at"] == 28
    assert at_slider(app)[0].startswith("**28 of 32 heads constant**")
    first, *others = found["tasks"].values()
    for task in others:
        del task["scores"]["learned 16 0"]
    path.write_text(json.dumps(found))
    assert "Not all tasks have been measured" in at_slider(opened(**LINK, fix="1.pos"))[0]
    for task in (first, *others):
        task["scores"].clear()
    path.write_text(json.dumps(found))
    assert not opened(**LINK).exception  # the page shows the other study


def test_tasks_that_do_not_count_are_named(measured: Path):
    """The page names the tasks that its rule excludes. If no task is counted, it shows no mean."""
    path = measured / "masked-softmax.papa.json"
    found = json.loads(path.read_text())
    found["tasks"]["pos"]["constant_answer"] = 0.9
    path.write_text(json.dumps(found))
    app = opened(**LINK, fix="4.pos")
    assert "Tasks that are not counted in the mean: Parts of speech." in words(app) and at_slider(app)[1][0][3] == "–"
    assert "mean relative drop there 5.0%" in at_slider(app)[0]
    assert "set after the first scores were known" in words(app)
    for its in found["tasks"].values():
        its["constant_answer"] = 0.9
    path.write_text(json.dumps(found))
    app = opened(**LINK, fix="4.pos")
    assert not app.exception and at_slider(app)[0].startswith("No task is counted for this model")


def test_a_chosen_position_is_a_number_of_heads(monkeypatch: pytest.MonkeyPatch):
    history = History(LabState("masked-softmax", "A text.", page="constant", constant=ConstantView(1)))
    visiting(monkeypatch, history)
    counts = (0, 16, 28, 30, 32)
    constant_events.on_constant_place({"type": "at", "x": 28}, counts)
    assert history.present.constant == ConstantView(2)
    for x in (29, "28", None, [28], {}):
        constant_events.on_constant_place({"type": "at", "x": x}, counts)
        constant_events.on_constant_place({"type": "pick", "x": 32}, counts)
        assert history.present.constant == ConstantView(2)


def test_the_typed_text_is_read(measured: Path):
    app = opened(**LINK, fix="4.pos")
    table, = (header for header, _ in all_sent(app, "dial") if "word" in header["columns"])
    assert [row[0] for row in table["tables"][0]] == ["The", "cat", "sat", "on", "the", "mat", "."]
    assert all(row[1] != row[2] for row in (table["tables"][0][row] for row, _column in table["strong"]))
    squares, = (header["spec"] for header, _ in all_sent(app, "figure") if header["what"] == "distance")
    assert {(row["down"], row["across"]) for row in rows(squares)} == {(i, j) for i in range(1, 5) for j in range(1, 9)}
    assert "nearest" in words(app) and "farthest" in words(app)
    app.button(key="constant plan").click().run()
    assert not app.exception
    grid = opened(**LINK | {"page": "explore"})
    # only checks that the page has a grid; the tests of links check the plan
    assert sent(grid, "heads")


def test_results_of_another_model_are_marked(measured: Path):
    app = opened(**LINK, fix="4.pos.all-Other-v2")
    assert not app.exception and "relative drop there 15.0%" in at_slider(app)[0]
    assert "These numbers are of" in words(app)
    app = opened(page="constant", model="stories-softmax")
    assert not app.exception and "not of the model of the other pages" in words(app)


def test_a_text_box_is_shown_only_with_measurements(measured: Path):
    """On the page of a model without measurements, a button replaces the text box.

    The button selects the measured model.
    """
    app = opened(page="constant", model="stories-softmax")
    assert not all_sent(app, "text_box")
    app.button(key="label").click().run()
    assert not app.exception and len(all_sent(app, "text_box")) == 1 and "These numbers are of" not in words(app)


def test_moments_are_points_beside_the_models(measured: Path):
    """Checkpoints stored during training are points of the scatter chart, labelled with their steps.

    They are not offered as measured models. The rank correlation uses the last checkpoint of each training.
    """
    for steps, base in ((300, 0.6), (100, 0.4)):
        found = made(0.02, name=f"masked-small-{steps}", base=base) | {"moment": {"steps": steps}}
        for its in found["tasks"].values():
            its["scores"] = {key: its["scores"][key] for key in ("learned 0 0", "learned 16 0", "removed 16 0")}
        (measured / f"masked-small-{steps}.papa.json").write_text(json.dumps(found))
    app = opened(**LINK, fix="4.pos")
    assert not app.exception and not app.error
    spec, = (header["spec"] for header, _ in all_sent(app, "figure") if header["what"] == "constant-loss")
    assert {*looks(spec)} == {"masked-small", "Softmax (Hidden word)", "all-Other-v2"}
    assert [(row["x"], row["note"]) for row in rows(spec, series="masked-small")] == [
        (0.4, "after 100 steps"), (0.6, "after 300 steps")]
    assert "rank correlation over the last checkpoints of 3 trainings" in words(app)
    assert "python -m studies.encoders" in words(app)
    study, = (its for its in app.selectbox if its.label == "Measured model")
    assert set(study.options) == {"Softmax (Hidden word)", "all-Other-v2"}
    app = opened(**LINK, fix="4.pos.masked-small-100")
    assert not app.exception and "Measured in" in words(app)


def test_transfer_results_appear_beside_the_study(measured: Path):
    """The transfer results appear once two attention types have been measured. Softmax is in the first row."""
    def write(name: str, score: float) -> None:
        found = {"name": name, "elsewhere": True, "weights": "0", "version": store.version("transfer"),
                 "moment": {"validation_loss": 5.0}, "tasks": {"pos": {"constant_answer": 0.2, "pruned": {"0": 0.1}} | {
                     mode: {"0": score, "1": score + 0.02} for mode in ("probed", "fine-tuned")}}}
        (measured / f"{name}.transfer.json").write_text(json.dumps(found))

    softmax, random = transfer_study.MODELS["middle"], transfer_study.MODELS["random"]
    write(softmax, 0.5)
    assert "**Transfer of pretrained encoders** has not been measured" in words(opened(**LINK))
    write(random, 0.4)
    app = opened(**LINK)
    assert not app.exception and "Transfer of pretrained encoders" in words(app)
    table, = (header["tables"][0] for header, _ in all_sent(app, "dial") if "fine-tuned" in header["columns"])
    assert [row[0] for row in table] == ["softmax", "random"] and table[1][1] == "0.410 ± 0.014"


def test_missing_or_damaged_measurements_are_reported(measured: Path):
    (measured / "masked-softmax.papa.json").write_text("{")
    app = opened(**LINK)
    assert not app.exception and len(app.error) == 1 and "relative drop 15.0%" not in at_slider(app)[0]
    assert "Move the slider" in words(app)
    (measured / "masked-softmax.papa.json").unlink()
    (measured / "all-Other-v2.papa.json").unlink()
    app = opened(**LINK)
    assert not app.exception and "python -m studies.papa masked-softmax" in words(app)
    assert "makes attention heads constant" in words(app) and "Move the slider" not in words(app)


def test_missing_probes_are_reported(measured: Path):
    app = opened(**LINK, fix="4.slots")
    assert not app.exception and "The probes for this number of heads are not released." in words(app)


def test_the_view_is_a_link():
    for view in (ConstantView(), ConstantView(4, "slots", "all-MiniLM-L6-v2"), ConstantView(0, "pos", "a.b")):
        assert ConstantView.parse(str(view)) == view
    for text in ("", "5.pos", "1", "1.nothing", "1.pos.<b>", "1.pos.../x"):
        with pytest.raises(ValueError, match="nothing that the Constant page shows"):
            ConstantView.parse(text)
    app = opened(page="constant", model="masked-softmax", fix="9.<b>")
    assert not app.exception and "unknown setting for constant heads" in str(sent(app, "notice")[0]["messages"])
