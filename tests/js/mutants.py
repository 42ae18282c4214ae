"""Mutation tests: small mistakes in the JavaScript of components/core/, one at a time, that the tests must detect.

    python -m tests.js.mutants                        all of them, the score per module, and the survivors
    python -m tests.js.mutants core/csv.js            mutants of one module
    python -m tests.js.mutants --sample 60            a sample, as the test suite runs it

Modules that only draw (DRAWING) are left out, unless they are named: most of their mutants move a mark by a pixel.

The address of a mutant is its module, function, kind of change, and its number among the function's changes of this
kind. No source text is repeated here, so a renamed function or a new line layout needs no edit.
"""

import argparse
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import tree_sitter
import tree_sitter_javascript

from components.bundle import modules
from tests.js.fixtures import write
from tests.js.node import ROOT, TESTS, find

CORE = ROOT / "components" / "core"
DRAWING = ("core/picture/",)
SECONDS = 20  # limit in seconds for one test file, so that a mutant with an endless loop counts as detected
SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==",
         "!==": "===", "&&": "||", "||": "&&", "??": "&&", "+=": "-=", "-=": "+="}
NAMES = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "some": "every", "every": "some"}
_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))


class Mutant(NamedTuple):
    """A change of a source file: the bytes from `start` to `end` are replaced by `text`."""

    file: str  # path relative to components/
    address: str
    start: int
    end: int
    text: str


def mutants(path: Path) -> list[Mutant]:
    """Returns every mutant of a module, in the order of the source code."""
    found: list[Mutant] = []
    counts: Counter[str] = Counter()
    file = path.relative_to(ROOT / "components").as_posix()
    source = path.read_bytes()
    for statement in _PARSER.parse(source).root_node.children:
        name = _declared(statement)
        if name is None:
            continue
        for kind, start, end, text in _changes(statement, source):
            counts[f"{name}:{kind}"] += 1
            found.append(Mutant(file, f"{file}:{name}:{kind}:{counts[f'{name}:{kind}']}", start, end, text))
    return found


def _declared(statement: tree_sitter.Node) -> str | None:
    """Returns the name of a top-level function; None for other statements, which are sizes and tables."""
    declaration = statement.child_by_field_name("declaration") or statement
    if declaration.type == "function_declaration":
        return _text(declaration.child_by_field_name("name"))
    if declaration.type != "lexical_declaration":
        return None
    declarator = declaration.named_children[0]
    value = declarator.child_by_field_name("value")
    return _text(declarator.child_by_field_name("name")) if value and value.type == "arrow_function" else None


def _changes(node: tree_sitter.Node, source: bytes) -> Iterator[tuple[str, int, int, str]]:
    """Yields (kind, start, end, text) for each possible change inside a syntax node."""
    operator = node.child_by_field_name("operator")
    if operator and node.type in ("binary_expression", "augmented_assignment_expression") and operator.type in SWAPS:
        yield "operator", operator.start_byte, operator.end_byte, SWAPS[operator.type]
    elif operator and node.type == "unary_expression" and operator.type in ("-", "!"):
        yield "sign", operator.start_byte, operator.end_byte, ""
    elif node.type in ("ternary_expression", "if_statement"):
        condition = node.child_by_field_name("condition")
        yield "condition", condition.start_byte, condition.end_byte, f"(!({_text(condition)}))"
    elif node.type in ("true", "false"):
        yield "boolean", node.start_byte, node.end_byte, "false" if node.type == "true" else "true"
    elif node.type == "number":
        yield "number", node.start_byte, node.end_byte, f"({_text(node)} + 1)"
    elif node.type == "property_identifier" and _text(node) in NAMES:
        yield "method", node.start_byte, node.end_byte, NAMES[_text(node)]
    elif node.type == "return_statement" and node.named_children:
        value = node.named_children[0]
        yield "return", value.start_byte, value.end_byte, "undefined"
    for child in node.children:
        yield from _changes(child, source)


