"""The study of constant attention (PAPA): stored results, derived numbers, and the claim that uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from test_papa import TEXTS, masked_lab, small
from torch.testing import assert_close

from models import HeadPlan
from models.catalogue import names
from models.errors import CheckpointError
from models.storage.checkpoint import read_json
from studies import encoders, store
from studies.claims import FAILS, HOLDS, MISSING, ONCE, OPEN, SMALL
from studies.claims.evidence import Evidence
from studies.claims.sources import papa
from studies.papa import __main__ as command
from studies.papa import corpora, probes, results, shipped, study
from studies.papa.corpora import CORPORA, JUDGED, Example
from studies.papa.features import Cache
from tests.models.made_claims import COUNTS, needing_heads, papa_study

PRETRAINED = "somewhere-else"  # a model without a card; its numbers decide the statements about drops


def write(folder: Path, *studies: dict[str, Any]) -> Evidence:
    folder.mkdir(exist_ok=True)
    for its in studies:
        (folder / f"{its['name']}.papa.json").write_text(json.dumps(its))
    return Evidence(measurements=folder)


def test_drops_by_hand():
    its = results.of(papa_study(0.1))
    assert its.heads == 16 and its.counts == (0, 8, 14, 15, 16) and its.is_whole
    assert its.mean_drop("learned", 16) == pytest.approx(0.1) and its.mean_drop("learned", 8) == pytest.approx(0.05)
    assert its.mean_drop("removed", 16) == pytest.approx(0.5) and its.mean_drop("removed", 8) is None
    assert its.mean_drop("random", 16) == pytest.approx(0.1)
    seeds = its.mean_drop_by_seed("learned", 16)
    assert seeds == pytest.approx([1 - (0.72 + step) / (0.8 + step) for step in (-0.001, 0, 0.001)])
    assert its.quality == pytest.approx(0.8)


@pytest.mark.parametrize(("pruned", "constant", "counts"), [
    ((0.4, 0.5, 0.798), 0.1, True), ((0.4, 0.5, 0.799), 0.1, False), ((), 0.1, False),
    ((0.4, 0.5, 0.6), 0.798, True), ((0.4, 0.5, 0.6), 0.799, False)])
def test_a_task_counts_above_both_controls(pruned: tuple[float, ...], constant: float, counts: bool):
    """Every probe, with scores from 0.799 to 0.801, beats all heads pruned and one constant answer."""
    found = papa_study(0.1)
    task = found["tasks"]["acceptability"]
    task["scores"]["removed 16 0"] = {str(seed): {"score": score} for seed, score in enumerate(pruned)}
    task["constant_answer"] = constant
    its = results.of(found)
    assert ("acceptability" in its.drops("learned", 16)) is counts
    assert its.mean_drop("learned", 16) == pytest.approx(0.1)


def test_scores_below_nothing_have_no_drop():
    found = papa_study(0.1)
    for seeds in found["tasks"]["acceptability"]["scores"].values():
        for its in seeds.values():
            its["score"] -= 0.9
    found["tasks"]["acceptability"]["constant_answer"] = -1.0
    assert results.of(found).drops("learned", 16).keys() == results.CORPORA.keys() - {"acceptability"}


def test_the_constant_answer_by_hand():
    """The constant answer gives the most frequent label of the training texts to all test questions."""
    def texts(*labels: tuple[str, ...]) -> Any:
        return type("Texts", (), {"examples": [Example("", (), its) for its in labels]})

    training, test = texts(("O", "O", "B-x"), ("O",)), texts(("O", "B-x"), ("B-x", "O"), ("O",))
    assert study.constant_answer(test, "accuracy", training) == 0.6
    assert study.constant_answer(test, "f1", training) == 0 == study.constant_answer(test, "matthews", training)


@pytest.mark.parametrize(("drop", "average", "most", "half"), [
    (0.01, ONCE, ONCE, ONCE), (0.1, FAILS, ONCE, FAILS), (0.3, FAILS, FAILS, FAILS), (0.08, OPEN, ONCE, FAILS)])
def test_verdicts(drop: float, average: str, most: str, half: str, tmp_path: Path):
    found = needing_heads(papa_study(drop, name=PRETRAINED))
    for key in {*CORPORA} - {*JUDGED}:  # only rows of tables, however much these tasks lose
        found["tasks"][key]["scores"]["learned 16 0"] = dict.fromkeys("012", {"score": 0.8 if drop > 0.1 else 0.1})
    claim = papa.claim(write(tmp_path / "m", found))
    assert {"Entailment", "Paraphrases"} < {row["task"] for row in claim.statements[1].table}
    words = {its.key: its.verdict.word for its in claim.statements}
    assert (words["papa-average"], words["papa-most"], words["papa-half"]) == (average, most, half)
    assert words["papa-better"] == MISSING  # one model is not enough for a rank correlation


def test_the_pretrained_model_decides(tmp_path: Path):
    """The source's models were pretrained; our small encoder is in the table and decides nothing."""
    here, there = needing_heads(papa_study(0.01)), needing_heads(papa_study(0.2, name=PRETRAINED))
    claim = papa.claim(write(tmp_path / "m", here, there))
    assert claim.statements[0].verdict.word == FAILS
    assert len(claim.statements[0].table) == 2 * (len(CORPORA) + 1) and claim.models == ("masked-softmax",)
    assert papa.claim(write(tmp_path / "n", here)).statements[0].verdict.word == MISSING


