"""Public names of a package that are imported when they are first used (PEP 562)."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

Names = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def names_of(package: str, file: str) -> Names:
    """Returns `__getattr__`, `__dir__` and `__all__` of a package, whose stub `__init__.pyi` lists its names."""
    places = _places(package, Path(file).with_suffix(".pyi"))

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = places[name]
        value = import_module(module)
        value = getattr(value, attribute) if attribute else value
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *places}), sorted(places)


def _places(package: str, stub: Path) -> dict[str, tuple[str, str]]:
    """Returns public name -> its module, and its name there (empty for the module itself)."""
    places: dict[str, tuple[str, str]] = {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            places |= {str(alias.asname): (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = import_module(node.module).__all__ if node.names[0].name == "*" else [
                alias.name for alias in node.names]
            places |= {name: (f"{package}.{name}", "") if node.module == package else (node.module, name)
                       for name in names}
    return places
