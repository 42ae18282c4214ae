"""The JavaScript and the styles of all components, sent to the browser once a page."""

from __future__ import annotations

import hashlib
import json

import streamlit as st

from app import texts
from components.colours import COLOURS
from components.mounting import FOLDER, styles

# In order: a file uses only what the files before it offer when it is read. Those in core/ draw nothing and know no
# page: tests/js runs them in Node.
FILES = ("core/texts.js", "core/payload.js", "core/text.js", "core/scales.js", "core/attention.js",
         "core/forgetting.js", "core/layout.js", "core/plan.js", "core/asking.js", "core/effects.js", "core/words.js",
         "core/lessons.js", "core/svg.js", "core/csv.js", "core/standalone.js", "core/picture.js", "core/axes.js",
         "core/marks.js", "core/lines.js", "core/fields.js", "core/points.js", "core/chart.js", "shared.js", "tip.js",
         "page.js", "canvas.js", "events.js", "menu.js", "pointing.js", "take_away.js", "theme.js", "heads/controls.js",
         "heads/grid.js", "heads/heads.js", "head_map/matrix_drawing.js", "head_map/matrix.js",
         "head_map/forgetting_bars.js", "head_map/forgetting_strip.js", "head_map/forgetting.js", "head_map/words.js",
         "head_map/reading.js", "head_map/words_panel.js", "head_map/taking.js", "head_map/together.js",
         "head_map/head_map.js", "effect/peek.js", "effect/effect.js", "written/written.js", "notice/notice.js",
         "chooser/chooser.js", "toolbar/toolbar.js", "navigation/navigation.js", "chart/picking.js", "chart/chart.js",
         "dial/dial.js", "comparison/comparison.js", "lesson/lesson.js", "opening/opening.js")


def source() -> str:
    """The library as one module: each file in a scope of its own, with `lab`, the namespace they share.

    A page that lives through an update of the app gets the library twice. The second one, if it differs,
    takes the first one's place: components ask for the library whenever they are drawn.
    """
    scripts = ((name, (FOLDER / name).read_text("utf-8")) for name in FILES)
    files = "".join(f"\n// {name}\n(lab => {{\n{script}}})(lab);\n" for name, script in scripts)
    given = (f"colours: {json.dumps(COLOURS)}, texts: {texts.for_browser()}, "
             f"glossary: {json.dumps(texts.glossary())}, styles: {json.dumps(styles())}")
    version = hashlib.sha256((files + given).encode()).hexdigest()[:12]
    return f"""'use strict';
const waiting = (globalThis.attentionLab ??= Promise.withResolvers());
if (waiting.version !== '{version}') {{
  const lab = {{ {given} }};
{files}
  waiting.resolve(lab);
  if (waiting.version) globalThis.attentionLab = {{ promise: Promise.resolve(lab) }};
  globalThis.attentionLab.version = '{version}';
}}
export default () => undefined;
"""


_mount = st.components.v2.component("attention_lab_library", js=source(), css=":host { display: none }")


def library(*, key: str = "library") -> None:
    """Sends the library. Call it once a visit, outside of fragments; until then, components stay empty."""
    _mount(key=key, data=True, height=1)
