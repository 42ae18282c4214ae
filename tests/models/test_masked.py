"""Masked words, input texts: brackets hide the words inside them; [MASK] is a token without a known answer."""

import time

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from models.errors import InputError
from models.prompt import Prompt
from models.tasks.masked import LENGTH, MASK, MASK_ID, MaskedReader
from models.tasks.stories import StoriesReader

TASK, STORIES = MaskedReader(), StoriesReader()


def restored(prompt: Prompt) -> list[int]:
    """Returns the ids of a prompt with the original ids of the hidden words."""
    return [target if target >= 0 else i for i, target in zip(prompt.ids, prompt.targets, strict=True)]


def test_words_with_and_without_a_known_answer():
    """[MASK] is one token and includes the space before it, like a word."""
    prompt = TASK.read("The cat [MASK] on[MASK]")
    assert prompt.tokens == ("start", "The", " cat", MASK, " on", MASK) and prompt.predict_at == (3, 5)
    assert set(prompt.targets) == {-1} and prompt.read_chars == 23
    assert TASK.read("[MASK]").tokens == ("start", MASK)
    prompt = TASK.read("[The] cat [sat on] the [MASK].")
    assert prompt.tokens == ("start", MASK, " cat", MASK, MASK, " the", MASK, ".")
    assert prompt.predict_at == (1, 3, 4, 6)
    assert [TASK.labels[t] for t in prompt.targets if t >= 0] == ["The", " sat", " on"]
    assert prompt.targets[6] == -1


@pytest.mark.parametrize("text, shown", [
    ("a [] b", "a [] b"), ("a [b", "a [b"), ("a] b", "a] b"), ("][", "]["), ("[[The]]", "[[MASK]]"),
    ("[The]", "[MASK]"), ("[[MASK]]", "[[MASK]]"), ("[MASK]]", "[MASK]]"), ("[MASK", "[MASK"),
    ("[\n]", "[MASK]"), ("[ ]", "[MASK]"),
])
def test_brackets_that_hide_nothing_are_text(text: str, shown: str):
    """Empty, single, and the outer ones of two nested pairs; spaces are tokens, so they can be hidden."""
    assert "".join(TASK.read(text).tokens[1:]) == shown


@pytest.mark.parametrize("title, text", TASK.examples)
def test_examples_can_be_read(title: str, text: str):
    prompt = TASK.read(text)
    assert title and prompt.predict_at and not prompt.omitted and not prompt.hint and prompt.read_chars == len(text)
    assert len(prompt.ids) <= LENGTH  # a text is cut to the length of the training texts


words = st.text(st.sampled_from("abcdefgh ,.THE'éß😀\n"), min_size=1, max_size=8)
segments = st.lists(st.tuples(words, st.booleans()), min_size=1, max_size=8)


@given(segments)
@example([("The", False), (" cat", True), ("s", False)])
def test_tokens_are_those_of_the_text_without_brackets(parts: list[tuple[str, bool]]):
    """Exactly the tokens with a character inside brackets are hidden, checked by counting characters."""
    text = "".join(f"[{word}]" if hidden else word for word, hidden in parts)
    plain = "".join(word for word, _ in parts)
    prompt = TASK.read(text)
    encoding = TASK.tokenizer.encode(plain, add_special_tokens=False)
    assert restored(prompt)[1:] == encoding.ids and prompt.omitted == 0
    inside = [hidden for word, hidden in parts for _ in word]
    expected = [i + 1 for i, (start, stop) in enumerate(encoding.offsets) if any(inside[start:stop])]
    assert list(prompt.predict_at) == expected == [i for i, token in enumerate(prompt.ids) if token == MASK_ID]
    assert prompt.read_chars == len(text)  # `read_chars` counts the brackets too


@given(segments, st.integers(2, 12))
def test_a_cut_text_is_the_beginning_of_the_whole(parts: list[tuple[str, bool]], limit: int):
    text = "".join(f"[{word}]" if hidden else word for word, hidden in parts)
    whole, cut = TASK.read(text), TASK.read(text, limit)
    assert cut.ids == whole.ids[:limit] and cut.targets == whole.targets[:limit]
    assert cut.predict_at == tuple(i for i in whole.predict_at if i < limit)
    assert cut.omitted == len(whole.ids) - len(cut.ids) and cut.read_chars <= whole.read_chars
    assert (cut.read_chars == whole.read_chars) or cut.omitted


# surrogates, control characters, accents, spaces and brackets
odd = st.characters(categories=["Cs", "Cc", "Mn", "Zs", "Ps"])


@given(st.text() | st.text(st.sampled_from("[]MASK ab\ud800é\u0301")) | st.text(odd)
       | st.lists(st.sampled_from(["[MASK]", " [MASK]", *"[] é😀\0", "cat", "e\u0301"])).map("".join))
@example("[" * 5000 + "]" * 5000)
@example("“[cat]”")
@example("[e]\u0301")
@example("\u0344[x]")
@example("")
def test_any_text_is_read_or_refused(text: str):
    try:
        prompt = TASK.read(text)
    except InputError as error:
        assert 0 <= error.start <= error.stop <= len(text) and str(error)
        assert not text
    else:
        assert 1 < len(prompt.ids) == len(prompt.tokens) == len(prompt.targets) <= TASK.limit
        assert prompt.ids[0] == 0 and 0 not in prompt.ids[1:] and max(prompt.ids) <= MASK_ID
        assert 0 <= prompt.read_chars <= len(text)
        assert all(target == -1 or prompt.ids[i] == MASK_ID for i, target in enumerate(prompt.targets))
        assert MASK_ID not in prompt.targets and ("Nothing" in prompt.hint) == (not prompt.predict_at)


@pytest.mark.parametrize("text", ["[a] " * 40_000, "[MASK]" * 30_000, "[a[" * 60_000, "[" * 180_000,
                                  "a" * 180_000 + "]"],
                         ids=["brackets", "masks", "half open", "open", "one word"])
def test_a_long_text_is_read_at_once(text: str):
    """200,000 characters are read in linear time; time quadratic in the number of brackets would be minutes."""
    began = time.process_time()
    prompt = TASK.read(text)
    assert time.process_time() - began < 5
    assert len(prompt.ids) == TASK.limit and prompt.omitted > 1000 and prompt.read_chars < 2000


def test_labels():
    """Those of `stories`, plus [MASK]; ids that only pad the vocabulary to a multiple of 8 have names, too."""
    assert len(TASK.labels) == TASK.vocabulary and TASK.vocabulary % 8 == 0
    assert TASK.labels[:MASK_ID] == STORIES.labels and TASK.labels[MASK_ID] == MASK
    assert set(TASK.labels[MASK_ID + 1:]) == {"unused"} and torch.tensor(TASK.read("[MASK] x").ids).max() == MASK_ID


def test_brackets_of_references_are_named_and_can_be_escaped():
    """Brackets of Wikipedia hide words: the hint lists them, and `\\[` is a bracket that hides nothing."""
    prompt = TASK.read("The cat [1] sat [citation needed].")
    assert "“1”, “citation needed”" in prompt.hint
    assert not TASK.read("The [cat] sat.").hint
    escaped = TASK.read(r"The \[cat\] [sat] \[MASK]")
    assert "".join(escaped.tokens[1:]) == "The [cat][MASK] [MASK]" and len(escaped.predict_at) == 1
    assert escaped.ids[-1] != MASK_ID
