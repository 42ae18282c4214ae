"""The JavaScript of the widget, joined into one ES module, and the style of the widget."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from app import texts
from components.colours import COLOURS
from components.library.bundle import bundle
from components.mounting import styles

FOLDER = Path(__file__).parent
COMPONENTS = ("heads", "head_map", "effect")
# hides the choice of the scope of shortcuts, because shortcuts work only inside the widget
NO_CHOICE = ".hint label { display: none }"


@functools.cache
def source() -> str:
    """Returns the module for anywidget, whose default export has `render`. The module sends no network requests."""
    sheets = {name: sheet for name, sheet in styles().items() if name in COMPONENTS}
    sheets["heads"] += NO_CHOICE
    data = {"colours": COLOURS, "texts": {}, "glossary": texts.glossary(), "styles": sheets, "embedded": True}
    return f"{bundle(FOLDER / 'widget.js')}\nentry.start({json.dumps(data)});\n" \
           "export default { render: entry.render };\n"


@functools.cache
def style() -> str:
    """Returns the style sheet of the widget's frame."""
    return (FOLDER / "widget.css").read_text("utf-8")
