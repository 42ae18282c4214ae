"""Input and output of foreign models: tokens and positions, hidden words, pairs, classes, images, generation."""

import io
import math
from pathlib import Path

import numpy
import pytest
import torch
from foreign_tiny import TEXT, eager_of, folder_of, lab_of, picture
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from PIL import Image

import models
from models import HeadPlan
from models.errors import InputError
from models.kind import TARGET
from models.kind import TEXT as TYPED
from models.labs.foreign.reading.texts import unmark
from models.labs.foreign.reading.vision import open_picture
from models.labs.foreign.running import writing
from models.labs.foreign.running.writing import with_target
from models.trace import vector_shift
from tests.models.foreign_architectures import ARCHITECTURES, PICTURES

READING = sorted(set(ARCHITECTURES) - PICTURES)


@pytest.mark.parametrize("name", READING)
def test_tokens_are_those_of_the_tokenizer(name: str):
    lab = lab_of(name)
    prompt = lab.read(TEXT)
    assert list(prompt.ids) == lab.task.tokenizer(TEXT)["input_ids"]
    assert prompt.read_chars == len(TEXT) and prompt.omitted == 0 and len(lab.task.labels) > 2
    own = [token for token in prompt.tokens if token not in lab.task.tokenizer.all_special_tokens]
    assert lab.task.join(own).strip().lower().replace(" .", ".") == TEXT.lower()
    assert all(0 <= place < len(prompt.ids) for place in prompt.predict_at) and len(prompt.targets) == len(prompt.ids)


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("text", ["", "  \n "])
def test_nothing_cannot_be_read(name: str, text: str):
    if text and not lab_of(name).task.tokenizer.tokenize(text) or not text:
        with pytest.raises(InputError, match="Type a text"):
            lab_of(name).read(text)


@pytest.mark.parametrize("name", ["bert", "roberta", "albert", "gpt2"])
def test_awkward_texts(name: str):
    lab = lab_of(name)
    for text in ("a\ud800b", "👩‍👩‍👧 ő ﬁ", "[", "[]", "[[MASK]]", "[cat", "] [", "<mask>", "[MASK][MASK]", "x" * 5000):
        trace = models.run(lab, text)
        assert numpy.isfinite(trace.weights["self"]).all()


@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "distilbert", "albert", "mpnet", "deberta-v2"])
def test_a_word_in_brackets_is_hidden(name: str):
    """A word in brackets becomes the mask token, and its loss equals that of transformers' own model."""
    lab = lab_of(name)
    plain, hidden = lab.read(TEXT), lab.read(TEXT.replace("The cat", "The [cat]"))
    assert len(plain.ids) == len(hidden.ids) and hidden.predict_at and not plain.predict_at
    assert plain.hint and not hidden.hint
    mask = lab.task.tokenizer.mask_token_id
    word = lab.task.join([plain.tokens[i] for i in hidden.predict_at]).strip()
    assert word == "cat" == lab.task.join([lab.task.token_at(hidden, i) for i in hidden.predict_at]).strip()
    for i, (seen, true) in enumerate(zip(hidden.ids, plain.ids, strict=True)):
        assert (seen, hidden.targets[i]) == ((mask, true) if i in hidden.predict_at else (true, -1))
    trace = models.run(lab, TEXT.replace("The cat", "The [cat]"))
    with torch.inference_mode():
        logits = eager_of(name)(**lab.task.inputs(hidden)).logits[0].log_softmax(-1)
    for i in hidden.predict_at:
        assert trace.losses[i] == pytest.approx(-float(logits[i, plain.ids[i]]), rel=1e-4)
    assert lab.task.headline(trace.outputs[0], "").startswith("Hidden: ") and trace.outputs[0].target in plain.ids
    assert numpy.isnan(trace.losses).sum() == len(plain.ids) - len(hidden.predict_at)


@pytest.mark.parametrize("mark", ["[MASK]", "<mask>", "[mask]"])
@pytest.mark.parametrize("name", ["bert", "roberta", "albert"])
def test_a_mask_is_the_tokenizers_own(name: str, mark: str):
    lab = lab_of(name)
    prompt = lab.read(f"The cat sat on the {mark}.")
    assert len(prompt.predict_at) == 1 and prompt.targets[prompt.predict_at[0]] == -1
    assert prompt.tokens[prompt.predict_at[0]] == lab.task.tokenizer.mask_token
    assert prompt.read_chars == len(f"The cat sat on the {mark}.")


