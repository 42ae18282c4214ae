"""Prints a random sample of the repository's prose for a reviewer, without any judgement.

    python -m tests.prose --count 30 --seed 1                      # 30 of each kind
    python -m tests.prose --count 60 --seed 1 --kind chinese       # Chinese interface texts with their English
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

from app import texts
from app.markdown import blocks
from tests.browser import ROOT
from tools.extract import english, forms, template

FOLDERS = ("app", "attention_lab", "benchmarks", "components", "deploy", "figures", "learning", "models",
           "studies", "tests", "tools", "widget")
Sample = tuple[str, str]  # (location of the text, the text)


def files(*endings: str) -> Iterator[Path]:
    """Yields the source files with these endings, sorted."""
    for folder in FOLDERS:
        if (ROOT / folder).is_dir():
            yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in endings)


def docstrings() -> Iterator[Sample]:
    """Yields the docstring of every module, class and function."""
    for path in files(".py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                name = getattr(node, "name", "module")
                yield f"{path.relative_to(ROOT)} {name}", ast.get_docstring(node) or ""


def comments() -> Iterator[Sample]:
    """Yields the comments of Python and JavaScript.

    Consecutive lines that contain only a comment are one comment.
    """
    for path in files(".py", ".js", ".mjs"):
        previous, first, words = -1, -1, []
        for line, text, alone in [*_comments(path), (-1, "", False)]:
            if words and not (alone and line == previous + 1):
                yield f"{path.relative_to(ROOT)}:{first}", " ".join(words)
                words = []
            first = first if words else line
            words.append(text)
            previous = line if alone else -1


def _comments(path: Path) -> Iterator[tuple[int, str, bool]]:
    if path.suffix == ".py":
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                text = token.string.lstrip("# ")
                if token.type == tokenize.COMMENT and not text.startswith(("noqa", "type:", "!")):
                    yield token.start[0], text, not token.line[:token.start[1]].strip()
        return
    for line, text in enumerate(path.read_text("utf-8").splitlines(), 1):
        match = re.search(r"(?:^|\s)//\s?(.*)|^\s*/?\*\*?\s?(.*?)(?:\*/)?$", text)
        if match and (match[1] or match[2]):
            yield line, match[1] or match[2], text.lstrip().startswith(("/", "*"))


def interface() -> Iterator[Sample]:
    """Yields the English interface strings."""
    yield from ((message.locations[0][0], english(message)) for message in template() if message.id)


def documents() -> Iterator[Sample]:
    """Yields the paragraphs and list items of the documents."""
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]):
        prose = re.sub(r"^```.*?^```|^    .*?$|^\|.*?$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        yield from ((path.relative_to(ROOT).as_posix(), block) for block in blocks(prose)
                    if not block.startswith(("#", "<!--")))


def chinese() -> Iterator[Sample]:
    """Yields each Chinese interface string with the English original."""
    yield from ((english(message), forms(message)[-1]) for message in texts.catalogue("zh")
                if message.id and forms(message)[-1])


KINDS: dict[str, Callable[[], Iterator[Sample]]] = {
    "docstrings": docstrings, "comments": comments, "interface": interface, "documents": documents, "chinese": chinese}


def sample(kind: str, count: int, seed: int) -> list[Sample]:
    """Returns `count` different texts of a kind. The same seed gives the same texts."""
    found = list(KINDS[kind]())
    return random.Random(f"{kind} {seed}").sample(found, min(count, len(found)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.prose", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=30, help="how many of each kind (default 30)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    arguments = parser.parse_args()
    for kind in arguments.kind:
        print(f"## {kind}, seed {arguments.seed}\n")
        for number, (place, text) in enumerate(sample(kind, arguments.count, arguments.seed), 1):
            print(f"{number}. {text}\n   [{place}]\n")


if __name__ == "__main__":
    main()
