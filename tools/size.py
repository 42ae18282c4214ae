"""Counts lines and words per package, and compares the totals with `tools/size.toml`: `python -m tools.size`.

The exit status is 1 if a total is above its ceiling. A change that brings a total below its ceiling lowers the ceiling;
no change raises one.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = ROOT / "tools" / "size.toml"
SPLIT = ("app", "models", "studies")  # folders that are listed by subfolder
SKIPPED = ("data", "runs", "node_modules", "__pycache__")
COLUMNS = ("code", "docstrings", "comments", "blank", "javascript", "css", "words")
PYTHON = COLUMNS[:4]
# Streamlit's names of its own elements, and its classes made from our keys
PRIVATE_DOM = re.compile(r"\bst[A-Z]|data-testid|data-baseweb|st-key")


def files(root: Path) -> Iterator[Path]:
    """Yields the Python, JavaScript and CSS files of a checkout, relative to its root."""
    for path in sorted(root.rglob("*.*")):
        name = path.relative_to(root)
        if path.suffix in (".py", ".js", ".mjs", ".css") and not any(
                part in SKIPPED or part.startswith(".") for part in name.parts):
            yield name


def package(path: Path) -> str:
    """Returns the row of the table to which a file belongs."""
    depth = 2 if path.parts[0] in SPLIT else 1
    return "/".join(path.parent.parts[:depth])


def python_lines(source: str) -> Counter[str]:
    """Returns the numbers of lines that are code, docstring, only a comment, or blank; their sum is all lines."""
    lines = source.splitlines()
    documented = {number for node in ast.walk(ast.parse(source))
                  if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
                  and ast.get_docstring(node, clean=False) is not None
                  for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    comments = {token.start[0] for token in tokenize.generate_tokens(io.StringIO(source).readline)
                if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")}
    blank = sum(not line.strip() for number, line in enumerate(lines, 1) if number not in documented)
    return Counter(docstrings=len(documented), comments=len(comments), blank=blank,
                   code=len(lines) - len(documented) - len(comments) - blank)


def count(root: Path) -> tuple[dict[str, Counter[str]], int]:
    """Returns package -> column -> lines, and the number of style lines that name Streamlit's private DOM."""
    table: dict[str, Counter[str]] = {}
    private = 0
    for path in files(root):
        source = (root / path).read_text(encoding="utf-8")
        lines = len(source.splitlines())
        if path.suffix == ".css":
            found = Counter(css=lines)
            private += sum(bool(PRIVATE_DOM.search(line)) for line in source.splitlines())
        else:
            found = python_lines(source) if path.suffix == ".py" else Counter(javascript=lines)
        table.setdefault(package(path), Counter()).update(found)
    return dict(sorted(table.items())), private


def words() -> Counter[str]:
    """Returns area -> English words of its interface texts, lessons, guide and glossary included."""
    from tools.extract import template

    counts: Counter[str] = Counter()
    for message in template():
        if message.id:
            forms = (message.id,) if isinstance(message.id, str) else message.id
            counts[message.locations[0][0]] += sum(len(form.split()) for form in forms)
    return counts


def totals(table: dict[str, Counter[str]], private: int) -> dict[str, int]:
    """Returns budget -> total; tests have a budget of their own, for their Python."""
    ours = sum((row for name, row in table.items() if name != "tests"), Counter())
    return {"python": sum(ours[column] for column in PYTHON), "docstrings": ours["docstrings"],
            "tests": sum(table.get("tests", Counter())[column] for column in PYTHON),
            "javascript": ours["javascript"], "css": ours["css"], "private_dom": private, "words": ours["words"]}


def compared(found: dict[str, int], budgets: dict[str, dict[str, int]]) -> tuple[list[str], list[str]]:
    """Returns one line per budget, and the names of the budgets that are exceeded."""
    lines, over = [f"{'':12}{'total':>8}{'ceiling':>9}{'target':>8}{'to go':>8}"], []
    for name, budget in budgets.items():
        if found[name] > budget["ceiling"]:
            over.append(name)
        lines.append(f"{name:12}{found[name]:8,}{budget['ceiling']:9,}{budget['target']:8,}"
                     f"{max(0, found[name] - budget['target']):8,}{'  too large' if name in over else ''}")
    return lines, over


def main() -> None:
    """Prints both tables."""
    table, private = count(ROOT)
    for area, number in words().items():
        table.setdefault(f"texts: {area}", Counter())["words"] += number
    print(f"{'':20}" + "".join(f"{column:>11}" for column in COLUMNS))
    for name, row in table.items():
        print(f"{name:20}" + "".join(f"{row[column] or '':>11}" for column in COLUMNS))
    lines, over = compared(totals(table, private), tomllib.loads(BUDGETS.read_text(encoding="utf-8")))
    print("\n" + "\n".join(lines))
    sys.exit(f"above the ceilings of tools/size.toml: {', '.join(over)}" if over else 0)


if __name__ == "__main__":
    main()