@pytest.mark.parametrize(("more", "word"), [(0.06, ONCE), (-0.06, FAILS), (0.0, SMALL)])
def test_the_order_is_judged_by_pairs(more: float, word: str, tmp_path: Path):
    found = papa_study(0.1, more)
    for its in found["tasks"].values():  # random noise, so that the difference of equal orders is uncertain
        its["scores"][f"random {COUNTS[2]} 0"]["0"]["score"] += 0.004
        its["scores"][f"random {COUNTS[2]} 1"]["1"]["score"] -= 0.004
    order = papa.claim(write(tmp_path / "m", found)).statements[3]
    assert order.key == "papa-order" and order.verdict.word == word


def test_better_models_are_ranked(tmp_path: Path):
    """A perfect rank correlation of five models is significant; of three models it is not."""
    drops = [0.03, 0.06, 0.09, 0.12, 0.15]
    more = [papa_study(drop, name=f"model-{i}", base=0.5 + drop) for i, drop in enumerate(drops)]
    better = papa.claim(write(tmp_path / "m", *more)).statements[4]
    assert better.verdict.word == HOLDS and better.table[-1]["mean score without changes"] == "1.00"
    assert better.table[-1]["relative drop with all heads constant"] == "p = 0.01"  # one of 5! = 120 orders
    less = [papa_study(drop, name=f"model-{i}", base=0.9 - drop) for i, drop in enumerate(drops)]
    assert papa.claim(write(tmp_path / "n", *less)).statements[4].verdict.word == FAILS
    assert papa.claim(write(tmp_path / "o", *more[:3])).statements[4].verdict.word == OPEN


def moment(steps: int, drop: float, base: float) -> dict[str, Any]:
    """Returns the measurement of a stored checkpoint: unchanged, all heads constant, and all heads pruned."""
    found = papa_study(drop, name=f"masked-small-{steps}", base=base) | {"moment": {"steps": steps}}
    for its in found["tasks"].values():
        its["scores"] = {name: its["scores"][name] for name in (
            "learned 0 0", f"learned {COUNTS[-1]} 0", f"removed {COUNTS[-1]} 0")}
        del its["order"]
    return found


def test_moments_are_points_and_no_models(tmp_path: Path):
    """Of each training only the last checkpoint is a point of the rank correlation."""
    found = [needing_heads(papa_study(0.05)), moment(300, 0.03, 0.5), moment(100, 0.02, 0.4)]
    claim = papa.claim(write(tmp_path / "m", *found))
    assert {row["model"] for row in claim.statements[0].table} == {"masked-softmax"}
    assert claim.statements[1].verdict.word == MISSING  # no pretrained model
    better = claim.statements[4]
    assert better.chart is not None and better.chart.kind == "scatter"
    assert [(its["name"], its["x"]) for its in better.chart.points] == [
        ("masked-small", 0.4), ("masked-small", 0.5), ("masked-softmax", 0.8)]
    ranked = results.ranked(results.of(its) for its in found)
    assert ranked.rank == pytest.approx(1) and (ranked.trainings, ranked.chance) == (2, pytest.approx(1 / 2))
    assert better.verdict.word == MISSING  # the three points come from only two trainings
    found = [*found, papa_study(0.04, name="other", base=0.6), moment(200, 0.5, 0.3)]  # only the last checkpoint counts
    ranked = results.ranked(results.of(its) for its in found)
    assert ranked.rank == pytest.approx(1) and (ranked.trainings, ranked.chance) == (3, pytest.approx(1 / 6))
    whole = papa_study(0.05, name="masked-small-300") | {"moment": {"steps": 300}}
    claim = papa.claim(write(tmp_path / "n", papa_study(0.05), whole))
    assert {row["model"] for row in claim.statements[0].table} == {"masked-softmax", "masked-small-300"}


