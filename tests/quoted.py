"""Finds literals in tests that quote an interface text which has been edited or removed: `python -m tests.quoted`.

    python -m tests.quoted             # since the merge base with origin/main, or else since the last commit
    python -m tests.quoted BASE        # since another commit

A literal is reported if it is part of a text in the base's catalogue but of no present text. A line with the comment
`not an interface text` is skipped. Nothing is compared if the base is not in this clone.
"""

import argparse
import ast
import contextlib
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Collection, Iterator
from io import BytesIO

from babel.messages.pofile import read_po

from tests.browser import ROOT

CATALOGUE = "assets/texts/zh/LC_MESSAGES/app.po"  # its keys are the English texts
SKIPPED = "not an interface text"  # comment at the end of a line
LENGTHS = range(9, 400)  # numbers of characters of a literal that can be a quotation


def git(*arguments: str) -> bytes | None:
    """Returns the output of a git command in this repository; None if the command fails."""
    if shutil.which("git") is None:
        return None
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    return done.stdout if done.returncode == 0 else None


def base_catalogue(base: str | None) -> bytes | None:
    """Returns the catalogue of a commit; without a commit, of the merge base with origin/main or of the last commit."""
    commit = base or (git("merge-base", "HEAD", "origin/main") or b"HEAD").decode().strip()
    return git("show", f"{commit}:{CATALOGUE}")


def texts(catalogue: bytes) -> set[str]:
    """Returns the English texts of a catalogue, singular and plural forms."""
    ids = (entry.id for entry in read_po(BytesIO(catalogue)) if entry.id)
    return {text for key in ids for text in ((key,) if isinstance(key, str) else key)}


def quotations(source: str, removed: Collection[str], present: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yields (line, literal) for each literal that is part of a removed text but of no present text."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        literal = node.value
        if " " not in literal.strip() or "\n" in literal or len(literal) not in LENGTHS \
                or SKIPPED in lines[node.lineno - 1]:
            continue
        if any(_is_in(literal, text) for text in removed) and not any(_is_in(literal, text) for text in present):
            yield node.lineno, literal


def _is_in(literal: str, text: str) -> bool:
    """Returns whether a text contains the literal, or matches it as a regular expression."""
    if literal in text:
        return True
    with warnings.catch_warnings(action="ignore", category=FutureWarning), contextlib.suppress(re.error):
        return re.search(literal, text) is not None
    return False


def main() -> None:
    """Prints the quotations; exits with status 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", help="a commit; default: see above")
    former = base_catalogue(parser.parse_args().base)
    if former is None:
        return
    present = texts((ROOT / CATALOGUE).read_bytes())
    removed = texts(former) - present
    found = [f"{path.relative_to(ROOT)}:{line}: {literal!r} is no longer part of an interface text"
             for path in sorted((ROOT / "tests").rglob("*.py")) if removed
             for line, literal in quotations(path.read_text("utf-8"), removed, present)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
