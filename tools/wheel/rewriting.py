"""Rewrites a module of the repository for the wheel, in which our packages are inside `attention_lab`.

`from models.plan import HeadPlan` becomes `from attention_lab.models.plan import HeadPlan`. Edits are made at
positions of the syntax tree and of string tokens, so line numbers do not change, and text that only looks like an
import is not edited.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator

DOOR = "attention_lab"
IMPORTERS = ("import_module", "find_spec", "run_module", "get")  # the first argument may be a bare package
COMMAND = re.compile(r"(?:\\n|\b)python -m ([A-Za-z_][\w.]*)")  # also after an escaped line break
Edit = tuple[int, int, str, str]  # line from 1, column in characters, old text, new text


def rewritten(source: str, modules: Collection[str]) -> str:
    """Returns the source of a module with `attention_lab.` before every reference to one of our modules.

    References are: imports; strings that are a module's dotted name (also the literal start of an f-string); top-level
    packages in calls of IMPORTERS; and modules after `python -m` in any string.
    """
    lines = source.splitlines(keepends=True)
    edits = {*_of_tree(ast.parse(source), lines, modules), *_of_commands(source, modules)}
    for line, column, old, new in sorted(edits, reverse=True):
        text = lines[line - 1]
        if not text.startswith(old, column):
            raise ValueError(f"line {line}: expected {old!r} at column {column}: {text!r}")
        lines[line - 1] = text[:column] + new + text[column + len(old):]
    result = "".join(lines)
    ast.parse(result)
    return result


def _of_tree(tree: ast.AST, lines: list[str], modules: Collection[str]) -> Iterator[Edit]:
    """Yields the edits of imports and of strings."""
    inside_f_strings = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    bare = {id(node.args[0]) for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args and
            getattr(node.func, "attr", getattr(node.func, "id", "")) in IMPORTERS}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in modules:
            line, column = _place(node, lines)
            start = re.compile(r"from\s+").match(lines[line - 1], column)
            if start is None:
                raise ValueError(f"line {line}: no import at column {column}")
            yield line, start.end(), node.module, f"{DOOR}.{node.module}"
        elif isinstance(node, ast.Import):
            yield from _of_import(node, lines, modules)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside_f_strings:
            if node.value in modules and ("." in node.value or id(node) in bare):
                yield _in_string(node, lines, node.value)
        elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            start_text = str(node.values[0].value)
            if start_text.endswith(".") and start_text[:-1] in modules:
                yield _in_string(node, lines, start_text)


def _of_import(node: ast.Import, lines: list[str], modules: Collection[str]) -> Iterator[Edit]:
    for alias in node.names:
        if alias.name not in modules:
            continue
        inside = f"{DOOR}.{alias.name}"
        if not alias.asname:  # `import models.plan` binds `models`
            package = alias.name.partition(".")[0]
            inside = f"{inside}, {DOOR}.{package} as {package}" if "." in alias.name else f"{inside} as {package}"
        yield (*_place(alias, lines), alias.name, inside)


def _in_string(node: ast.expr, lines: list[str], text: str) -> Edit:
    """Returns the edit of a string literal on one line that begins with `text`."""
    line, column = _place(node, lines)
    start = re.compile(r"[fFrRuU]*['\"]").match(lines[line - 1], column)
    if start is None:
        raise ValueError(f"line {line}: no string at column {column}")
    return line, start.end(), text, f"{DOOR}.{text}"


def _place(node: ast.stmt | ast.expr | ast.alias, lines: list[str]) -> tuple[int, int]:
    """Returns line and column in characters; the syntax tree counts UTF-8 bytes."""
    before = lines[node.lineno - 1].encode()[:node.col_offset]
    return node.lineno, len(before.decode())


def _of_commands(source: str, modules: Collection[str]) -> Iterator[Edit]:
    """Yields the edits of `python -m MODULE` in strings."""
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in strings:
            continue
        for match in COMMAND.finditer(token.string):
            name = match[1].rstrip(".")
            if name in modules:
                before = token.string[:match.start(1)]
                column = len(before) - before.rfind("\n") - 1 + (0 if "\n" in before else token.start[1])
                yield token.start[0] + before.count("\n"), column, name, f"{DOOR}.{name}"
