"""Stories: input texts become tokens that show every character, and held-out texts are not in the training data."""

import gzip
import math
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from models.errors import InputError
from models.prompt import unix_lines
from models.tasks import stories
from models.tasks.characters import PART
from models.tasks.stories import BOS, CONTEXT, HELD_OUT_BOOKS, TOKENS, VALIDATION_BOOKS

TASK = stories.StoriesReader()
SPLITS = ("train", "validation", "test")


def shown(text: str) -> str:
    """Returns the tokens after BOS, joined as the page shows them."""
    return "".join(TASK.read(text).tokens[1:])


# Reading of input texts.

def test_a_beginning():
    prompt = TASK.read("Once upon a time")
    assert prompt.tokens == ("start", "Once", " upon", " a", " time")
    assert prompt.ids[0] == 0 and prompt.tokens == tuple(TASK.labels[i] for i in prompt.ids)
    assert prompt.predict_at == (4,) and prompt.targets == (*prompt.ids[1:], -1)
    assert (prompt.omitted, prompt.hint) == (0, "")


@given(st.text(st.characters(max_codepoint=127), min_size=1, max_size=60))
def test_ascii_is_shown_as_typed(text: str):
    """Control characters, including NUL, are tokens like all others."""
    assert shown(text) == unix_lines(text)


@given(st.text(max_size=60))
@example("\xad\u200b")
@example("")
def test_any_text_can_be_read(text: str):
    """Any text is read, or refused if the tokenizer drops all its characters, as soft hyphens."""
    if not TASK.typed.normalizer.normalize_str(text):
        with pytest.raises(InputError, match="Type the beginning of a story"):
            TASK.read(text)
        return
    prompt = TASK.read(text)
    assert 1 < len(prompt.ids) == len(prompt.tokens) == len(prompt.targets) <= TASK.limit
    assert 0 not in prompt.ids[1:]


def parts(character: str, count: int) -> str:
    return "".join(f"{character}{PART}{part + 1}/{count}" for part in range(count))


@pytest.mark.parametrize("text, tokens", [
    ("“Hi,” she said; ‘no’.", "\"Hi,\" she said; 'no'."),  # curly quotes are replaced by straight quotes
    ("cafe\u0301", "caf" + parts("é", 2)),  # e and the accent are composed to é, which has two bytes
    ("😀", parts("😀", 4)), ("a😀b", f"a{parts('😀', 4)}b"), ("ሰ", parts("ሰ", 3)),
    ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"), ("a\0b", "a\0b"), (" ", " "), ("\n\n", "\n\n"),
])
def test_how_characters_are_shown(text: str, tokens: str):
    """Whole characters are displayed as themselves, parts of a character with their number. Leading spaces are kept."""
    assert shown(text) == tokens


def test_a_character_that_reverses_the_text_is_bytes_and_a_typed_bos_is_text():
    tokens = TASK.read("\u202eאב").tokens[1:]
    assert "".join(tokens) == "".join(f"\\x{byte:02x}" for byte in "\u202e".encode()) + parts("א", 2) + parts("ב", 2)
    for text in (BOS, f"The end.{BOS}Once"):
        prompt = TASK.read(text)
        assert 0 not in prompt.ids[1:] and "".join(prompt.tokens[1:]) == text


@pytest.mark.parametrize("text, plain", [("Hi.\r\nHi", "Hi.\nHi"), ("Hi.\rHi", "Hi.\nHi"), ("Do\u00adnau", "Donau"),
                                         ("Do\u200bnau", "Donau")])
def test_line_breaks_and_invisible_characters_change_no_answer(text: str, plain: str):
    assert TASK.read(text).ids == TASK.read(plain).ids


@pytest.mark.parametrize("text, tokens", [("the cat " * 12_500, 4097), ("a" * 100_000, 16_384),
                                          ("😀" * 25_000, 65_536)], ids=["words", "letters", "emoji"])