@given(st.text(alphabet="ab [].", max_size=30))
@settings(max_examples=200)
def test_unmark_keeps_positions(text: str):
    """Positions of characters in the text with brackets are right, and they increase."""
    marked = unmark(text, "[MASK]")
    assert len(marked.origin) == len(marked.plain) + 1 and list(marked.origin) == sorted(marked.origin)
    assert marked.origin[-1] in (len(text), 0) and "[MASK]" not in marked.plain
    for start, stop in marked.hidden:
        assert text[:marked.origin[stop]].endswith(f"[{marked.plain[start:stop]}]")


def test_losses_of_a_causal_model():
    lab = lab_of("gpt2")
    trace = models.run(lab, TEXT)
    ids = torch.tensor([trace.prompt.ids])
    with torch.inference_mode():
        expected = float(eager_of("gpt2")(input_ids=ids, labels=ids).loss)
    assert trace.loss == pytest.approx(expected, rel=1e-5) and numpy.isnan(trace.losses[-1])
    assert trace.output.position == len(trace.tokens) - 1


@pytest.mark.parametrize("name", ["gpt2", "llama", "opt"])
def test_continuation_is_transformers_greedy(name: str):
    lab = lab_of(name)
    prompt = lab.read("The cat sat")
    with torch.inference_mode():
        ids = eager_of(name).generate(torch.tensor([prompt.ids]), max_new_tokens=8, do_sample=False, min_length=0,
                                      suppress_tokens=lab.task.without_token or None)
    expected = [i for i in ids[0, len(prompt.ids):].tolist() if i != 3]
    assert list(writing.continue_text(lab, lab.task, prompt, HeadPlan(), 8)) == expected
    assert len(list(lab.generate(prompt, count=8))) in (len(expected), len(expected) + 1)
    every = HeadPlan().with_heads(lab.kinds[0].addresses, gate=0.0)
    assert list(writing.continue_text(lab, lab.task, prompt, every, 8)) != expected


@pytest.mark.parametrize("name", ["t5", "bart", "marian"])
def test_what_is_written_is_transformers_greedy(name: str):
    """With a teacher-forced target, the maps of every plan are about its tokens."""
    lab = lab_of(name)
    prompt, model = lab.read(TEXT), eager_of(name)
    never = [[i] for i in {0, model.generation_config.decoder_start_token_id}]
    with torch.inference_mode():
        ids = model.generate(torch.tensor([prompt.ids]), max_length=20, do_sample=False, num_beams=1,
                             bad_words_ids=[*never, *([i] for i in lab.task.without_token)],
                             use_cache=False)[0].tolist()
    given = with_target(lab, prompt)
    assert list(given.target[:19]) == ids[:19]
    assert [len(list(writing.write(lab, lab.task, prompt, HeadPlan(), count))) for count in (1, 3)] == [1, 3]
    trace = models.run(lab, TEXT)
    assert trace.rows[TARGET] == tuple(lab.task.pieces[i] for i in given.target)
    assert trace.rows[TYPED] == prompt.tokens and all(output.row == TARGET for output in trace.outputs)
    assert trace.written == lab.task.tokenizer.decode(given.target[1:], skip_special_tokens=True).strip()
    assert [output.target for output in trace.outputs] == [*given.target[1:], -1]
    pruned = HeadPlan().with_heads(lab.kind("cross").addresses, gate=0.0)
    before, after = (models.lab.run_prompt(lab, given, plan) for plan in (HeadPlan(), pruned))
    assert before.rows == after.rows and before.written == trace.written
    generated = lab.rewrite(given, pruned)  # the maps do not depend on this result
    assert after.written is None and generated == models.lab.run_prompt(lab, prompt, pruned).written != before.written


def test_how_far_vectors_moved():
    """The vector shift is 1 - cosine, per token and for the mean vector."""
    lab = lab_of("bert-bare")
    before, after = (models.run(lab, TEXT, plan) for plan in (HeadPlan(), HeadPlan().gate("self", 0, 0, 0.0)))
    tokens, sentence = vector_shift(before, after)
    for i, token in enumerate(tokens):
        a, b = before.vectors[i].astype(float), after.vectors[i].astype(float)
        assert token == pytest.approx(1 - a @ b / math.sqrt(a @ a * (b @ b)), abs=1e-6)
    a, b = before.vectors.astype(float).mean(0), after.vectors.astype(float).mean(0)
    assert sentence == pytest.approx(1 - a @ b / math.sqrt(a @ a * (b @ b)), abs=1e-6) and sentence > 1e-4
    still, none = vector_shift(before, before)
    assert_array_equal(still, numpy.zeros(len(before.tokens))) and none == 0


