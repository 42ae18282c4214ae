"""Finds every text that people read and renews the catalogues: `python -m tools.extract`.

What a catalogue has translated stays; texts that are new stand there without a translation, and tests fail until they
have one (tests/app/test_texts.py). Texts that are gone are removed. Commit what it writes.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from app.markdown import blocks
from app.state.lessons import lesson_files
from app.texts import ENGLISH, FOLDER, LANGUAGES, catalogue

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = FOLDER / "app.pot"
ONE, TWO = ("_", "N_", "told"), ("ngettext", "told_n")  # functions whose first, or first two arguments are texts
KEYWORDS = {f"{lab}{name}": None if name in ONE else (1, 2) for name in (*ONE, *TWO) for lab in ("", "lab.")}
METHODS = [*((f"{folder}/**.py", "tools.extract:python") for folder in ("app", "components", "models")),
           ("components/**.js", "tools.extract:javascript"), ("assets/about.md", "tools.extract:markdown"),
           ("assets/method.md", "tools.extract:markdown"), ("assets/glossary.json", "tools.extract:glossary"),
           ("assets/lessons/*.json", "tools.extract:lesson")]


def python(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """A Python file's texts; the form of an extractor of Babel's, whose own takes `_(row["name"])` for the text `name`.

    Raises:
        ValueError: a text is an f-string, which no catalogue can hold.
    """
    for node in ast.walk(ast.parse(file.read())):
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in (*ONE, *TWO):
            given = node.args[:1 if name in ONE else 2]
            if any(isinstance(argument, ast.JoinedStr) for argument in given):
                raise ValueError(f"line {node.lineno}: {name} is given an f-string")
            texts = tuple(argument.value for argument in given if isinstance(argument, ast.Constant))
            if texts:
                yield node.lineno, name, texts if name in TWO else texts[0], []


_LITERAL = r"('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
_CALL = re.compile(rf"\blab\.({'|'.join(ONE)})\(\s*{_LITERAL}")


def javascript(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """A script's texts; the form of an extractor of Babel's, whose own passes over a text among the values of another:
    `lab._('{word} {number}', { word: lab._('itself') })`."""
    source = file.read().decode("utf-8")
    for call in _CALL.finditer(source):
        name, text = call.groups()
        yield source.count("\n", 0, call.start()) + 1, name, ast.literal_eval(text), []


def markdown(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """A Markdown file's headings, paragraphs and items, each a text; the form of an extractor of Babel's."""
    for block in blocks(file.read().decode("utf-8")):
        yield 1, None, block, []


def glossary(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """The glossary's terms and what they mean; the form of an extractor of Babel's."""
    for entry in json.loads(file.read()).values():
        yield from ((1, None, text, []) for text in entry)


def lesson(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """A lesson's texts; the form of an extractor of Babel's."""
    its = lesson_files.read("read for its texts", file.read().decode("utf-8"))
    for step in its.steps:
        asked = [step.question.ask, *step.question.choices, step.question.because] if step.question else []
        yield from ((1, None, text, []) for text in (step.title, step.text, step.task, *asked))
    yield from ((1, None, text, []) for text in (its.title, its.about))


def template() -> Catalog:
    """All texts, without translations, each with the files that it stands in."""
    found = Catalog(project="Attention Lab", version="1", charset="utf-8", creation_date=None)
    for name, _line, text, _comments, context in extract_from_dir(
            ROOT, METHODS, {path: {"encoding": "utf-8"} for path, _method in METHODS}, KEYWORDS,
            directory_filter=lambda path: Path(path).name not in (".venv", "runs", "data", "checkpoints")
            and not Path(path).name.startswith(".")):
        found.add(text, None, [(name.replace("\\", "/"), 1)], context=context)
    return found


def renewed(texts: Catalog, *known: Catalog) -> Catalog:
    """A language's catalogue with exactly these texts, and the translations of the first that knows one."""
    new = Catalog(locale=known[0].locale)
    for message in texts:
        if message.id:
            strings = [its.string for its in (old.get(message.id, message.context) for old in known) if its]
            new.add(message.id, next((its for its in strings if its and all(its)), None), message.locations,
                    context=message.context)
    return new


def untranslated(texts: Catalog) -> list[str]:
    """The texts that have no translation, or lack a form of it."""
    return [message.id if isinstance(message.id, str) else message.id[0] for message in texts if message.id and
            not (message.string if isinstance(message.string, str) else message.string and all(message.string))]


def as_file(texts: Catalog) -> bytes:
    """What stands in its file. Nothing in it changes because a line moved or a day passed."""
    file = BytesIO()
    write_po(file, texts, width=120, include_lineno=False, omit_header=True)
    header = ["Content-Type: text/plain; charset=utf-8"]
    if texts.locale:
        header = [f"Language: {texts.locale}", *header, f"Plural-Forms: {texts.plural_forms}"]
    return "".join(("# Renewed by `python -m tools.extract`; translate what has no msgstr.\n", 'msgid ""\nmsgstr ""\n',
                    *(f'"{line}\\n"\n' for line in header), "\n")).encode() + file.getvalue()


def main() -> None:
    """Writes the template and each language's catalogue, and says what lacks a translation."""
    parser = argparse.ArgumentParser(prog="python -m tools.extract", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("others", nargs="*", type=Path, metavar="FILE.po",
                        help="the other side of a merge, whose translations fill what is missing")
    others = []
    for path in parser.parse_args().others:
        with path.open("rb") as file:
            others.append(read_po(file))
    texts = template()
    TEMPLATE.write_bytes(as_file(texts))
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        path = FOLDER / language / "LC_MESSAGES" / "app.po"
        path.parent.mkdir(parents=True, exist_ok=True)
        old = catalogue(language) if path.exists() else Catalog(locale=language)
        new = renewed(texts, old, *(other for other in others if other.locale == old.locale))
        path.write_bytes(as_file(new))
        print(f"{language}: {len(new)} texts, {len(untranslated(new))} without a translation")


if __name__ == "__main__":
    main()
