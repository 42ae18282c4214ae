"""The public contract, for every released model: examples run, cards are complete, files hold no code."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch
from safetensors import safe_open
from torch.testing import assert_close

import models
from models import catalogue
from models.nets.attention import TYPES
from models.nets.config import PairConfig
from models.nets.transformer import Block
from models.storage.checkpoint import CHECKPOINTS, FILES, build, digests
from models.storage.datasets import DATA
from models.tasks.tokenizers import trained
from models.training import evaluate
from models.training.cards import cost
from models.training.recipes import RECIPES, PairRecipe, is_current, task_of
from studies import store
from studies.claims.sources.synthesizer.generated import PLAIN
from studies.corpus.lengths import measure
from studies.prune_heads import SHIPPED
from studies.store import MEASUREMENTS

FIRST = {"assignment-softmax", "assignment-selective", "stories-softmax", "stories-selective"}
# the models that must be released are tested even if they are missing, because an empty list would pass
NAMES = sorted(FIRST | set(models.names()))
# family -> the largest number of tokens of an input text; another family is tested on its examples
FAMILIES = {"assignment": 128, "stories": 128, "masked": 128, "translation": 64, "summary": 224, "dialogue": 96}
MEGABYTES = 6  # size limit per file, because many people clone the repository only to look at it


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def lab(name: str) -> models.Lab:
    return models.load(name)


def python(*arguments: str, root: Path) -> str:
    """Returns the output of a new Python process in the repository, which may use all processors."""
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names():
    assert set(models.names()) >= FIRST
    assert models.names() == sorted(models.names()) and set(models.names()) <= {*RECIPES, *SHIPPED}


def test_every_name_says_its_task_and_its_attention(lab: models.Lab, name: str):
    assert lab.name == name and models.load(name) is lab
    if name in SHIPPED:
        left = sum(layers * heads for layers, heads in lab.shape.values()) - len(lab.closed)
        assert name == f"{lab.task.name}-pruned-{left}"
        return
    recipe, expected = RECIPES[name], f"{lab.task.name}-{lab.model.config.attention}"
    expected = f"{expected}-memory" if recipe.memory_loss else expected
    if isinstance(recipe, PairRecipe) and recipe.disagreement:
        expected = f"{lab.task.name}-disagreement-{'all' if len(recipe.disagreement) == 3 else recipe.disagreement[0]}"
    assert not lab.closed
    assert re.sub("-(512|128|wide|one-pass)$", "", name) == expected


def test_every_example_runs(lab: models.Lab):
    """Every example runs unmodified and with every head constant, and all resulting numbers are finite."""
    every = models.HeadPlan().with_heads([head for kind in lab.kinds for head in kind.addresses], constant=True)
    for _, text in lab.task.examples:
        for plan in (models.HeadPlan(), every):
            trace = models.run(lab, text, plan)
            assert numpy.isfinite(trace.output.distribution).all()
            assert all(numpy.isfinite(trace.weights[kind.name]).all() for kind in lab.kinds)
            assert trace.output.probabilities.sum() == pytest.approx(1, rel=1e-4)
            assert bool(trace.written) == ("target" in trace.rows)
            if lab.task.writes:
                assert all(isinstance(token, str) for token in lab.generate(trace.prompt, plan, count=2))


def test_a_full_text_runs(lab: models.Lab):
    """A text of the maximum length runs; constant heads have a row for each token, and rows sum to 1."""
    text = {"assignment": "a=1; " * 63 + "a=?"}.get(lab.task.name) or (
        "the cat " * 200 if lab.task.name in FAMILIES else f"{lab.task.examples[0][1]} " * 200)
    first = lab.kinds[0]
    trace = models.run(lab, text, models.HeadPlan().constant(first.name, 0, 0))
    assert len(trace.tokens) == lab.limit == lab.constant[first.name].shape[-1]
    assert lab.limit == (49 if lab.name == "assignment-random" else
                         FAMILIES.get(lab.task.name, lab.task.limit))
    if first.attention.is_distribution:
        assert_close(torch.tensor(trace.weights[first.name]).sum(-1), torch.ones(*lab.shape[first.name], lab.limit))


def test_training_helped(lab: models.Lab):
    """Better than random weights; but a random Synthesizer cannot find a value by its content."""
    if lab.task.name == "masked":
        losses = [models.run(lab, text).loss for _, text in lab.task.examples if "[MASK]" not in text]
        assert sum(losses) / len(losses) < math.log(lab.task.vocabulary) - 2
    elif lab.task.name == "translation":
        written = [models.run(lab, text).written for text in ("I don't have a dog.", "The cat is sleeping.")]
        assert "Hund" in written[0] and "Katze" in written[1]
    elif lab.task.name == "summary":
        written = [models.run(lab, text).written for _, text in lab.task.examples]
        assert "landing" in written[0] and "fuel" in written[1] and len(set(written)) == len(written)
    elif lab.task.name == "dialogue":
        written = [models.run(lab, text).written for _, text in lab.task.examples]
        assert len(set(written)) > 2
    elif lab.name == "assignment-random":
        assert lab.card["metric"]["accuracy_by_events"]["12"] < 0.9
    elif lab.task.name == "assignment":
        outputs = [output for _, text in lab.task.examples for output in models.run(lab, text).outputs]
        right = [output.names[output.target] == output.labels[0] for output in outputs]
        assert sum(right) > len(right) / 2  # a random guess is right in one of ten cases
    elif lab.task.name not in FAMILIES:
        untrained = replace(lab, model=build(lab.model.config).eval())
        trained, random = ([models.run(each, text).loss for _, text in lab.task.examples] for each in (lab, untrained))
        assert sum(trained) / len(trained) < sum(random) / len(random) - 0.5
    else:
        story, shuffled = "Once upon a time there was a little girl", "girl little a was there time a upon Once"
        assert models.run(lab, story).loss < models.run(lab, shuffled).loss - 1


def test_card(lab: models.Lab, name: str):
    """Every number and text of a card that the page and the README show agrees with the model and its recipe."""
    card, config, pruned = lab.card, lab.model.config, SHIPPED.get(name)
    recipe = RECIPES[pruned.model if pruned else name]
    kind = TYPES[config.attention]
    assert card["name"] == name and card["licence"]
    assert card["attention"] == {"title": kind.title, "formula": kind.formula, "source": kind.published}
    assert config == recipe.config
    encoder = {"encoder_layers": config.encoder_layers} if isinstance(config, PairConfig) else {}
    assert card["model"] == {"parameters": sum(p.numel() for p in lab.model.parameters()), "layers": config.layers,
                             "heads": config.heads, "width": config.width, "vocabulary": config.vocabulary,
                             "longest_text": lab.limit, **encoder}
    assert card["data"] and all(source["name"] for source in card["data"])
    training = card["training"]
    command = f"studies.prune_heads --ship {name}" if pruned else f"models.training {name}"
    assert training["command"] == f"python -m {command}"
    if pruned:
        assert (training["steps"], training["learning_rate"]) == (pruned.steps, pruned.rate) and "curve" not in card
    else:
        assert training["learning_rate"] == recipe.learning_rate and is_current(name, training)
        assert card["data"] == list(lab.task.data)
        assert training["steps"] == card["curve"]["step"][-1] == recipe.steps
    assert training["seed"] == 0 and training["minutes"] > 0 and training["tokens_per_step"] > 0
    assert training["optimiser"] == ("Adam" if pruned else "Muon and AdamW" if recipe.muon else "AdamW")
    assert training.get("memory_loss", 0) == recipe.memory_loss and training.get("lengths", []) == list(recipe.lengths)
    sources = [module.attention.source for module in lab.model.modules() if isinstance(module, Block)]
    assert card["cost"] == cost(config)
    if hasattr(sources[0], "alpha"):
        assert_close(torch.tensor(card["alpha"]["by_layer"]), torch.stack([source.alpha for source in sources]),
                     rtol=0, atol=1e-4)
        assert len(card["alpha"]["parts"]) == 2
    else:
        assert "alpha" not in card
    assert card["evaluate"] == f"python -m models.training.evaluate {name}"
    assert card["metric"] and "/work" not in json.dumps(card)


def test_card_of_real_data_gives_credit(lab: models.Lab):
    for source in lab.card["data"]:
        if not source["name"].startswith("none"):
            assert source["licence"] and source["attribution"]


def test_a_comparison_is_one_variable():
    """Selective attention has no more parameters, gated attention units about as many as the other types."""
    for family in ("assignment", "stories"):
        one, other = (models.load(f"{family}-{attention}").card for attention in ("softmax", "selective"))
        assert one["model"] == other["model"]
    for name in NAMES:
        plain = f"{name.split('-')[0]}-softmax"
        if plain == "translation-softmax" and name not in {plain, *SHIPPED}:
            plain = PLAIN  # the other models were trained for one pass over the pairs
        card, softmax = (models.load(which).card for which in (name, plain))
        for key in ("seed",) if name in SHIPPED else ("steps", "seed", "optimiser"):
            assert card["training"][key] == softmax["training"][key]
        if "lengths" not in card["training"]:
            assert card["training"]["tokens_per_step"] == softmax["training"]["tokens_per_step"]
        assert card["data"] == softmax["data"]
        same = ("width", "vocabulary") if "-gau-" in name else ("width", "vocabulary", "layers", "heads")
        same = tuple(key for key in same if key != "heads" or not name.endswith("-wide"))
        assert [card["model"][key] for key in same] == [softmax["model"][key] for key in same]
        if "-gau-" in name:
            assert card["model"]["parameters"] == pytest.approx(softmax["model"]["parameters"], rel=0.1)


def test_files_are_small_and_hold_no_code(name: str):
    """Model files are JSON and safetensors, because a pickle could run code."""
    folders = [CHECKPOINTS / name, *(CHECKPOINTS / name / "steps" / str(step) for step in catalogue.steps(name))]
    for folder in folders:
        assert sorted({path.name for path in folder.iterdir()} - {"steps"}) == sorted(FILES)
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file()):
        assert path.stat().st_size < MEGABYTES * 2**20
        if path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        else:
            with safe_open(path, "pt") as file:
                types = {file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118
            assert types == ({torch.float16} if path.name.startswith("constant") else {torch.int8, torch.float32})


def compare(found: dict, card: dict) -> None:
    """Asserts that cards agree within 0.5%: other kernels add in another order, which changes last digits."""
    assert found.keys() == card.keys()
    for key, value in card.items():
        if isinstance(value, dict):
            compare(found[key], value)
        else:
            assert found[key] == pytest.approx(value, rel=5e-3), key


@pytest.mark.verify
def test_the_card_is_measured_again(name: str, root: Path, tokens: Path):
    """Minutes per model; the next two tests are faster checks."""
    printed = json.loads(python("-m", "models.training.evaluate", name, "--runs", str(tokens), root=root))
    assert printed.pop("name") == name
    compare(printed, models.load(name).card["metric"])


def test_the_card_is_of_these_weights(lab: models.Lab, name: str):
    """The digest on the card is the digest of the weights, so replaced weights are detected."""
    assert lab.card["weights"] == digests(CHECKPOINTS / name)
    if lab.task.lengths:
        assert json.loads((MEASUREMENTS / f"{name}.length.json").read_text())["metric"] == lab.card["metric"]


def by_text(name: str) -> bool:
    """Returns whether the measured lengths have per-text results on the same tokens; older files lack them."""
    found = store.read(name, "length")
    return found is not None and all("texts" in reading for reading in found["readings"]["trained"].values())


# The slower models are measured by `make verify` only, because `make test` must take less than 25 minutes.
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in ("stories-dense", "masked-softmax") else pytest.mark.verify)
    for name in filter(by_text, sorted(FIRST | {"stories-dense", "masked-softmax"}))])
def test_some_texts_are_measured_again(name: str, tokens: Path):
    """A model of each task, measured again on 16,384 held-out tokens, gives the stored loss, accuracy, entropies."""
    lab, task = models.load(name), task_of(name, cache=tokens)
    read = store.read(name, "length")["readings"]["trained"]
    (length, written), longest = next(iter(read.items())), max(map(int, read))
    found = measure(lab, task, int(length), models.HeadPlan(), longest)
    assert found["predictions"] == written["predictions"]
    for key, tolerance in (("loss", 5e-3), ("accuracy", 2e-3), ("entropy", 2e-3)):
        assert_close(torch.tensor(found[key]), torch.tensor(written[key]), rtol=0, atol=tolerance)


@pytest.mark.parametrize(("arguments", "missing"), [
    (["stories-sparse"], "stories-dense"),
    (["stories-selective", "--data", "nowhere"], "standard_ebooks_children")])
def test_evaluate_reports_missing_files(arguments: list[str], missing: str, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.argv", ["evaluate", *arguments, "--runs", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        evaluate.main()
    assert missing in capsys.readouterr().err


@pytest.mark.verify
def test_tokenizers_are_those_trained_on_the_data():
    assert [text == path.read_text("utf-8") for path, text in trained(DATA).items()] == [True, True]
