"""Transfer of Synthesizers: fine-tuning, stored results, and the two statements that use the results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_papa import masked_lab, small, tagged

from models.errors import CheckpointError
from models.nets.attention.base import Intervention
from studies import encoders, store
from studies.claims import FAILS, MISSING, ONCE, OPEN, SMALL
from studies.claims.evidence import Evidence
from studies.claims.sources.synthesizer import transfer as statements
from studies.papa import corpora, features, probes
from studies.papa.corpora import CORPORA
from studies.transfer import transfer_study
from studies.transfer.transfer_study import KIND, MODELS, PROBED, PRUNED, SEEDS, TUNED, WAYS, common, encoders_of


@pytest.mark.parametrize("attention", ["softmax", "random", "dense-softmax"])
def test_fine_tuning_learns_and_changes_nothing_that_it_was_given(attention: str, monkeypatch: pytest.MonkeyPatch):
    """It learns the task from an untrained probe and changes every parameter of a copy of the encoder."""
    monkeypatch.setattr(transfer_study, "EPOCHS", 60)
    lab = masked_lab(attention)
    texts, questions = tagged(lab)
    values = features.features(lab, texts)
    monkeypatch.setattr(probes, "MOST_EPOCHS", 0)
    probe = probes.train(values, questions, 2, True, 0)
    before = {name: its.clone() for name, its in (*lab.model.named_parameters(), *probe.named_parameters())}
    tuned, found = transfer_study.fine_tuned(lab, texts, ("no", "yes"), probe, 0)
    after = dict((*lab.model.named_parameters(), *probe.named_parameters()))
    assert all(torch.equal(its, after[name]) for name, its in before.items())
    moved = {name for name, its in tuned.model.named_parameters() if not torch.equal(its, before[name])}
    assert moved == {name for name, _ in lab.model.named_parameters()}
    predicted = probes.predict(found, features.features(tuned, texts), questions, ("no", "yes"))
    assert predicted == [[*its.labels] for its in texts.examples]
    again, _ = transfer_study.fine_tuned(lab, texts, ("no", "yes"), probe, 0)
    assert all(torch.equal(its, dict(again.model.named_parameters())[name])
               for name, its in tuned.model.named_parameters())
    assert not any(its.requires_grad for its in (*tuned.model.parameters(), *found.parameters()))


def test_the_rate_rises_and_falls_to_nothing():
    shares = [transfer_study.share_of_rate(step, 20) for step in range(20)]
    assert shares[:3] == [0.5, 1.0, 1.0] and shares[-1] == pytest.approx(1 / 18) and shares == [*shares[:2], *sorted(
        shares[2:], reverse=True)]
    assert transfer_study.share_of_rate(0, 1) == 1


def test_what_is_done_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A study continues after its last finished seed. Tasks without all seeds are not written to the measurements."""
    monkeypatch.setitem(CORPORA, "pos", small("small", "accuracy"))
    corpora.data_of.cache_clear()
    lab = replace(masked_lab(), card={"weights": {"model.safetensors": "1"}})
    monkeypatch.setattr(encoders, "lab_of", lambda moment, runs: lab)
    monkeypatch.setattr(encoders, "numbers_of", lambda moment, runs: {"validation_loss": 5.0})
    monkeypatch.setattr(transfer_study.store, "MEASUREMENTS", tmp_path / "measurements")
    real, seeds = transfer_study.fine_tuned, []

    def stops(*given: Any) -> Any:
        seeds.append(given[-1])
        if len(seeds) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(transfer_study, "fine_tuned", stops)
    name = MODELS["random"]
    with pytest.raises(KeyboardInterrupt):
        transfer_study.measure(name, tmp_path, tasks=["pos"])
    transfer_study.write(name, json.loads((tmp_path / "transfer" / f"{name}.json").read_text()), tmp_path, "x")
    written = tmp_path / "measurements" / f"{name}.transfer.json"
    assert json.loads(written.read_text())["tasks"] == {}
    done = transfer_study.measure(name, tmp_path, tasks=["pos"])
    assert seeds == [0, 1, 1, 2] and set(done["scores"]["pos"][TUNED]) == {"0", "1", "2"}
    transfer_study.measure(name, tmp_path, tasks=["pos"])
    assert len(seeds) == 4
    transfer_study.write(name, done, tmp_path, "x")
    task = json.loads(written.read_text())["tasks"]["pos"]
    assert task[PROBED] == done["scores"]["pos"][PROBED] and len(task[PRUNED]) == 3
    answers = [label for example in CORPORA["pos"].read(tmp_path)[1] for label in example.labels]
    assert task["constant_answer"] == pytest.approx(answers.count("O") / len(answers), abs=1e-5)
    lab = replace(lab, card={"weights": {"model.safetensors": "2"}})
    transfer_study.measure(name, tmp_path, tasks=["pos"])
    assert len(seeds) == 4 + len(SEEDS)
    corpora.data_of.cache_clear()


