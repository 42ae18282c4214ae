"""Collects all interface texts and updates the translation catalogues: `python -m tools.extract`.

An unchanged text keeps its translation. A new or edited text has an empty one and is shown in English; `--list` prints
these texts.
"""

import argparse
import ast
import json
import re
import tomllib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import write_po

from app.markdown import blocks
from app.state import lessons
from app.texts import ENGLISH, FOLDER, LANGUAGES, catalogue
from studies.claims import TEXTS

ROOT = Path(__file__).resolve().parents[1]
BROWSER = "browser"  # the area of texts in JavaScript
ONE, TWO = ("_", "N_", "message"), ("ngettext", "plural_message")  # functions with one or two texts
KEYWORDS = {name: None if name in ONE else (1, 2) for name in (*ONE, *TWO)}
METHODS = [*((f"{folder}/**.py", "tools.extract:python") for folder in
              ("app", "components", "figures", "learning", "models", "studies")),
           ("components/**.js", "tools.extract:javascript"), ("assets/guide.md", "tools.extract:markdown"),
           ("assets/glossary.json", "tools.extract:glossary"),
           ("assets/lessons/*.json", "tools.extract:lesson"), ("studies/statements/*.toml", "tools.extract:statement")]
_LITERAL = r"('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
SCRIPT_TEXT = re.compile(rf"(?<![\w.$])({'|'.join(ONE)})\(\s*{_LITERAL}")


def python(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """Yields a Python file's texts for Babel, whose own extractor reads `_(row["name"])` as the text `name`."""
    for node in ast.walk(ast.parse(file.read())):
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in (*ONE, *TWO):
            given = node.args[:1 if name in ONE else 2]
            if any(isinstance(argument, ast.JoinedStr) for argument in given):
                raise ValueError(f"line {node.lineno}: {name} is given an f-string")
            texts = tuple(argument.value for argument in given if isinstance(argument, ast.Constant))
            if texts:
                yield node.lineno, name, texts if name in TWO else texts[0], []


def javascript(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """Yields the interface texts of a JavaScript file, in the format of Babel's extractors.

    Babel's own extractor is not used, because it misses a text among the values of another text:
    `_('{word} {number}', { word: _('itself') })`.
    """
    source = file.read().decode("utf-8")
    for call in SCRIPT_TEXT.finditer(source):
        name, text = call.groups()
        yield source.count("\n", 0, call.start()) + 1, name, ast.literal_eval(text), []


def markdown(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """Yields the headings, paragraphs and list items of a Markdown file, in the format of Babel's extractors."""
    for block in blocks(file.read().decode("utf-8")):
        yield 1, None, block, []


def glossary(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """Yields the terms and explanations of the glossary, in the format of Babel's extractors."""
    for entry in json.loads(file.read()).values():
        yield from ((1, None, text, []) for text in entry)


def statement(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """Yields the texts of a statement, in the format of Babel's extractors."""
    yield from ((1, None, text, []) for key, text in tomllib.load(file).items() if key in (*TEXTS, "unit"))


def lesson(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """Yields the texts of a lesson, in the format of Babel's extractors."""
    content = lessons.read("read for its texts", file.read().decode("utf-8"))
    for step in content.steps:
        question = [step.question.ask, *step.question.choices, step.question.because] if step.question else []
        yield from ((1, None, text, []) for text in (step.title, step.text, step.task, *question))
    yield from ((1, None, text, []) for text in (content.title, content.about))


def template() -> Catalog:
    """Returns a catalogue of all texts without translations, each with the areas that display the text."""
    texts = Catalog(project="Attention Lab", version="1", charset="utf-8", creation_date=None)
    for name, _line, text, _comments, context in extract_from_dir(
            ROOT, METHODS, {path: {"encoding": "utf-8"} for path, _method in METHODS}, KEYWORDS,
            directory_filter=lambda path: Path(path).name not in (".venv", "runs", "data", "checkpoints")
            and not Path(path).name.startswith(".")):
        texts.add(text, None, [(area(Path(name)), 1)], context=context)
    return texts


def area(path: Path) -> str:
    """Returns the area of a file; catalogues name areas, so that moving a file does not change them."""
    if path.suffix == ".js":
        return BROWSER
    return path.parts[0] if path.parts[0] != "assets" else Path(path.parts[1]).stem


def renewed(texts: Catalog, old: Catalog) -> Catalog:
    """Returns a language's catalogue with exactly these texts and their old translations."""
    new = Catalog(locale=old.locale)
    for message in texts:
        known = old.get(message.id, message.context)
        if message.id:
            new.add(message.id, known.string if known else "", message.locations)
    return new


def english(message: Message) -> str:
    """Returns the English text of a message; for a message with a plural, the plural form."""
    return message.id if isinstance(message.id, str) else message.id[-1]


def forms(message: Message) -> tuple[str, ...]:
    """Returns the translation of a message; for a message with a plural, all forms."""
    return (message.string,) if isinstance(message.string, str) else tuple(message.string or ("",))


def translated(message: Message) -> bool:
    """Returns whether a message has a translation with all its forms."""
    return all(forms(message))


def as_file(texts: Catalog) -> bytes:
    """Returns the catalogue's file: sorted, without dates and lines, so that it changes only with a text."""
    file = BytesIO()
    write_po(file, texts, width=120, include_lineno=False, omit_header=True, sort_output=True, ignore_obsolete=True)
    header = [f"Language: {texts.locale}", "Content-Type: text/plain; charset=utf-8",
              f"Plural-Forms: {texts.plural_forms}"]
    return "".join(("# Written by `python -m tools.extract`. An empty msgstr is shown in English.\n",
                    'msgid ""\nmsgstr ""\n', *(f'"{line}\\n"\n' for line in header), "\n")).encode() + file.getvalue()


def main() -> None:
    """Writes the catalogue of each language, and prints how many texts have no translation."""
    parser = argparse.ArgumentParser(prog="python -m tools.extract", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the texts without a translation")
    listed = parser.parse_args().list
    texts = template()
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        path = FOLDER / language / "LC_MESSAGES" / "app.po"
        path.parent.mkdir(parents=True, exist_ok=True)
        new = renewed(texts, catalogue(language) if path.exists() else Catalog(locale=language))
        path.write_bytes(as_file(new))
        missing = [english(message) for message in new if message.id and not translated(message)]
        print(f"{language}: {len(new)} texts, {len(missing)} without a translation")
        print(*(f"  {text}\n" for text in missing if listed), sep="", end="")


if __name__ == "__main__":
    main()