def test_a_picture():
    """The pixels equal those of the model's own processor, and patches are ordered by row and column of the image."""
    lab = lab_of("vit")
    prompt = lab.read_picture(picture(width=16, height=16))
    raw = numpy.asarray(Image.open(io.BytesIO(picture(width=16, height=16))), dtype=numpy.float32)
    pixels = lab.task.inputs(prompt)["pixel_values"][0].numpy()
    numpy.testing.assert_allclose(pixels, (raw.transpose(2, 0, 1) / 255 - 0.5) / 0.5, atol=1e-6)
    assert prompt.patches == (4, 4) and prompt.tokens[:3] == ("[CLS]", "1,1", "1,2") and prompt.tokens[-1] == "4,4"
    assert hash(prompt) == hash(lab.read_picture(picture(width=16, height=16))) != hash(lab.read_picture(picture(1)))
    trace = models.lab.run_prompt(lab, prompt)
    assert trace.output.names == ("LABEL_0", "LABEL_1", "LABEL_2")


def encoded(form: str, width: int, height: int) -> bytes:
    """Returns an image file of one colour."""
    file = io.BytesIO()
    Image.new("RGB", (width, height)).save(file, form)
    return file.getvalue()


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"not a picture" * 99, picture()[:200],
                                  *(encoded(form, 10, 10) for form in ("GIF", "BMP", "TIFF", "EPS"))])
def test_what_is_no_picture_here(data: bytes):
    with pytest.raises(InputError, match="not a readable picture"):
        lab_of("vit").read_picture(data)


@pytest.mark.parametrize("form", ["PNG", "WEBP"])
def test_a_picture_of_few_bytes_and_many_pixels_is_refused_before_it_is_decoded(form: str):
    with pytest.raises(InputError, match="49 megapixels; at most 12"):
        lab_of("vit").read_picture(encoded(form, 7000, 7000))


def test_a_large_photograph_is_reduced_and_pictures_and_texts_are_not_mixed_up():
    assert open_picture(encoded("JPEG", 4800, 4000)).size == (1200, 1000)
    assert open_picture(encoded("JPEG", 4000, 3000)).size == (4000, 3000)
    with pytest.raises(InputError, match="pictures"):
        lab_of("vit").read("a cat")
    with pytest.raises(ValueError, match="reads text"):
        lab_of("bert").read_picture(picture())


SENTENCES = ("A man is eating food. ", "Someone has his dinner. ", "The stock market fell by three per cent today. ")


def test_a_real_encoder(minilm: Path):
    """MiniLM recognises sentences of the same meaning, less well without its heads; its folder is loaded once."""
    lab = models.load_folder(minilm)
    assert lab.shape == {"self": (6, 12)} and lab.kinds[0].causal is False and lab.constant is None
    text = "The fisherman sat on the bank of the river and thought of his money in the bank. " * 5
    prompt = lab.read(text, 64)
    trace = models.lab.run_prompt(lab, prompt)
    assert trace.weights["self"].shape == (6, 12, 64, 64) and trace.vectors.shape == (64, 384)
    assert prompt.tokens[0] == "[CLS]" and prompt.tokens[-1] == "[SEP]" and prompt.omitted > 0

    def likeness(plan: HeadPlan) -> list[float]:
        means = [models.run(lab, text, plan).vectors.mean(0) for text in SENTENCES]
        units = [mean / numpy.linalg.norm(mean) for mean in means]
        return [float(units[0] @ units[1]), float(units[0] @ units[2])]

    same, other = likeness(HeadPlan())
    assert same > 0.5 > 0.2 > other
    pruned = likeness(HeadPlan().with_heads(lab.kinds[0].addresses, gate=0.0))
    assert same - other > pruned[0] - pruned[1]
    assert models.load("folder:model") is lab and models.load_folder(lab.task.folder) is lab
    assert lab.name == "folder:model"
    bare = models.load_folder(folder_of("bert-bare"))
    assert bare is not lab and bare.name == "folder:bert-bare"
