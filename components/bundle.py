"""Joins ES modules into one script, in the order of their imports.

One script needs one request, and Streamlit can also send the script as text over its websocket. The modules need no
build step: they are plain ES modules, which Node and editors can read directly.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

# The forms of import that this project uses; the linter allows no other forms. Exports are constants, so a copy of an
# export never becomes outdated.
_IMPORT = re.compile(r"^import \{([^}]*)\} from '(\.[^']+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|class|function|async function) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(import|export)\b.*", re.MULTILINE)
# Comments on separate lines and indentation are removed, because browsers do not need them. In a module with template
# literals of several lines, both are kept.
_COMMENT = re.compile(r"^\s*(?://[^\n]*|/\*\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)
_INDENT = re.compile(r"^\s+", re.MULTILINE)
_TEMPLATE = re.compile(r"`[^`]*`")


def modules(entry: Path, registered: Sequence[Path] = ()) -> list[Path]:
    """Returns all modules that the registered modules and the entry import, each after its imports, the entry last."""
    ordered: list[Path] = []

    def visit(path: Path, importers: tuple[Path, ...]) -> None:
        if path in importers:
            raise ValueError(f"the imports form a cycle: {' -> '.join(file.name for file in (*importers, path))}")
        if path in ordered:
            return
        for _names, target in _IMPORT.findall(path.read_text("utf-8")):
            visit((path.parent / target).resolve(), (*importers, path))
        ordered.append(path)

    for path in (*registered, entry):
        visit(path.resolve(), ())
    return ordered


def bundle(entry: Path, registered: Sequence[Path] = ()) -> str:
    """Returns statements that define one constant per module; the last constant, `entry`, has the entry's exports."""
    paths = modules(entry, registered)
    variables = {path: f"module{number}" for number, path in enumerate(paths)} | {paths[-1]: "entry"}
    root = entry.resolve().parent
    return "\n".join([*(_wrapped(path, variables, Path(os.path.relpath(path, root)).as_posix()) for path in paths),
                      *(f"entry.register({variables[path.resolve()]});" for path in registered)])


def _wrapped(path: Path, variables: dict[Path, str], name: str) -> str:
    """Returns one module as a function that is called immediately and returns the module's exports."""
    source = path.read_text("utf-8")
    code = _COMMENT.sub("", source)
    if not any("\n" in text for text in _TEMPLATE.findall(code)):
        source = _INDENT.sub("", code)

    def imported(match: re.Match[str]) -> str:
        names = ", ".join(part.strip().replace(" as ", ": ") for part in match[1].split(",") if part.strip())
        return f"const {{ {names} }} = {variables[(path.parent / match[2]).resolve()]};\n"

    exports = _EXPORT.findall(source)
    code = _EXPORT.sub("", _IMPORT.sub(imported, source))
    if other := _OTHER.search(code):
        raise ValueError(f"{name}: this form of import or export is not supported: {other[0]}")
    return f"// {name}\nconst {variables[path]} = (() => {{\n{code}return {{ {', '.join(exports)} }};\n}})();\n"
