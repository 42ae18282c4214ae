"""Collects all interface texts and updates the translation catalogues: `python -m tools.extract`.

- An unchanged text keeps its translation.
- An edited text keeps the translation of its former wording, marked fuzzy. A fuzzy translation is shown until a person
  confirms it.
- A new text has an empty translation and is shown in English.
- A removed text is removed from the catalogue.

After a merge conflict in a catalogue, run the same command, which reads both sides from Git. Commit the result.
"""

import argparse
import ast
import json
import re
import string
import subprocess
import tomllib
from collections.abc import Iterator
from difflib import SequenceMatcher
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from app.markdown import blocks
from app.state.lessons import lesson_files
from app.texts import ENGLISH, FOLDER, LANGUAGES, catalogue
from studies.claims.statement_file import TEXTS

ROOT = Path(__file__).resolve().parents[1]
BROWSER = "browser"  # the area of texts in JavaScript
ONE, TWO = ("_", "N_", "message"), ("ngettext", "plural_message")  # functions with one or two texts
KEYWORDS = {name: None if name in ONE else (1, 2) for name in (*ONE, *TWO)}
METHODS = [*((f"{folder}/**.py", "tools.extract:python") for folder in
              ("app", "components", "figures", "learning", "models", "studies")),
           ("components/**.js", "tools.extract:javascript"), ("assets/guide.md", "tools.extract:markdown"),
           ("assets/glossary.json", "tools.extract:glossary"),
           ("assets/lessons/*.json", "tools.extract:lesson"), ("studies/statements/*.toml", "tools.extract:statement")]


def python(file: BytesIO, keywords: object, tags: object, options: object) -> Iterator[tuple]:
    """Yields the interface texts of a Python file, in the format of Babel's extractors.

    Babel's own extractor is not used, because it reads `_(row["name"])` as the text `name`.
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
SCRIPT_TEXT = re.compile(rf"(?<![\w.$])({'|'.join(ONE)})\(\s*{_LITERAL}")


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
    content = lesson_files.read("read for its texts", file.read().decode("utf-8"))
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
    """Returns the area (part of the application) to which a file belongs.

    Catalogues contain areas instead of file names, so that moving a file does not change the catalogues.
    """
    if path.suffix == ".js":
        return BROWSER
    return path.parts[0] if path.parts[0] != "assets" else Path(path.parts[1]).stem


def renewed(texts: Catalog, *known: Catalog) -> Catalog:
    """Returns a language's catalogue with exactly these texts.

    A text without a translation gets the translation of the most similar removed text, marked fuzzy, if both texts have
    the same {names}. A fuzzy translation is shown until a person confirms or replaces it.
    """
    new, removed, added = (Catalog(locale=known[0].locale) for _ in range(3))
    for message in texts:
        if message.id:
            entries = [entry for entry in (old.get(message.id, message.context) for old in known) if entry]
            entry = next((entry for entry in entries if translated(entry)), None)
            if entry is None:
                added[message.id] = message
            else:
                new.add(message.id, entry.string, message.locations, flags=entry.flags & {"fuzzy"},
                        user_comments=entry.user_comments if entry.fuzzy else ())
    for message in (message for old in known for message in old):
        if message.id and translated(message) and message.id not in texts and message.id not in removed:
            removed[message.id] = message
    removed.update(added)
    for message in (message for message in removed if message.id):
        if message.fuzzy and keeps_values(message) and resembles(message.previous_id[-1], english(message)):
            message.user_comments = [f"was: {message.previous_id[-1]}"]
        elif message.fuzzy:
            message.string, message.flags, message.user_comments = "", set(), []
        new.add(message.id, message.string, message.locations, flags=message.flags & {"fuzzy"},
                user_comments=message.user_comments)
    return new


def resembles(old: str, new: str) -> bool:
    """Returns whether a text is likely an edit of another text. Babel's threshold of 0.6 pairs unrelated labels."""
    return len(new) > 30 or SequenceMatcher(None, old.lower(), new.lower()).ratio() >= 0.8


def english(message: Message) -> str:
    """Returns the English text of a message; for a message with a plural, the plural form."""
    return message.id if isinstance(message.id, str) else message.id[-1]


def values(text: str) -> set[tuple[str, str]]:
    """Returns the {names} of a text, each with its format specification."""
    return {(name, form or "") for _, name, form, _ in string.Formatter().parse(text) if name is not None}


def forms(message: Message) -> tuple[str, ...]:
    """Returns the translation of a message; for a message with a plural, all forms."""
    return (message.string,) if isinstance(message.string, str) else tuple(message.string or ("",))


def keeps_values(message: Message) -> bool:
    """Returns whether each form of the translation has the {names} of the English text."""
    try:
        return all(values(form) == values(english(message)) for form in forms(message))
    except ValueError:  # a single brace is not a format field
        return False


def translated(message: Message) -> bool:
    """Returns whether a message has a translation with all its forms, confirmed or fuzzy."""
    return all(forms(message))


def as_file(texts: Catalog) -> bytes:
    """Returns the content of the catalogue's file.

    Entries are sorted and have no dates, file names or line numbers, so that the file changes only with a text.
    """
    file = BytesIO()
    write_po(file, texts, width=120, include_lineno=False, omit_header=True, sort_output=True, ignore_obsolete=True)
    header = [f"Language: {texts.locale}", "Content-Type: text/plain; charset=utf-8",
              f"Plural-Forms: {texts.plural_forms}"]
    return "".join(("# Written by `python -m tools.extract`. An empty msgstr is shown in English. After reading a\n"
                    "# fuzzy entry, correct its msgstr and remove the word fuzzy.\n", 'msgid ""\nmsgstr ""\n',
                    *(f'"{line}\\n"\n' for line in header), "\n")).encode() + file.getvalue()


def sides_of_merge(path: Path) -> list[Catalog]:
    """Returns both sides of a catalogue that Git could not merge; an empty list if there is no conflict."""
    name = path.relative_to(ROOT).as_posix()
    sides = [subprocess.run(["git", "show", f":{stage}:{name}"], cwd=ROOT, capture_output=True) for stage in (1, 2, 3)]
    if any(side.returncode for side in sides):
        return []
    return merged(*(read_po(BytesIO(side.stdout)) for side in sides))


def merged(base: Catalog, ours: Catalog, theirs: Catalog) -> list[Catalog]:
    """Returns both sides of a merge. The first side lacks the translations that only the second side has changed."""
    for message in [*ours]:
        old, other = base.get(message.id), theirs.get(message.id)
        if message.id and old and other and old.string == message.string != other.string:
            ours.delete(message.id)
    return [ours, theirs]


def main() -> None:
    """Writes the catalogue of each language, and prints the numbers of fuzzy and missing translations."""
    parser = argparse.ArgumentParser(prog="python -m tools.extract", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the texts without a confirmed translation")
    listed = parser.parse_args().list
    texts = template()
    for language in LANGUAGES:
        if language == ENGLISH:
            continue
        path = FOLDER / language / "LC_MESSAGES" / "app.po"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = sides_of_merge(path) or [catalogue(language) if path.exists() else Catalog(locale=language)]
        new = renewed(texts, *known)
        path.write_bytes(as_file(new))
        open_texts = [message for message in new if message.id and (message.fuzzy or not translated(message))]
        fuzzy = sum(message.fuzzy for message in open_texts)
        print(f"{language}: {len(new)} texts, {fuzzy} fuzzy, {len(open_texts) - fuzzy} without a translation")
        for message in open_texts if listed else ():
            print(f"  {'fuzzy' if message.fuzzy else 'empty'}: {english(message)}")


if __name__ == "__main__":
    main()