def _text(node: tree_sitter.Node | None) -> str:
    return node.text.decode() if node and node.text else ""


def testers() -> dict[str, list[str]]:
    """Returns module -> test files that import it, the direct ones before the indirect ones."""
    reaching: dict[str, list[str]] = defaultdict(list)
    imported = {path: path.read_text("utf-8") for path in sorted(TESTS.glob("*.test.mjs"))}
    for path in imported:
        for module in modules(path):
            if CORE in module.parents:
                reaching[module.relative_to(CORE.parent).as_posix()].append(path.name.removesuffix(".test.mjs"))
    return {file: sorted(names, key=lambda name: f"components/{file}'" not in imported[TESTS / f"{name}.test.mjs"])
            for file, names in reaching.items()}


class Workspace:
    """A copy of the JavaScript and its tests, in which one mutant at a time is tested."""

    def __init__(self, folder: Path, fixtures: Path) -> None:
        self._folder, self._fixtures, self._testers = folder, fixtures, testers()
        for part in ("components/core", "tests/js"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        for file in ("package.json", "assets/colours.json"):
            (folder / file).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / file, folder / file)

    def is_noticed(self, mutant: Mutant) -> bool:
        """Returns whether a test fails on the mutant."""
        path = self._folder / "components" / mutant.file
        source = path.read_bytes()
        path.write_bytes(source[:mutant.start] + mutant.text.encode() + source[mutant.end:])
        try:
            return any(self._fails(name) for name in self._testers.get(mutant.file, []))
        finally:
            path.write_bytes(source)

    def _fails(self, name: str) -> bool:
        try:
            result = subprocess.run([find(), self._folder / "tests" / "js" / f"{name}.test.mjs"], capture_output=True,
                                    text=True, timeout=SECONDS, env=os.environ | {"FIXTURES": str(self._fixtures)})
        except subprocess.TimeoutExpired:
            return True
        if "SyntaxError" in result.stderr:
            raise SyntaxError(result.stderr)
        return result.returncode != 0


def sample(count: int | None, seed: int, files: Sequence[str] = ()) -> list[Mutant]:
    """Returns a random sample of mutants, without repetition."""
    everything = [mutant for path in sorted(CORE.rglob("*.js")) for mutant in mutants(path)
                  if (mutant.file in files if files else not mutant.file.startswith(DRAWING))]
    return random.Random(seed).sample(everything, len(everything) if count is None else min(count, len(everything)))


def survivors(chosen: Sequence[Mutant], folder: Path, workers: int = 2) -> list[Mutant]:
    """Returns the mutants that no test detects, in the order of `chosen`."""
    write(folder / "fixtures")
    free: SimpleQueue[Workspace] = SimpleQueue()
    for worker in range(workers):
        free.put(Workspace(folder / str(worker), folder / "fixtures"))

    def survives(mutant: Mutant) -> bool:
        workspace = free.get()
        try:
            return not workspace.is_noticed(mutant)
        finally:
            free.put(workspace)

    with ThreadPoolExecutor(workers) as pool:
        return [mutant for mutant, alive in zip(chosen, pool.map(survives, chosen), strict=True) if alive]


def main() -> None:
    """Prints the fraction of mutants that the tests detect, per module, and each mutant that they do not detect."""
    parser = argparse.ArgumentParser(prog="python -m tests.js.mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="modules, relative to components/")
    parser.add_argument("--sample", type=int, help="how many mutants to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    chosen = sample(args.sample, args.seed, args.files)
    with tempfile.TemporaryDirectory() as folder:
        alive = survivors(chosen, Path(folder), args.workers)
    for mutant in sorted(alive):
        print(mutant.address)
    left = Counter(mutant.file for mutant in alive)
    for file, count in sorted(Counter(mutant.file for mutant in chosen).items()):
        print(f"{file}: {count - left[file]} of {count} noticed")
    print(f"all: {1 - len(alive) / len(chosen):.1%} of {len(chosen)} mutants noticed")


if __name__ == "__main__":
    main()
