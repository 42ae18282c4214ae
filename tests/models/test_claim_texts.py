"""Verdicts under resampling of texts: means alone are not clear if single texts contradict them."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from models.errors import CheckpointError
from studies import per_text
from studies.claims import HOLDS, MISSING, ONCE, OPEN, measure
from studies.claims.sources import heads, synthesizer
from tests.models.made_claims import (
    Made,
    gates_as_the_source_has_them,
    heads_as_the_source_has_them,
)


def test_chance_of_texts_is_that_of_paired_differences(made: Made):
    """The standard error over texts is that of paired differences, in which the difficulty of each text cancels."""
    hard = [40 - 5 * (i % 7) for i in range(60)]
    for name, more in (("gau-softmax", [0] * 60), ("gau-relu2", [2 + i % 3 - 1 for i in range(60)])):
        right = [one + other for one, other in zip(hard, more, strict=True)]
        made.seeds(f"masked-{name}", [{"accuracy_by_length": {"64": 0.4}, "texts": {
            "64": {"right": right, "asked": [64] * 60}}}] * 2, 900)

    def error(length: int, *kinds: str) -> float:
        return made.evidence.text_error({900: {0: 0.0, 1: 0.0}}, *(
            (f"masked-{kind}", per_text.guesses(length)) for kind in kinds))

    assert error(64, "gau-softmax", "gau-relu2") == pytest.approx(math.sqrt(2 / 3) / 64 / math.sqrt(60), rel=0.08)
    # the standard error of one model's value, for comparison with a fixed limit
    assert error(64, "gau-softmax") == pytest.approx(10 / 64 / math.sqrt(60), rel=0.08)
    assert math.isnan(error(128, "gau-softmax", "gau-relu2"))  # nothing was measured at length 128


def test_a_text_is_weighted_by_its_number_of_questions(made: Made):
    """Half of the texts have only one question, and their results vary a lot."""
    asked = [100, 1] * 60
    right = [50 + i % 2 if count == 100 else i % 4 // 2 for i, count in enumerate(asked)]
    made.seeds("masked-softmax", [{"texts": {"64": {"right": right, "asked": asked}}}] * 2, 900)
    error = made.evidence.text_error({900: {0: 0.0, 1: 0.0}}, ("masked-softmax", per_text.guesses(64)))
    assert error < 0.005 < 0.25 / math.sqrt(60)


Damage = Callable[[dict[str, Any]], None]


def differ(made: Made, name: str, change: Damage) -> None:
    """Changes the per-text results of the card's other seeds."""
    path = made.folder / "checkpoints" / name / "card.json"
    card = json.loads(path.read_text())
    for metric in card["other_seeds"].values():
        change(metric)
    path.write_text(json.dumps(card))


def losses_differ(metric: dict[str, Any]) -> None:
    metric["text_losses"] = [loss + 2 * (-1) ** i for i, loss in enumerate(metric["text_losses"])]


def answers_differ(*keys: str) -> Damage:
    """Returns a change that makes all answers wrong in half of the texts and right in the others."""
    def change(found: dict[str, Any]) -> None:
        its = [found]
        for key in keys[:-1]:
            its = [value for one in its for value in (one.values() if key == "*" else [one[key]])]
        for one in its:
            one[keys[-1]] = {"right": [0, 100] * 4, "asked": [100] * 8}

    return change


@pytest.mark.parametrize(("key", "name", "change"), [
    ("selective-perplexity", "stories-selective", losses_differ),
    ("selective-wide", "stories-softmax-wide", losses_differ),
    ("selective-loss", "stories-selective-memory", losses_differ),
    ("gated-perplexity", "stories-gated", losses_differ),
    ("synthesizer-fixed", "stories-fixed-random", losses_differ),
    ("synthesizer-alike", "stories-random", losses_differ),
    ("synthesizer-mixtures", "stories-random-softmax", losses_differ),
    ("selective-longer", "assignment-softmax", answers_differ("texts", "*", "last quarter")),
    ("selective-random", "assignment-random", answers_differ("texts", "*", "elsewhere")),
    ("normalisation-log-n", "masked-log-n", answers_differ("texts", "256")),
    ("normalisation-reading", "masked-gau-relu2", answers_differ("readings", "length", "32", "texts")),
])
def test_other_texts_would_have_another_answer(sources: Made, key: str, name: str, change: Damage):
    """A statement that holds for the means is not clear if single texts differ strongly."""
    gates_as_the_source_has_them(sources)
    assert sources.verdicts()[key] == HOLDS
    differ(sources, name, change)
    assert sources.verdicts()[key] == OPEN


SYNTHESIZERS = tuple(f"translation-{name}" for name in ("dense", "random", "factorized-random", "random-softmax"))


@pytest.mark.parametrize(("key", "names", "bleu", "word"), [
    ("synthesizer-translation", SYNTHESIZERS, 0.3, HOLDS), ("synthesizer-translation", SYNTHESIZERS, 10.0, OPEN),
    ("synthesizer-best", SYNTHESIZERS[-1:], 0.2, HOLDS), ("synthesizer-best", SYNTHESIZERS[-1:], 20.0, OPEN),
    ("disagreement-helps", ["translation-disagreement-out"], 0.2, HOLDS),
    ("disagreement-helps", ["translation-disagreement-out"], 1.0, OPEN),
    ("heads-few", [heads.PRUNED], 0.2, ONCE), ("heads-few", [heads.PRUNED], 2.0, OPEN)])
