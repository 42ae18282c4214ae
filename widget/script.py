"""The JavaScript of the widget, joined into one ES module, and the style of the widget."""

import functools
import json
import re
from pathlib import Path

from app import texts
from app.content.tools import TOOLS
from components.colours import COLOURS
from components.library.bundle import bundle
from components.mounting import FOLDER as COMPONENTS
from components.mounting import styles

FOLDER = Path(__file__).parent
# The sizes of the Lab follow the cell, which is narrower than the window. A bar fixed to the window would hide cells.
FRAME = """
:host { container-type: inline-size }
.root .lab { padding-bottom: 8px }
.root .phone-bar { position: static }
"""


@functools.cache
def source() -> str:
    """Returns the module for anywidget, whose default export has `render`. The module sends no network requests."""
    sheet = re.sub(r"@media (?=(?:(?:and )?\((?:max|min)-width: \d+px\) )+\{)", "@container ", styles()["lab"]) + FRAME
    data = {"colours": COLOURS, "texts": {}, "glossary": texts.glossary(), "styles": {"lab": sheet}, "embedded": True}
    drawings = [path for path in sorted((COMPONENTS / "lab" / "tools").glob("*.js")) if path.stem in TOOLS]
    return f"{bundle(FOLDER / 'widget.js', drawings)}\nentry.start({json.dumps(data)});\n" \
           "export default { render: entry.render };\n"


@functools.cache
def style() -> str:
    """Returns the style sheet of the widget's frame."""
    return (FOLDER / "widget.css").read_text("utf-8")
