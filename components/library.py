"""The JavaScript and the styles of all components, as one module that the browser imports once; the citation."""

import functools
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import texts
from components.bundle import bundle
from components.colours import COLOURS
from components.mounting import FOLDER, page_style, styles
from figures import export, theme

FILE = Path(__file__).parents[1] / "CITATION.cff"
LINK = "LINK"  # the browser replaces this word by the address of the state
ENTRY = FOLDER / "main.js"
QR = "app/static/lean-qr-2.7.4.js"  # address of the library that draws QR codes, loaded when the first one is drawn
# Imports the library from its address; reports a failed import, for example behind a proxy that blocks the address.
_IMPORT = """
export default ({ setTriggerValue }) => {
  import(new URL('%s', document.baseURI)).catch(() => setTriggerValue('missing', true));
};
"""


def component_modules() -> list[Path]:
    """Returns the module of each component, NAME/NAME.js, and the drawings of the Lab's tools."""
    return [*sorted((FOLDER / "lab" / "tools").glob("*.js")),
            *(path for path in sorted(FOLDER.glob("*/*.js")) if path.stem == path.parent.name)]


@functools.cache
def source() -> str:
    """Returns the library as one module. When loaded, the module starts itself and resolves `globalThis.attentionLab`.

    A page that stays open during an update of the app receives the library twice. If the second version differs, it
    replaces the first version, because components request the library whenever they are displayed.
    """
    code, data = _content()
    return f"""'use strict';
const waiting = (globalThis.attentionLab ??= Promise.withResolvers());
if (waiting.version !== '{version()}') {{
{code}
  entry.start({data});
  waiting.resolve(entry);
  if (waiting.version) globalThis.attentionLab = {{ promise: Promise.resolve(entry) }};
  globalThis.attentionLab.version = '{version()}';
}}
export default () => undefined;
"""


@functools.cache
def _content() -> tuple[str, str]:
    """Returns the joined modules, and a JavaScript literal with the data that the library starts with."""
    return bundle(ENTRY, component_modules()), (
        f"{{ colours: {json.dumps(COLOURS)}, texts: {texts.for_browser()}, "
        f"glossary: {json.dumps(texts.glossary())}, styles: {json.dumps(styles())}, "
        f"pageStyle: {json.dumps(page_style())}, figures: {json.dumps(_figures())}, qr: {json.dumps(QR)}, "
        f"citation: {json.dumps(bibtex())} }}")


@functools.cache
def version() -> str:
    """Returns a hash of the library, which is part of its address."""
    return hashlib.sha256("".join(_content()).encode()).hexdigest()[:12]


def address() -> str:
    """Returns the address of the library, relative to the address of the app."""
    return f"lab/library/{version()}.js"


def _figures() -> dict[str, Any]:
    """Returns the data for charts: address of Vega, themes, and the dark theme's replacements of colours."""
    return {"script": f"app/static/{export.vega_script().name}", "recolouring": theme.recolouring("dark"),
            "themes": {name: theme.config(name) for name in ("light", "dark", "print")}}


@functools.cache
def _registered(is_whole: bool) -> Any:
    """Returns the Streamlit function that mounts the library itself, or a script that imports the library."""
    import streamlit as st

    return st.components.v2.component(f"attention_lab_library_{'whole' if is_whole else 'import'}",
                                      js=source() if is_whole else _IMPORT % address(), css=":host { display: none }")


def library(*, key: str = "library", on_missing: Callable[[], None] | None = None) -> None:
    """Sends the library. Call this in every run, outside of fragments; without it, components are empty."""
    if on_missing is None:
        _registered(True)(key=key, data=True, height=1)
    else:
        _registered(False)(key=f"{key} import", data=True, height=1, on_missing_change=on_missing)


def bibtex(text: str | None = None) -> str:
    """Returns a BibTeX entry of CITATION.cff whose url is LINK; empty without the file, as in some installations."""
    if text is None:
        text = FILE.read_text("utf-8") if FILE.exists() else ""
    fields = dict(re.findall(r'^(?:  - )?([\w-]+): "?(.+?)"?$', text, re.MULTILINE))
    if not {"title", "name", "version", "date-released"} <= fields.keys():
        return ""
    lines = {"title": fields["title"], "author": f"{{{fields['name']}}}", "year": fields["date-released"][:4],
             "version": fields["version"], "url": LINK}
    entry = ",\n".join(f"  {name} = {{{value}}}" for name, value in lines.items())
    return f"@software{{attention_lab,\n{entry}\n}}\n"
