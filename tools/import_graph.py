"""Checks the imports of the packages: prints a cycle, and what tools/imports.toml forbids.

Imports at module level, inside functions and under TYPE_CHECKING all count. The lazily imported public names
in `__init__.pyi` count as well.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
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


def cycle(graph: Graph) -> list[str]:
    """Returns a cycle, in which each node imports the one before it; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def rules(root: Path) -> Rules:
    """Returns the table tools/imports.toml: package -> the packages that it may import."""
    table = tomllib.loads((root / "tools" / "imports.toml").read_text(encoding="utf-8"))
    return {_dotted(who): tuple(map(_dotted, allowed)) for who, allowed in table.items()}


def _dotted(path: str) -> str:
    return path.removesuffix("/").removesuffix(".py").replace("/", ".")


def violations(root: Path) -> list[str]:
    """Returns a line per import outside the table; an inner folder's row replaces that of the outer folder."""
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


if __name__ == "__main__":
    faults = [*cycle(module_graph(ROOT)), *cycle(package_graph(ROOT)), *violations(ROOT)]
    print("\n".join(faults) or "all imports follow the table")
