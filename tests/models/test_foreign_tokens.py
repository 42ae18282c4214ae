"""Display of foreign models' tokens: parts of characters, brackets, control characters, ids without an embedding."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import transformers
from foreign_tiny import TEXT, folder_of, lab_of

import models
from app.panels.text import is_capitals
from models.errors import InputError
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.running import writing
from models.tasks.characters import PART


@pytest.mark.parametrize("word", ["שלום", "สวัสดี", "नमस्ते", "你好", "😀"])
def test_parts_of_a_character_are_shown_under_it(word: str):
    """Each byte token shows the character that contains it, and all tokens together give the text."""
    lab = lab_of("gpt2")
    prompt = lab.read(word)
    assert not any("\\x" in token for token in prompt.tokens)
    first = prompt.tokens[0].partition(PART)
    size = len(word[0].encode())
    assert (first[0], first[2]) == (word[0], f"1/{size}") and prompt.tokens[size - 1] == f"{word[0]}{PART}{size}/{size}"
    assert lab.task.join(prompt.tokens) == word


@pytest.mark.parametrize("text", ["a שלום", "x 😀 y", " नमस्ते"])
def test_a_space_belongs_to_the_first_part(text: str):
    lab = lab_of("gpt2")
    prompt = lab.read(text)
    parts = [token for token in prompt.tokens if PART in token]
    assert parts and all(not token.startswith(" ") for token in parts if f"{PART}1/" not in token)
    assert lab.task.join(prompt.tokens) == text
    raw = lab.task.bytes_of(prompt.ids)
    assert [*raw] == [i for i, token in enumerate(prompt.tokens) if PART in token]
    assert bytes.fromhex(" ".join(raw.values())).decode().strip() == "".join(c for c in text if not c.isascii())


def test_a_continuation_is_whole_characters_of_rows_with_a_token():
    lab = lab_of("gpt2")
    ids = [*lab.read("ש😀").ids, *lab.read("ש").ids[:1], *lab.read("a").ids]
    pieces = list(writing.as_text(lab.task, iter(ids)))
    assert pieces == ["", "ש", "", "", "", "😀", "", "\\xd7a"]  # an incomplete character, then the token "a"
    assert lab.task.without_token and lab.task.pieces[lab.task.without_token[-1]] == \
        f"<no token {lab.task.without_token[-1]}>"
    ids = list(writing.continue_text(lab, lab.task, lab.read(TEXT), models.HeadPlan(), 30))
    assert ids and not set(ids) & set(lab.task.without_token)


@pytest.mark.parametrize(("text", "visible", "hidden"), [
    ("2[½] cats", "2", "½"), ("The [😀] sat", "the", "😀"), ("the [cat\u200b] sat", "the", "cat"),
    ("the[½] cat", "the", "½"), ("[cat]s", "s", "cat")])
@pytest.mark.parametrize("name", ["bert", "roberta", "albert"])
def test_brackets_hide_what_is_in_them(name: str, text: str, visible: str, hidden: str):
    """Characters beside them stay, even of a joint token; a word outside the vocabulary has no answer."""
    lab = lab_of(name)
    prompt, tokenizer = lab.read(text), lab.task.tokenizer
    seen = lab.task.join([token for i, token in enumerate(prompt.tokens) if i not in prompt.predict_at]).lower()
    assert prompt.predict_at and hidden not in seen
    assert visible in seen or tokenizer.unk_token_id in prompt.ids
    answers = [prompt.targets[i] for i in prompt.predict_at if prompt.targets[i] >= 0]
    assert tokenizer.unk_token_id not in answers
    if answers:
        assert hidden.strip("\u200b") in tokenizer.decode(answers)
    assert prompt.read_chars == len(text)
    assert numpy.isfinite(models.run(lab, text).weights["self"]).all()


@pytest.mark.parametrize(("name", "word"), [("bert", "[SEP]"), ("gpt2", "[PAD]")])
def test_a_typed_control_token_is_named(name: str, word: str):
    lab = lab_of(name)
    assert f"“{word}” is read as a control token" in lab.read(f"The cat {word} sat").hint
    assert "control token" not in lab.read(TEXT).hint


def test_a_token_without_a_row_is_named(tmp_path: Path):
    """A tokenizer can have more entries than the embedding. The error names the token that has no embedding."""
    folder = Path(shutil.copytree(folder_of("gpt2"), tmp_path / "wide"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = 384
    tokenizer.add_tokens([f"extra{i}" for i in range(rows + 1 - len(tokenizer))])
    tokenizer.save_pretrained(folder)
    lab = open_folder("folder:wide", folder)
    word = tokenizer.convert_ids_to_tokens(rows)
    with pytest.raises(InputError, match=f"“{word}” is token {rows}, the model has") as caught:
        lab.read(f"the {word} sat")
    assert (caught.value.start, caught.value.stop) == (4, 4 + len(word))
    assert lab.read("the sat").ids


def test_a_typed_underline_of_sentencepiece_stays():
    assert lab_of("albert").read("a ▁ b").tokens.count("▁") == 1


@pytest.mark.parametrize(("typed", "known"), [
    ("Tom had\u00a0a big", "Tom had a big"), ("Tom had… a big", "Tom had... a big"), ("a ﬁne ﬂower", "a fine flower"),
    ("Tom\u2060 had\u202fa", "Tom had a"), ("\ufeffTom had", "Tom had")])
@pytest.mark.parametrize("name", ["stories-softmax", "masked-softmax"])
def test_what_a_word_processor_makes_of_a_text_changes_nothing(name: str, typed: str, known: str):
    lab = models.load(name)
    assert lab.read(typed).ids == lab.read(known).ids and lab.read(typed).read_chars == len(typed)


@pytest.mark.parametrize("load", [lambda: models.load("stories-softmax"), lambda: lab_of("gpt2")])
def test_a_space_at_the_end_is_named(load: Callable[[], models.Lab]):
    assert "final space" in load().read("Tom had a ").hint and not load().read("Tom had a").hint


def test_capitals():
    assert is_capitals("THE HOUSE IS RED.") and not is_capitals("The NATO is") and not is_capitals("I")