def test_the_control_has_no_attention(monkeypatch: pytest.MonkeyPatch):
    """The control's probes are trained on hidden states with every head's gate at 0."""
    monkeypatch.setitem(CORPORA, "pos", small("small", "accuracy"))
    corpora.data_of.cache_clear()
    lab = masked_lab()
    task, trained = transfer_study.Task(lab, "pos"), []
    monkeypatch.setattr(probes, "train", lambda values, *given, real=probes.train: trained.append(values) or real(
        values, *given))
    task.pruned()
    closed = torch.zeros(lab.kinds[0].heads, 1, 1)
    expected = features.features(lab, task.train, lambda n: lambda kind, layer: Intervention(gate=closed))
    assert len(trained) == 3 and all(torch.equal(values, expected) for values in trained)
    assert not torch.equal(expected, features.features(lab, task.train))
    corpora.data_of.cache_clear()


def evidence(folder: Path, **scores: float) -> Evidence:
    """Returns synthetic results with three seeds."""
    folder.mkdir(exist_ok=True)
    for name, moment in MODELS.items():
        score = scores.get(name.replace("-", "_"))
        if score is not None:
            by_seed = {str(seed): score + 0.001 * (seed - 1) + 0.0005 * (len(name) % 2) * seed for seed in SEEDS}
            found = {"name": moment, "elsewhere": True, "weights": "0", "version": store.version("transfer"),
                     "moment": {"validation_loss": 5.0},
                     "tasks": {key: dict.fromkeys(WAYS, by_seed) | {"pruned": {"0": 0.1}, "constant_answer": 0.2}
                               for key in CORPORA}}
            (folder / f"{moment}.transfer.json").write_text(json.dumps(found))
    return Evidence(measurements=folder)


@pytest.mark.parametrize(("scores", "alone", "mixed"), [
    ({"random": 0.4, "dense": 0.4, "dense_softmax": 0.6, "random_softmax": 0.598}, ONCE, ONCE),
    ({"random": 0.62, "dense": 0.62, "dense_softmax": 0.55, "random_softmax": 0.5}, FAILS, FAILS),
    ({"random": 0.6, "dense": 0.6, "dense_softmax": 0.59, "random_softmax": 0.59}, SMALL, OPEN),
    ({"random": 0.4}, MISSING, MISSING)])
def test_verdicts(scores: dict[str, float], alone: str, mixed: str, tmp_path: Path):
    found = statements.statements(evidence(tmp_path / "m", middle=0.6, **scores))
    assert [its.key for its in found] == ["synthesizer-transfer", "synthesizer-together"]
    assert [its.verdict.word for its in found] == [alone, mixed]
    assert len(found[0].table) == 2 * len(MODELS)
    row = found[0].table[0]
    assert row["attention"] == "softmax" and row["mean of the tasks"] == row["Entailment"] == row["Paraphrases"] != "–"
    assert len(found[0].chart.points) == 2 * 3 * (1 + len(scores))


def test_a_task_without_clear_use_of_attention_is_left_out(tmp_path: Path):
    made = evidence(tmp_path / "m", middle=0.6, random=0.4)
    path = tmp_path / "m" / f"{MODELS['middle']}.transfer.json"
    found = json.loads(path.read_text())
    found["tasks"]["pos"]["pruned"] = {"0": 0.1, "1": 0.6}  # above 0.599, the score of one seed of softmax
    found["tasks"]["slots"]["constant_answer"] = 0.7
    path.write_text(json.dumps(found))
    by_type = encoders_of(lambda moment: made.study(moment, KIND))
    for way in WAYS:
        assert {*CORPORA} - {*common(by_type, way)} == {"pos", "slots", "entailment", "paraphrase"}


def test_without_numbers_nothing_is_measured_and_damaged_ones_stop_the_judging(tmp_path: Path):
    found = statements.statements(Evidence(measurements=tmp_path))
    assert {its.verdict.word for its in found} == {MISSING} and "Entailment" not in found[0].table[0]
    made = evidence(tmp_path / "m", middle=0.6, random=0.4)
    (tmp_path / "m" / f"{MODELS['random']}.transfer.json").write_text(
        f'{{"elsewhere": true, "version": {store.version(KIND)}, "tasks": 3}}')
    with pytest.raises(CheckpointError, match="transfer.json"):
        statements.statements(made)