def test_a_long_text_is_cut(text: str, tokens: int):
    """Omitted tokens are counted in 16,384 characters. The texts are words, letters, and emoji of several bytes."""
    prompt = TASK.read(text)
    assert len(prompt.ids) == TASK.limit == 128 and prompt.predict_at == (127,)
    assert prompt.tokens[:2] == ("start", TASK.read(text[:3]).tokens[1])  # the beginning of the text is kept
    assert prompt.omitted == 1 + tokens - 128


def test_half_a_character_is_refused_or_read():
    """A lone surrogate is either read or refused with InputError. JSON can contain it, but UTF-8 cannot."""
    try:
        assert len(TASK.read("a\ud83d b").ids) > 1
    except InputError as error:
        assert 0 <= error.start <= error.stop <= 4


def test_labels():
    """The tokens of an example give its text again."""
    assert len(TASK.labels) == TASK.vocabulary == TASK.tokenizer.get_vocab_size() and TASK.labels[0] == "start"
    assert all(TASK.labels)
    for title, text in TASK.examples:
        assert title and shown(text) == text


# Held-out data.

@pytest.fixture(scope="module")
def titles(data: Path) -> set[str]:
    paths = (data / "standard_ebooks_children" / "books").glob("*.txt.gz")
    return {path.name.removesuffix(".txt.gz") for path in paths}


def test_held_out_books(data: Path, titles: set[str], tmp_path: Path):
    assert {*HELD_OUT_BOOKS, *VALIDATION_BOOKS} < titles and len(titles) == 47
    assert not set(HELD_OUT_BOOKS) & set(VALIDATION_BOOKS)
    books = tmp_path / "standard_ebooks_children" / "books"
    books.mkdir(parents=True)
    for title in titles:
        (books / f"{title}.txt.gz").write_bytes(gzip.compress(f"{title} 1\n\n\n\n{title} 2".encode()))
    train, validation, test = (stories.read_books(tmp_path, split) for split in SPLITS)
    assert {chapter.split()[0] for chapter in test} == set(HELD_OUT_BOOKS)
    assert {chapter.split()[0] for chapter in validation} == set(VALIDATION_BOOKS)
    assert {chapter.split()[0] for chapter in train} == titles - {*HELD_OUT_BOOKS, *VALIDATION_BOOKS}
    assert (len(train), len(validation), len(test)) == (2 * 40, 2 * 3, 2 * 4)


def test_held_out_books_share_no_page_with_the_others(data: Path):
    """No long paragraph is in two splits. A book that is in the data twice would break this rule."""
    train, validation, test = ({p for chapter in stories.read_books(data, split) for p in chapter.split("\n")
                                if len(p) > 200} for split in SPLITS)
    assert len(test) > 100 and not train & test
    assert len(validation) > 100 and not validation & (train | test)


def test_a_book_of_validation_has_an_author_and_a_story_of_its_own(titles: set[str]):
    """Authors of validation books have no other books in the data, except books that share no text with them."""
    others = {title for title in titles if title.split("_")[0] in {book.split("_")[0] for book in VALIDATION_BOOKS}}
    assert others - set(VALIDATION_BOOKS) == {"robert-louis-stevenson_treasure-island"}


def test_held_out_stories(data: Path):
    train, validation, test = (set(stories.read_stories(data, split)) for split in SPLITS)
    for held_out in (validation, test):
        assert abs(len(held_out) / len(train | validation | test) - 1 / 20) < 0.001
    assert not train & test and not validation & (train | test)
    # every twentieth story is a test story, as in earlier versions
    assert stories.read_stories(data, "test")[1] in test and len(stories.read_stories(data, "test")) == 448


def test_missing_data_is_reported(tmp_path: Path):
    for read, folder in ((stories.read_books, "standard_ebooks_children"),
                         (stories.read_stories, "tinystories_excerpt")):
        with pytest.raises(FileNotFoundError, match=f"--data .* {folder}"):
            read(tmp_path, "test")
    with pytest.raises(FileNotFoundError, match="--data"):
        stories.StoriesCorpus(TASK, tmp_path, tmp_path).typical(1)


