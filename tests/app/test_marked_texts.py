"""Texts in the code are marked for translation, tips are in the glossary, and Chinese texts name heads consistently."""

import ast
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app import texts
from tests.app import literals
from tests.browser import ROOT
from tools import extract


def sources(ending: str) -> list[Path]:
    return [path for folder in ("app", "components", "figures") for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
            if path.parent.name != "static"]  # a library


ALLOWED = {"Attention Lab", "# Attention Lab"}
# names of keys, of Streamlit's themes, and of columns in exported files
KEYS = {"Escape", "Esc", "Home", "End", "Enter", "Tab", "Process", "Unidentified", "Slash", "System", "query token",
        "key token"}
# names of classes, which are written in lower case
CLASSES = {name for path in (ROOT / "components").rglob("*.css")
           for name in re.findall(r"\.([a-z][\w-]*)", path.read_text("utf-8"))}


@pytest.mark.parametrize("path", sources("py"), ids=lambda path: str(path.relative_to(ROOT)))
def test_python_looks_its_texts_up(path):
    assert not set(literals.in_python(path.read_text("utf-8"))) - ALLOWED


def test_what_models_say_of_a_mistake_can_be_looked_up():
    for path in sorted((ROOT / "models").rglob("*.py")):
        assert not [*literals.in_python(path.read_text("utf-8"), literals.ERRORS)], path


@pytest.mark.parametrize("path", sources("js"), ids=lambda path: str(path.relative_to(ROOT)))
def test_javascript_looks_its_texts_up(path):
    found = set(literals.in_javascript(path.read_text("utf-8"))) - ALLOWED - KEYS
    assert not {text for text in found if not set(text.split()) <= CLASSES}


def test_a_text_without_a_lookup_in_the_catalogue_is_found():
    python = ['st.caption("Some words")', 'st.button(f"Load {name}")', 'box.text_input(_("Text"), placeholder="Type")',
              'st.error("A" if x else "Two words")', 'st.altair_chart(c, alt="A chart")',
              'altair.X("n", title="tokens")', 'raise InputError(f"No {what}")', 'st.table([{"columns": 3}])']
    assert [len([*literals.in_python(source)]) for source in python] == [1] * len(python)
    assert not [*literals.in_python('st.caption(_("Some words")); st.markdown(f"**{plain(name)}**")')]
    script = ["make('p', { textContent: 'Undo' })", "setText(a, `step ${n} of all`)", 'x.title = "two words"']
    assert [len([*literals.in_javascript(source)]) for source in script] == [1] * len(script)
    assert not [*literals.in_javascript("_('Undo'); ngettext('{n} old', '{n} very old', 2) // Two words")]


def test_an_f_string_is_no_text():
    with pytest.raises(ValueError, match="f-string"):
        list(extract.python(io.BytesIO(b'_(f"Load {name}")'), None, None, None))


@pytest.mark.parametrize("path", sources("py"), ids=lambda path: str(path.relative_to(ROOT)))
def test_fragments_set_their_language_first(path):
    """A fragment can run in a new thread."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and any("fragment" in ast.dump(its) for its in node.decorator_list):
            first = node.body[1] if isinstance(node.body[0].value if isinstance(node.body[0], ast.Expr) else None,
                                               ast.Constant) else node.body[0]
            assert ast.unparse(first) == "session.speak()", f"{path}: {node.name}"


def test_every_tip_is_in_the_glossary():
    used = {key for path in sources("py") for key in re.findall(r'\btip(?:\(|=)"([^"]+)"', path.read_text("utf-8"))}
    script = "".join(path.read_text("utf-8") for path in sources("js"))
    used |= {*re.findall(r"addTip\([^;]*?,\s*'([\w -]+)',?\s*\);", script)}
    assert {"gate", "weight"} <= used <= set(texts.glossary())


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


def test_a_change_of_heads_has_one_name_and_a_text_alone_the_full_term():
    assert not [chinese for chinese, _places in in_chinese().values() if re.search("修改|更改", chinese)]
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
