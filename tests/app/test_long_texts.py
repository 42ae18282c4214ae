"""A text of several megabytes slows down only the session that sent it, and only its beginning is processed."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import models
from app import compute
from app.server import caches, serving
from models import catalogue
from models.prompt import LONGEST_TEXT, Prompt
from models.tasks.base import Reader
from tests.app.test_pages import opened, sent
from tests.models.foreign_tiny import lab_of

EMOJI = "🐉" * 200_000
FAMILY = {"model": "stories-softmax", "with": "stories-selective stories-log-n stories-random"}


@pytest.fixture
def readings(monkeypatch) -> Iterator[list[int]]:
    """Yields a list that receives the number of characters of each tokenized text of the task `stories`."""
    found: list[int] = []
    task = catalogue.reader_named("stories")
    encode = task.typed

    class Counted:
        def encode(self, text: str, **options: object) -> object:
            found.append(len(text))
            assert not serving._drawing.is_mine()  # the turn to draw is free for other visitors meanwhile
            return encode.encode(text, **options)

        def __getattr__(self, name: str) -> object:
            return getattr(encode, name)

    monkeypatch.setitem(task.__dict__, "typed", Counted())
    for cached in caches.kept.values():
        cached.cache_clear()
    return found


def test_four_models_tokenize_a_long_text_once(readings: list[int]):
    text = EMOJI[:40_000]  # a longer text gets an additional message, because a link cannot contain it
    app = opened(text=text, lab="all.second", **FAMILY)
    assert not app.exception
    assert readings == [LONGEST_TEXT]
    header = sent(app, "lab")[0]
    assert "left out at the end: over " in header["notice"]["message"] and header["text"] == text


def test_a_long_text_with_few_tokens_is_reported_too():
    app = opened(model="assignment-softmax", text="x=1;" + " " * 20_000 + "x=?")
    assert not app.exception
    assert f"{LONGEST_TEXT:,} characters" in sent(app, "lab")[0]["notice"]["message"]


@pytest.mark.parametrize("reader", ["stories", "masked", "assignment", "translation", "bert", "gpt2", "t5"])
@pytest.mark.parametrize("text", [EMOJI, "[a] " * 50_000, "2[½] " * 40_000, "x=1; " * 40_000, "\ud800" * 200_000,
                                  "a" * 200_000])
def test_a_text_is_cut_before_it_is_tokenized(reader: str, text: str):
    task: Reader = (catalogue.reader_named(reader) if reader in ("stories", "masked", "assignment", "translation")
                    else lab_of(reader).task)
    began = time.process_time()
    try:
        prompt: Prompt = task.read(text, 128)
    except ValueError:  # a text that contains no assignment
        assert reader == "assignment" and "x" not in text[:1]
        return
    finally:
        assert time.process_time() - began < 3
    assert len(prompt.ids) <= 128 and prompt.read_chars <= LONGEST_TEXT
    assert prompt == task.read(text[:LONGEST_TEXT], 128)


def test_who_reads_a_long_text_lets_others_draw(monkeypatch):
    lab = models.load("stories-softmax")
    reading, drawn = threading.Event(), threading.Event()

    def slow(text: str, limit: int) -> Prompt:
        reading.set()
        assert drawn.wait(20), "nobody else can draw"
        return Reader.read(lab.task, text, limit)

    monkeypatch.setattr(lab.task, "read", slow)

    def other() -> None:
        reading.wait(20)
        with serving.drawing():
            drawn.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(other)
        with serving.drawing(), pytest.raises(NotImplementedError):
            compute.read(lab, "slow " * 1000 + str(time.monotonic()))