# Windows and the metric, on a stream in which token t is followed by t + 1.

@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> stories.StoriesCorpus:
    monkeypatch.setattr(stories.StoriesCorpus, "stream", lambda *_: (torch.arange(5 * CONTEXT + 17) % 4095 + 1).short())
    return stories.StoriesCorpus(TASK)


def test_windows_start_with_bos(counting: stories.StoriesCorpus):
    batch, again = counting.batch(3, 10, seed=1), counting.batch(3, 10, seed=1)
    assert_close((batch.tokens, batch.targets), (again.tokens, again.targets))
    assert batch.tokens.shape == batch.targets.shape == (TOKENS // CONTEXT, CONTEXT)
    assert (batch.tokens[:, 0] == 0).all() and not (batch.targets == 0).any()
    assert_close(batch.tokens[:, 1:], batch.targets[:, :-1])
    assert (batch.targets.diff(dim=1) == 1).all()
    assert not torch.equal(batch.tokens, counting.batch(4, 10, seed=1).tokens)
    typical = counting.typical(6)
    assert typical.shape == (6, TASK.limit) and (typical[:, 0] == 0).all()


@pytest.mark.parametrize("context", [256, 512])
def test_a_step_has_as_many_tokens_whatever_the_context(counting: stories.StoriesCorpus, context: int):
    corpus = stories.StoriesCorpus(TASK, context=context)
    assert corpus.batch(0, 10, 0).tokens.shape == (TOKENS // context, context)
    assert corpus.trained_length == stories.StoriesMetric(corpus).evaluate(Always(0.5))["window"] == context


def test_validation_is_a_fixed_sample_of_both_corpora(monkeypatch: pytest.MonkeyPatch):
    """Equally many windows of both, without overlap; `times` multiplies the size."""
    asked, first = [], {"books": 1, "stories": 2001}

    def stream(_: stories.StoriesCorpus, corpus: str, split: str) -> Tensor:
        asked.append(split)
        return (torch.arange(200 * CONTEXT) % 1999 + first[corpus]).short()

    monkeypatch.setattr(stories.StoriesCorpus, "stream", stream)
    corpus = stories.StoriesCorpus(TASK)
    for times in (1, 2):
        batches, again = corpus.validation(times), stories.StoriesCorpus(TASK).validation(times)
        assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(batches, again, strict=True))
        targets = torch.cat([batch.targets for batch in batches])
        assert targets.numel() == times * corpus.validation_tokens and targets.shape[1] == CONTEXT
        assert (targets > 2000).float().mean() == 0.5
        assert len({int(row[0]) for row in targets}) == len(targets)
        assert all((batch.tokens[:, 0] == 0).all() for batch in batches)
    assert set(asked) == {"validation"}


class Always:
    """A replacement of Transformer that gives token t + 1 after t the probability `p`; after BOS it is uniform."""

    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, tokens: Tensor) -> Tensor:
        probabilities = torch.full((*tokens.shape, 4096), (1 - self.p) / 4095)
        probabilities.scatter_(-1, tokens.unsqueeze(-1) + 1, self.p)
        probabilities[:, 0] = 1 / 4096
        return probabilities.log()

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden


@pytest.mark.parametrize("p", [1 / 4096, 0.5])
def test_measure(counting: stories.StoriesCorpus, p: float):
    """The perplexity is that of the mean loss over the tokens of a window; a uniform prediction has 4,096."""
    metric = stories.StoriesMetric(counting).evaluate(Always(p))
    expected = math.exp((math.log(4096) - (CONTEXT - 1) * math.log(p)) / CONTEXT)
    for name in ("perplexity", "perplexity_books", "perplexity_stories"):
        assert metric[name] == pytest.approx(expected, rel=1e-3)
    assert (metric["tokens"], metric["window"]) == (2 * 5 * CONTEXT, CONTEXT)