def test_points_are_of_the_same_tasks(tmp_path: Path):
    """Scores of models are compared on the tasks that all models have. A study of few tasks is not a point."""
    first, second, third = (papa_study(0.05 * i, name=f"model-{i}", base=0.4 + 0.1 * i) for i in (1, 2, 3))
    for key in [*CORPORA][5:]:
        del first["tasks"][key]
    for by_seed in second["tasks"]["acceptability"]["scores"].values():  # the first model lacks this task
        for its in by_seed.values():
            its["score"] = 0.1
    third["tasks"] = {"pos": third["tasks"]["pos"]}
    ranked = results.ranked(map(results.of, (first, second, third)))
    assert [(study.name, round(quality, 4), round(drop, 4)) for study, quality, drop in ranked.points] == [
        ("model-1", 0.5, 0.05), ("model-2", 0.6, 0.1)]
    assert [len(study.tasks) for study, *_ in ranked.points] == [5, 5]


def test_without_a_study_nothing_is_measured(tmp_path: Path):
    for evidence in (write(tmp_path / "m"), write(tmp_path / "o", papa_study() | {"weights": "of before"})):
        claim = papa.claim(evidence)
        assert {its.verdict.word for its in claim.statements} == {MISSING} and len(claim.statements) == 5
    with pytest.raises(CheckpointError, match="papa.json"):
        papa.claim(write(tmp_path / "n", papa_study() | {"tasks": None}))


def test_a_study_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Other settings start again, and the released probes are the trained ones."""
    monkeypatch.setitem(CORPORA, "pos", small("a few"))
    monkeypatch.setattr(shipped, "PROBES", tmp_path / "probes")
    corpora.data_of.cache_clear()
    lab = masked_lab()
    states = results.conditions(len(lab.kinds[0].addresses), ("learned",))

    def work(share: float = 1.0) -> study.Work:
        return study.TaskStudy(lab, "pos", tmp_path / "run", Cache(tmp_path / "cache"), share=share)

    first = work()
    command.measure_missing(first, states[:3])
    again = work()
    assert [again.is_done(its) for its in states] == [True] * 3 + [False] * (len(states) - 3)
    trained = []
    monkeypatch.setattr(probes, "train", lambda *given, train=probes.train: trained.append(1) or train(*given))
    command.measure_missing(again, states)
    assert len(trained) == 1 + 3 * (len(states) - 3)  # the first probe is trained for the learning of lambda
    assert len(again.done["scores"]) == len(states)
    assert again.done["scores"]["learned 0 0"] == first.done["scores"]["learned 0 0"]
    assert not work(0.5).is_done(states[0])
    shipped.write("tiny", tmp_path / "run", [again])
    found = shipped.read("tiny", "pos")
    assert found is not None and set(found[1]) == {its.count for its in states}
    text = TEXTS[0]
    read = shipped.compare(lab, text, "pos", again.labels, *found, [tuple(its) for its in again.done["order"]], 4)
    assert read is not None and len(read.changes) == len(shipped.example_of(text).words)
    assert shipped.read("tiny", "slots") is None
    corpora.data_of.cache_clear()


def test_the_command_says_what_was_measured():
    """The command for a repeated measurement lists tasks, modes or conditions if some of them were left out."""
    whole = papa_study()["tasks"]
    assert command.options_of(whole, 16) == " --modes learned random"
    del whole["ner-emerging"]
    for its in whole.values():
        its["scores"] |= {"removed 14 0": {}}
    assert command.options_of(whole, 16) == f" --tasks {' '.join(key for key in CORPORA if key != 'ner-emerging')}"
    for its in whole.values():
        its["scores"] = {"learned 0 0": {}, "learned 16 0": {}, "removed 16 0": {}}
    assert command.options_of({"pos": whole["pos"]}, 16) == " --tasks pos --endpoints"


def test_ends_need_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The pruning order is learned only for the points between the two ends."""
    monkeypatch.setitem(CORPORA, "pos", small("others"))
    corpora.data_of.cache_clear()
    its = study.TaskStudy(masked_lab(), "pos", tmp_path / "run", Cache(tmp_path / "cache"))
    heads = len(its.lab.kinds[0].addresses)
    command.measure_missing(its, results.endpoints(heads))
    assert "order" not in its.done and set(its.done["scores"]) == {
        "learned 0 0", f"learned {heads} 0", f"removed {heads} 0"}
    before = its.done["scores"] | {}
    states = results.conditions(heads, ("learned",))
    command.measure_missing(its, states)
    assert len(its.done["order"]) == heads and len(its.done["scores"]) == len(states)
    assert before.items() <= its.done["scores"].items()
    corpora.data_of.cache_clear()


