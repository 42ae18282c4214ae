"""The JavaScript and the styles of all components, sent to the browser once per page."""

from __future__ import annotations

import functools
import hashlib
import json
from typing import Any

from app import texts
from components.colours import COLOURS
from components.library.bundle import bundle
from components.library.citation import bibtex
from components.mounting import FOLDER, styles
from figures import export, theme

ENTRY = FOLDER / "main.js"


@functools.cache
def source() -> str:
    """Returns the library as one module, which starts itself and resolves `globalThis.attentionLab`.

    A page that stays open during an update of the app receives the library twice. The second version, if it differs,
    replaces the first, because components request the library whenever they are drawn.
    """
    code = bundle(ENTRY)
    data = (f"{{ colours: {json.dumps(COLOURS)}, texts: {texts.for_browser()}, "
            f"glossary: {json.dumps(texts.glossary())}, styles: {json.dumps(styles())}, "
            f"figures: {json.dumps(_figures())}, citation: {json.dumps(bibtex())} }}")
    version = hashlib.sha256((code + data).encode()).hexdigest()[:12]
    return f"""'use strict';
const waiting = (globalThis.attentionLab ??= Promise.withResolvers());
if (waiting.version !== '{version}') {{
{code}
  entry.start({data});
  waiting.resolve(entry);
  if (waiting.version) globalThis.attentionLab = {{ promise: Promise.resolve(entry) }};
  globalThis.attentionLab.version = '{version}';
}}
export default () => undefined;
"""


def _figures() -> dict[str, Any]:
    """Returns what the browser needs to draw charts: the address of Vega, the themes, and the colours that differ."""
    return {"script": f"app/static/{export.vega_script().name}", "recolouring": theme.recolouring("dark"),
            "themes": {name: theme.config(name) for name in ("light", "dark", "print")}}


@functools.cache
def _registered() -> Any:
    """Returns Streamlit's function that mounts the library."""
    import streamlit as st

    return st.components.v2.component("attention_lab_library", js=source(), css=":host { display: none }")


def library(*, key: str = "library") -> None:
    """Sends the library. Call it once per visit, outside of fragments; until then, components are empty."""
    _registered()(key=key, data=True, height=1)
