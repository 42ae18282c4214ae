"""Undocumented names inside Streamlit that the app depends on: each exists in the installed version.

    pytest tests/test_streamlit.py

The names are in assets/style.css and components/runtime/streamlit.js, and in no other style sheet or module.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import streamlit

from components.mounting import FOLDER

ROOT = Path(__file__).resolve().parents[1]
STREAMLIT = Path(streamlit.__file__).parent
STYLE, SCRIPT = ROOT / "assets" / "style.css", FOLDER / "runtime" / "streamlit.js"
PRIVATE = re.compile(r"data-testid|\bst-key-|\.st[A-Z]|stActiveTheme|InputInstructions")


@cache
def frontend() -> str:
    """Returns the JavaScript that Streamlit sends to browsers."""
    return "\n".join(path.read_text("utf-8", "replace") for path in sorted((STREAMLIT / "static").rglob("*.js")))


def names() -> list[str]:
    """Returns every test id, class and attribute of Streamlit that the style sheet and the module use."""
    style, script = STYLE.read_text("utf-8"), SCRIPT.read_text("utf-8")
    constants = re.findall(r"^const [A-Z_]+ = ['`](st[\w-]+)", script, re.MULTILINE)
    return sorted({*re.findall(r"data-testid='([\w-]+)'", style), *re.findall(r"\.(st[A-Z]\w+)", style), *constants,
                   "data-stale", "data-selected"})


def is_known(name: str, text: str) -> bool:
    """Returns whether Streamlit's code has the name, whole or as a template: `stBaseButton-${kind}`."""
    whole = re.escape(name)
    prefix = re.escape(name.split("-")[0])
    return bool(re.search(rf"[`\"'.\[ ]{whole}(?![\w-])", text) or "-" in name and re.search(rf"`{prefix}-\$\{{", text))


def test_names_are_found_at_all():
    assert {"stMain", "stMainMenu", "stActiveTheme-", "st-key-", "stBaseButton-primary", "stColumn"} <= set(names())


@pytest.mark.parametrize("name", names())
def test_streamlit_has_the_name(name):
    assert is_known(name, frontend())


def test_a_name_that_streamlit_dropped_is_noticed():
    assert not is_known("stSidebarCollapsedControl", frontend())
    assert not is_known("stMa", "x.stMain") and is_known("stMain", "x.stMain")


def test_the_chosen_theme_is_stored_under_this_key():
    version = re.search(r"stActiveTheme-\$\{location\.pathname\}-v(\d+)`", SCRIPT.read_text("utf-8"))
    assert version
    stored = re.search(r"(\w+)=(\d+),(\w+)=`stActiveTheme-\$\{window\.location\.pathname\}`,.{0,200}?"
                       r"ACTIVE_THEME:`\$\{\3\}-v\$\{\1\}`", frontend())
    assert stored
    assert stored[2] == version[1]


@pytest.mark.parametrize("path", sorted([*FOLDER.rglob("*.js"), *FOLDER.rglob("*.css")]),
                         ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_no_other_file_uses_them(path):
    assert path == SCRIPT or not PRIVATE.search(path.read_text("utf-8"))
