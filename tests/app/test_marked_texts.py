"""Texts in the code are marked for translation, tips are in the glossary, and fragments set their language."""

import ast
import io
import re
from pathlib import Path

import pytest

from app import texts
from tests.app import literals
from tests.browser import ROOT
from tools import extract


def sources(ending: str) -> list[Path]:
    return [path for folder in ("app", "components", "figures") for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
            if path.parent.name != "static"]  # a library


ALLOWED = {"Attention Lab", "# Attention Lab"}
# names of keys, of Streamlit's themes, and of columns in exported files
KEYS = {"Escape", "Esc", "Home", "End", "Enter", "Tab", "Process", "Unidentified", "Slash", "System", "query token",
        "key token"}
# names of classes, which are written in lower case
CLASSES = {name for path in (ROOT / "components").rglob("*.css")
           for name in re.findall(r"\.([a-z][\w-]*)", path.read_text("utf-8"))}


@pytest.mark.parametrize("path", sources("py"), ids=lambda path: str(path.relative_to(ROOT)))
def test_python_looks_its_texts_up(path):
    assert not set(literals.in_python(path.read_text("utf-8"))) - ALLOWED


def test_what_models_say_of_a_mistake_can_be_looked_up():
    for path in sorted((ROOT / "models").rglob("*.py")):
        assert not [*literals.in_python(path.read_text("utf-8"), literals.ERRORS)], path


@pytest.mark.parametrize("path", sources("js"), ids=lambda path: str(path.relative_to(ROOT)))
def test_javascript_looks_its_texts_up(path):
    found = set(literals.in_javascript(path.read_text("utf-8"))) - ALLOWED - KEYS
    assert not {text for text in found if not set(text.split()) <= CLASSES}


def test_a_text_without_a_lookup_in_the_catalogue_is_found():
    python = ['st.caption("Some words")', 'st.button(f"Load {name}")', 'box.text_input(_("Text"), placeholder="Type")',
              'st.error("A" if x else "Two words")', 'st.altair_chart(c, alt="A chart")',
              'altair.X("n", title="tokens")', 'raise InputError(f"No {what}")', 'st.table([{"columns": 3}])']
    assert [len([*literals.in_python(source)]) for source in python] == [1] * len(python)
    assert not [*literals.in_python('st.caption(_("Some words")); st.markdown(f"**{plain(name)}**")')]
    script = ["make('p', { textContent: 'Undo' })", "setText(a, `step ${n} of all`)", 'x.title = "two words"']
    assert [len([*literals.in_javascript(source)]) for source in script] == [1] * len(script)
    assert not [*literals.in_javascript("_('Undo'); ngettext('{n} old', '{n} very old', 2) // Two words")]


def test_an_f_string_is_no_text():
    with pytest.raises(ValueError, match="f-string"):
        list(extract.python(io.BytesIO(b'_(f"Load {name}")'), None, None, None))


@pytest.mark.parametrize("path", sources("py"), ids=lambda path: str(path.relative_to(ROOT)))
def test_fragments_set_their_language_first(path):
    """Every Streamlit fragment sets its language first, because it can run in a new thread."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and any("fragment" in ast.dump(its) for its in node.decorator_list):
            first = node.body[1] if isinstance(node.body[0].value if isinstance(node.body[0], ast.Expr) else None,
                                               ast.Constant) else node.body[0]
            assert ast.unparse(first) == "session.speak()", f"{path}: {node.name}"


def test_every_tip_is_in_the_glossary():
    used = {key for path in sources("py") for key in re.findall(r'\btip(?:\(|=)"([^"]+)"', path.read_text("utf-8"))}
    script = "".join(path.read_text("utf-8") for path in sources("js"))
    used |= {*re.findall(r"addTip\([^;]*?,\s*'([\w -]+)',?\s*\);", script)}
    assert {"gate", "weight"} <= used <= set(texts.glossary())