def test_other_sentences_would_have_another_bleu(sources: Made, key: str, names: list[str], bleu: float, word: str):
    """Single values alternate by `bleu` around the mean; one claim compares ratios, the others BLEU itself."""
    heads_as_the_source_has_them(sources)
    if key.startswith("synthesizer"):  # these claims compare with a separate plain softmax model
        sources.card(measure.PLAIN, {"bleu": synthesizer.BLEU["softmax"]})
    for name in names:
        score = json.loads((sources.folder / "checkpoints" / name / "card.json").read_text())["metric"]["bleu"]
        sources.sentences(name, [score + bleu * (-1) ** i for i in range(20)])
    assert sources.verdicts()[key] == word
    (sources.folder / "measurements" / f"{names[0]}.sentences.json").unlink()
    assert sources.verdicts()[key] == MISSING


def test_chance_of_texts_is_that_of_the_trainings_that_decide(made: Made):
    """The textbook formula, applied text by text to the mean over the seeds that both models have."""
    hard, luck = [0.5 * (i % 7) for i in range(360)], [0.1 * (-1) ** i for i in range(360)]
    for name, sign in (("selective", 0.0), ("softmax", 1.0)):
        made.seeds(f"stories-{name}", [
            {"perplexity": 40.0 + seed, "text_losses": [h + sign * (1 + seed) * own
                                                        for h, own in zip(hard, luck, strict=True)]}
            for seed in range(3)])
    between, error = synthesizer.compared(made.evidence, "selective")
    assert between == {1200: {0: 0.0, 1: 0.0, 2: 0.0}}
    # the seeds' deviations are 1, 2 and 3 times as large
    assert error == pytest.approx(2 * 0.1 / math.sqrt(360), rel=0.08)


def test_texts_are_read_of_the_trainings_that_have_the_number(made: Made):
    """One seed of the longer trainings has no value."""
    known = {"perplexity": 40.0, "text_losses": [1.0, 2.0, 3.0]}
    for name in ("selective", "softmax"):
        made.seeds(f"stories-{name}", [known] * 2)
        made.card(f"stories-{name}", {"perplexity": 39.0}, steps=4800, other_seeds={"1": {}})
    between, error = synthesizer.compared(made.evidence, "selective")
    assert set(between) == {1200, 4800} and error == 0.0


def test_a_card_does_not_hide_the_per_text_results_of_a_short_training(made: Made):
    """Per-text results of a short training are used even if a card with as many steps has the released model's."""
    made.card("stories-softmax", {"perplexity": 40.0}, other_seeds={})
    made.seeds("stories-softmax", [{"perplexity": 41.0, "text_losses": [1.0, 2.0]}])
    assert made.evidence.metrics("stories-softmax") == {1200: {0: {"perplexity": 40.0, "text_losses": [1.0, 2.0]}}}


@pytest.mark.parametrize("losses", [{}, {"text_losses": [1.0, 2.0]}])
def test_nothing_is_clear_without_the_losses_of_the_same_texts(made: Made, losses: dict):
    """Without losses on the same texts no statement is clear, however far apart the means are."""
    with_losses(made, losses)
    assert math.isnan(synthesizer.compared(made.evidence, "selective")[1])
    assert made.verdicts()["selective-perplexity"] == MISSING


def with_losses(made: Made, losses: dict) -> None:
    made.seeds("stories-selective", [{"perplexity": 20.0 + i, "text_losses": [1.0, 2.0, 3.0]} for i in range(3)])
    made.seeds("stories-softmax", [{"perplexity": 40.0 + i} | losses for i in range(3)])


@pytest.mark.parametrize("losses", [[], None, [1.0, "x", 3.0], [[1.0], [2.0], [3.0]], [1.0, math.nan, 3.0], 7])
def test_damaged_losses_of_texts_stop_the_judging(made: Made, losses: object):
    with_losses(made, {"text_losses": losses})
    with pytest.raises(CheckpointError, match="stories-softmax"):
        made.verdicts()


def test_one_text_gives_no_standard_error(made: Made):
    for name, value in (("selective", 20.0), ("softmax", 40.0)):
        made.seeds(f"stories-{name}", [{"perplexity": value + i, "text_losses": [3.5]} for i in range(3)])
    assert made.verdicts()["selective-perplexity"] == MISSING


def test_seeds_with_other_texts_are_not_averaged(made: Made):
    """The first seed with per-text results determines the texts."""
    for name in ("selective", "softmax"):
        made.seeds(f"stories-{name}", [{"perplexity": 40.0, "text_losses": [1.0, 2.0] * (10 + i)} for i in range(3)])
    assert synthesizer.compared(made.evidence, "selective")[1] == 0.0


@pytest.mark.parametrize("texts", [
    {"24": {"all": {"right": [1], "asked": [1, 1]}}}, {"24": {"all": {"right": "x", "asked": [1]}}},
    {"24": {"all": {"right": [1, "x"], "asked": [1, 2]}}}])
def test_damaged_answers_of_texts_stop_the_judging(made: Made, texts: object):
    made.seeds("assignment-selective", [{"accuracy_by_events": {"24": 1.0}, "texts": texts}] * 3, 3000)
    with pytest.raises(CheckpointError, match="assignment-selective"):
        made.verdicts()
