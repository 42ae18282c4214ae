"""The Chinese term for a head: in full (注意力头) at its first mention, then short (头)."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app import texts
from tests.browser import ROOT

FULL, SHORT = "注意力头", "头"
NUMBERED = re.compile(r"第 ?(?:\d+|\{\w+\})(?:(?: 和第|、| 和) ?(?:\d+|\{\w+\}))* 个(?:注意力)?头")
# 头 in other words, and in terms of their own: constant heads, the number of heads, the output of a language model
OTHER = re.compile(r"[开源箭里点前回年抬]头|[常数置出多]数?头|头[数号]|少的头|\[头")
CONTROL = re.compile(r"\*+(?:All heads|Heads?)\*+")  # controls of these names, which keep them
FILES = sorted((ROOT / "assets" / "lessons").glob("*.json"))
# a text from one of these places stands alone, so that its first mention is the reader's first
ALONE = {"models", "glossary", "guide", "method"}


def mentions(english: str, chinese: str) -> list[tuple[int, bool]]:
    """Returns (position, True for the full term) of each mention of heads in a Chinese text."""
    hidden = chinese
    if CONTROL.search(english):
        hidden = re.sub(rf"\*+(?:{FULL}|所有头)\*+", lambda match: "·" * len(match[0]), hidden)
    for pattern in (NUMBERED, OTHER):
        hidden = pattern.sub(lambda match: "·" * len(match[0]), hidden)
    return [(match.start(), match[0] == FULL) for match in re.finditer(f"{FULL}|{SHORT}", hidden)]


def lesson_texts(file: Path) -> list[str]:
    """Returns the English texts of the steps of a lesson, in the order of the page."""
    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from walk(child)

    return [text for step in json.loads(file.read_text("utf-8"))["steps"]
            for text in walk({key: step[key] for key in ("title", "text", "task", "question") if key in step})]


def in_chinese() -> dict[str, tuple[str, set[str]]]:
    """Returns English text -> (Chinese text, the places of the text in the catalogue)."""
    found = {}
    for message in texts.catalogue("zh"):
        english, form = (message.id, message.string) if isinstance(message.id, str) else (
            message.id[0], message.string[-1])
        if english:
            found[english] = form, {file for file, _line in message.locations}
    return found


def test_only_the_first_mention_of_a_text_is_full():
    shown = in_chinese()
    wrong = [chinese for english, (chinese, _places) in shown.items()
             if any(full for _at, full in mentions(english, chinese)[1:])]
    assert not wrong and sum(FULL in chinese for chinese, _places in shown.values()) > 90
    assert not [chinese for chinese, _places in shown.values()
                if any(FULL in match for match in (its[0] for its in NUMBERED.finditer(chinese)))]


def test_a_change_of_heads_has_one_name():
    assert not [chinese for chinese, _places in in_chinese().values() if re.search("修改|更改", chinese)]


def test_a_text_that_stands_alone_begins_with_the_full_term():
    wrong = [chinese for english, (chinese, places) in in_chinese().items()
             if places & ALONE and "." in english and not all(full for _at, full in mentions(english, chinese)[:1])]
    assert not wrong


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_lesson_has_the_full_term_once(file: Path):
    shown = in_chinese()
    shared = Counter(text for each in FILES for text in set(lesson_texts(each)))
    full = [at for text in lesson_texts(file) if text in shown and shared[text] == 1
            for _position, at in mentions(text, shown[text][0])]
    assert not any(full[1:]) and all(full[:1])
