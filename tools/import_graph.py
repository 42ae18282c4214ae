"""Prints the import graph of the packages, lists cycles, and checks tools/imports.toml.

    python -m tools.import_graph                       # text: packages, cycles, broken rules
    python -m tools.import_graph --dot | dot -Tsvg     # Graphviz
    python -m tools.import_graph OLD_CHECKOUT          # the same for another checkout of this repository

Imports at module level, inside functions and under TYPE_CHECKING all count. The lazily imported public names
in `__init__.pyi` count as well.
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
# packages that the graph contains
OURS = ("app", "attention_lab", "benchmarks", "components", "deploy", "figures", "learning", "models", "studies",
        "tools", "widget")
Graph = dict[str, set[str]]  # module or package -> the modules or packages that it imports
Rules = dict[str, tuple[str, ...]]  # folder or file -> the modules and packages that it may import


def modules(root: Path) -> dict[str, Path]:
    """Returns module name -> file, for every Python file of the packages in OURS."""
    files = {}
    for package in OURS:
        for path in sorted((root / package).rglob("*.py")):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            stub = path.with_suffix(".pyi")  # the list of the public names that a package imports when they are used
            files[name] = stub if stub.exists() else path
    return files


def imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yields the modules that a file imports; `from app import compute` yields app.compute."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


def module_graph(root: Path) -> Graph:
    """Returns module -> the modules of this repository that it imports."""
    known = modules(root)
    return {name: {other for other in imported(path, known) if other in known and other != name}
            for name, path in known.items()}


def package_of(module: str) -> str:
    """Returns the first two parts of a module's name: models.labs for models.labs.foreign.lab."""
    return ".".join(module.split(".")[:2])


def package_graph(root: Path) -> Graph:
    """Returns package -> the packages that it imports; modules directly in `models/` and `app/` count as packages."""
    graph: Graph = {}
    for name, others in module_graph(root).items():
        package = package_of(name)
        graph.setdefault(package, set()).update({package_of(other) for other in others} - {package})
    return graph


def cycles(graph: Graph) -> list[list[str]]:
    """Returns the strongly connected components with two or more nodes (Tarjan 1972), each sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(groups)


def rules(root: Path) -> Rules:
    """Returns the table tools/imports.toml: package -> the packages that it may import."""
    table = tomllib.loads((root / "tools" / "imports.toml").read_text(encoding="utf-8"))
    return {_dotted(who): tuple(map(_dotted, allowed)) for who, allowed in table.items()}


def _dotted(path: str) -> str:
    return path.removesuffix("/").removesuffix(".py").replace("/", ".")


def violations(root: Path) -> list[str]:
    """Returns one line per import that the table does not allow.

    A folder may always import itself. A row for a subfolder replaces the row for the outer folder.
    """
    table, known, lines = rules(root), modules(root), []
    for module, path in known.items():
        row = max((who for who in table if f"{module}.".startswith(f"{who}.")), key=len, default=None)
        if row is None:
            continue
        for other in sorted(set(imported(path, known))):
            if other.partition(".")[0] in (*OURS, "streamlit", "tests") and not any(
                    f"{other}.".startswith(f"{allowed}.") for allowed in (row, *table[row])):
                lines.append(f"{path.relative_to(root)} imports {other}: {row} may not")
    return lines


def as_dot(graph: Graph) -> str:
    """Returns the graph in Graphviz's language; edges inside a cycle are red."""
    group_of = {node: number for number, group in enumerate(cycles(graph)) for node in group}
    lines = ["digraph imports {", "  rankdir=LR; node [shape=box, fontname=Helvetica];"]
    for node, others in sorted(graph.items()):
        lines.append(f'  "{node}";')
        for other in sorted(others):
            in_cycle = node in group_of and group_of[node] == group_of.get(other)
            lines.append(f'  "{node}" -> "{other}"{" [color=red]" if in_cycle else ""};')
    return "\n".join([*lines, "}"])


def as_text(root: Path) -> str:
    """Returns a report: packages with their imports, cycles of modules and packages, broken rules."""
    graph, files = package_graph(root), modules(root)
    lines = [f"{len(files)} modules, {len(graph)} packages", ""]
    lines += [f"{node} -> {', '.join(sorted(others)) or 'nothing'}" for node, others in sorted(graph.items())]
    for title, groups in (("modules", cycles(module_graph(root))), ("packages", cycles(graph))):
        lines += ["", f"cycles of {title}: {len(groups)}"]
        lines += [f"  {len(group)}: {', '.join(group)}" for group in groups]
    broken = violations(root)
    lines += ["", f"imports against the table: {len(broken)}", *(f"  {line}" for line in broken)]
    return "\n".join(lines)


def main() -> None:
    """Prints the report or the graph of a checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path, default=ROOT,
                        help="folder of a checkout; this one if left out")
    parser.add_argument("--dot", action="store_true", help="Graphviz in place of text")
    arguments = parser.parse_args()
    print(as_dot(package_graph(arguments.checkout)) if arguments.dot else as_text(arguments.checkout))


if __name__ == "__main__":
    main()
