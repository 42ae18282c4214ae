"""The JavaScript and the styles of all components, sent to the browser once a page."""

from __future__ import annotations

import hashlib
import json

import streamlit as st

from app import texts
from components.colours import COLOURS
from components.library.bundle import bundle
from components.mounting import FOLDER, styles

ENTRY = FOLDER / "main.js"


def source() -> str:
    """Returns the library as one module, which starts itself and resolves `globalThis.attentionLab`.

    A page that lives through an update of the app gets the library twice. The second one, if it differs, takes the
    first one's place: components ask for the library whenever they are drawn.
    """
    code = bundle(ENTRY)
    data = (f"{{ colours: {json.dumps(COLOURS)}, texts: {texts.for_browser()}, "
            f"glossary: {json.dumps(texts.glossary())}, styles: {json.dumps(styles())} }}")
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


_mount = st.components.v2.component("attention_lab_library", js=source(), css=":host { display: none }")


def library(*, key: str = "library") -> None:
    """Sends the library. Call it once a visit, outside of fragments; until then, components stay empty."""
    _mount(key=key, data=True, height=1)