def test_a_typed_text_by_another_way():
    """Distances are half the sum of absolute differences, and punctuation marks are separate words."""
    lab = masked_lab()
    text = "The [cat] sat on [MASK] mat, didn't it?"
    example = shipped.example_of(text)
    assert [example.text[start:stop] for start, stop in example.words] == [
        "The", "cat", "sat", "on", "[MASK]", "mat", ",", "didn't", "it", "?"]
    constant = torch.rand(*lab.shape["self"], 64, 64)
    layers, width = lab.model.config.layers + 1, lab.model.config.width
    torch.manual_seed(0)
    by_count = {count: probes.Probe(torch.zeros(layers, width), torch.ones(layers, width), 3, None).eval()
                for count in (0, 8)}
    read = shipped.compare(lab, text, "pos", ("a", "b", "c"), constant, by_count, lab.kinds[0].addresses, 0)
    assert read is not None and not any(its.is_changed for its in read.changes) and len(read.changes) == 10
    trace = lab.run(lab.read(example.text), [HeadPlan()])[0]
    n = len(trace.tokens)
    rows = constant[:, :, :n, :n] / constant[:, :, :n, :n].sum(-1, keepdim=True)
    expected = (torch.tensor(trace.live["self"]) - rows).abs().sum(-1).mean(-1) / 2
    assert_close(torch.tensor(read.distances), expected, rtol=1e-3, atol=1e-4)
    assert shipped.compare(lab, "…", "pos", ("a",), constant, by_count, lab.kinds[0].addresses, 0) is None


def test_what_ships_can_be_read():
    """Every released study has its numbers, probes and constant matrices, and the labels fit the probes."""
    for name in results.names():
        if name not in names():
            stored = read_json(store.MEASUREMENTS / f"{name}.papa.json")
            assert stored["elsewhere"]
            # outdated results stay stored until they are measured again, but are not displayed
            if store.is_older(stored, "papa"):
                continue
        its = results.read(name)
        assert its is not None and its.tasks
        for key, task in its.tasks.items():
            found = shipped.read(name, key)
            if found is None:
                continue
            constant, by_count = found
            assert constant.shape[:2] == its.shape and set(by_count) <= set(its.counts)
            assert all(len(probe.second.bias) == len(task.stored["labels"]) for probe in by_count.values())
            between = any(0 < count < its.heads for _mode, count in task.scores)
            assert len(task.stored.get("order", ())) == (its.heads if between else 0)
    assert {its.name for name in results.names() if (its := results.read(name)) and its.moment} <= {*encoders.ALL}


def test_probes_in_8_bits_say_nearly_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shipped, "PROBES", tmp_path)
    torch.manual_seed(0)
    probe = probes.Probe(torch.randn(3, 32), 0.1 + torch.rand(3, 32), 5, 9.0).eval()
    folder = tmp_path / "run"
    folder.mkdir()
    save_file({"constant": torch.rand(2, 4, 64, 64)}, folder / "intent-snips.constant.safetensors")
    for count in (0, 8):
        save_file(probes.to_tensors(probe), folder / f"intent-snips.{count}.safetensors")

    class Fake:
        key = "intent-snips"
        lab = masked_lab()

    shipped.write("tiny", folder, [Fake()])  # type: ignore[list-item]
    found = shipped.read("tiny", "intent-snips")
    assert found is not None
    values, positions = torch.randn(7 * 6, 3, 32), torch.arange(6).expand(7, 6)
    with torch.inference_mode():
        assert_close(found[1][8](values, positions), probe(values, positions), rtol=0.05, atol=0.05)
