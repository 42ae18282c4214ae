"""The loss per byte does not depend on how a tokenizer cuts the text."""

import math

import numpy
import pytest
from foreign_tiny import lab_of

import models
from models.analysis.per_byte import loss_per_byte

TEXTS = ["The cat sat on the mat.", "Η γάτα κάθισε.", " two  spaces", "木 é 🙂 end"]


@pytest.mark.parametrize("name", ["stories-softmax", "gpt2", "llama", "xglm"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_model_that_gives_each_byte_the_same_probability_has_that_loss_in_every_tokenizer(name: str, text: str):
    """The bytes of a token are the part of the text between the two ends of its characters."""
    lab = models.load(name) if "-" in name else lab_of(name)
    prompt = lab.read(text)
    unknown = any("[UNK]" in token for token in prompt.tokens)
    if unknown:
        pytest.skip("an unknown word is one token of another size")
    parts = lab.task.bytes_of(prompt.ids)
    sizes = [len(parts[i].split()) if i in parts else len(token.encode()) for i, token in enumerate(prompt.tokens)]
    losses = numpy.array([*sizes[1:], math.nan], dtype=numpy.float32) * math.log(256)
    assert loss_per_byte(lab.task, text, prompt, losses) == pytest.approx(math.log(256), rel=0.1)


def test_the_loss_of_a_story_is_its_sum_over_the_bytes_of_its_text():
    lab, text = models.load("stories-softmax"), "Tom had a café. Η γάτα"
    trace = models.run(lab, text)
    assert loss_per_byte(lab.task, text, lab.read(text), trace.losses) == pytest.approx(
        float(numpy.nansum(trace.losses)) / len(text.encode()), rel=1e-5)


def test_a_first_token_without_a_prediction_is_not_counted():
    lab, text = lab_of("gpt2"), "The cat sat."
    trace, first = models.run(lab, text), len(lab.read(text).tokens[0])
    assert loss_per_byte(lab.task, text, lab.read(text), trace.losses) == pytest.approx(
        float(numpy.nansum(trace.losses)) / (len(text) - first), rel=1e-5)


def test_of_a_masked_model_the_hidden_words_count():
    lab, text = models.load("masked-softmax"), "The [cat] sat."
    trace = models.run(lab, text)
    assert loss_per_byte(lab.task, text, lab.read(text), trace.losses) == pytest.approx(
        float(numpy.nansum(trace.losses)) / len(" cat"), rel=1e-5)


def test_a_text_without_losses_has_none():
    lab = models.load("translation-softmax")
    trace = models.run(lab, "The house is old.")
    assert math.isnan(loss_per_byte(lab.task, "The house is old.", lab.read("The house is old."), trace.losses))
