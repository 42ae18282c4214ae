"""Rewords random interface strings in a copy of the repository and runs tests there: `python -m tests.rewording`.

An edit of a string should break only tests about this string. Each failure names a test that depends on the wording.

    python -m tests.rewording --count 20 --seed 1 tests/app
    python -m tests.rewording --count 10000 tests/app        # every text, to find all such tests at once
"""

import argparse
import ast
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from tests.browser import ROOT
from tools.extract import ONE, SCRIPT_TEXT, TWO, template

COPY = ROOT / "runs" / "rewording"
_FIXED = re.compile(r"`[^`]*`|\{[^}]*\}|\]\([^)]*\)|\[[^\]]*\]|https?://\S+|\*\*")
_WORD = re.compile(r"[A-Za-z]{4,}")


def reworded(text: str) -> str:
    """Returns the text with one more word. {names}, code and links do not change."""
    covered = [match.span() for match in _FIXED.finditer(text)]
    words = [match for match in _WORD.finditer(text)
             if not any(start < match.end() and match.start() < end for start, end in covered)]
    if not words:
        return text
    start, end = words[len(words) // 2].span()
    return f"{text[:start]}reworded {text[start:]}" if start else f"Reworded {text[start].lower()}{text[1:]}"


def in_python(source: str) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, text) for each string literal in Python source that is marked for translation."""
    data = source.encode()
    starts = [0, *itertools.accumulate(len(line) for line in data.splitlines(keepends=True))]
    spans = []
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name = getattr(call.func, "id", "")
        for node in call.args[:1 if name in ONE else 2 if name in TWO else 0]:
            if isinstance(node, ast.Constant):
                spans.append((len(data[:starts[node.lineno - 1] + node.col_offset].decode()),
                              len(data[:starts[node.end_lineno - 1] + node.end_col_offset].decode()), node.value))
    yield from sorted(spans)


def in_javascript(source: str) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, text) for each string literal in JavaScript source that is marked for translation."""
    for call in SCRIPT_TEXT.finditer(source):
        yield *call.span(2), ast.literal_eval(call[2])


def in_json(source: str) -> Iterator[tuple[int, int, str]]:
    """Yields (start, end, text) for each string in a JSON file that contains a blank and is not a key."""
    for literal in re.finditer(r'"(?:[^"\\\n]|\\.)*"', source):
        if " " in literal[0] and source[literal.end():literal.end() + 1] != ":":
            yield *literal.span(), json.loads(literal[0])


PLACES = {".py": in_python, ".js": in_javascript, ".json": in_json}
FOLDERS = ("app", "components", "learning", "models", "studies", "assets/lessons")


def texts() -> list[str]:
    """Returns every string of the catalogues that `reworded` can change, sorted."""
    singular = [message.id if isinstance(message.id, str) else message.id[0] for message in template() if message.id]
    return sorted(text for text in singular if reworded(text) != text)


def copy_repository() -> None:
    """Copies the working tree by hard links. `rewrite` replaces changed files, so the originals do not change."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT, COPY, copy_function=os.link, symlinks=True,
                    ignore=shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__", "node_modules"))


def rewrite(chosen: set[str]) -> int:
    """Rewords the chosen strings in the Python, JavaScript and JSON files of the copy. Returns the number of changed
    places."""
    changed = 0
    for path in (path for folder in FOLDERS for path in (COPY / folder).rglob("*")):
        if path.suffix not in PLACES or "measurements" in path.parts or "checkpoints" in path.parts:
            continue
        source = path.read_text("utf-8")
        pieces, last = [], 0
        for start, end, text in PLACES[path.suffix](source):
            if text in chosen:
                written = json.dumps(reworded(text), ensure_ascii=False)
                pieces += [source[last:start], written]
                last = end
                changed += 1
        if pieces:
            path.unlink()
            path.write_text("".join(pieces) + source[last:], "utf-8")
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.rewording", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="how many texts are rewritten (default 20)")
    parser.add_argument("--seed", type=int, default=0)
    arguments, pytest_arguments = parser.parse_known_args()
    every = texts()
    chosen = set(random.Random(arguments.seed).sample(every, min(arguments.count, len(every))))
    copy_repository()
    print(f"{len(chosen)} texts rewritten at {rewrite(chosen)} places", flush=True)
    for text in sorted(chosen) if len(chosen) <= 50 else ():
        print(f"  {text}\n  {reworded(text)}")
    subprocess.run([sys.executable, "-m", "tools.extract"], cwd=COPY, check=True)
    sys.exit(subprocess.run([sys.executable, "-m", "pytest", *pytest_arguments], cwd=COPY).returncode)


if __name__ == "__main__":
    main()
