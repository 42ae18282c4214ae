"""The counts of `tools.size` on a toy checkout, and the comparison with ceilings."""

from pathlib import Path

import pytest

from tools import size

MODULE = '''"""A module
of two lines."""
# a comment

def f():
    """One line."""
    return 1  # not counted as a comment
'''


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for name, text in {"app/state/a.py": MODULE, "tests/test_a.py": MODULE, "components/x/x.js": "a\nb\n",
                       "components/x/x.css": ".st-key-a {\n  --st-text-color: red;\n}\n[data-testid='stTable'] {\n}\n",
                       "tests/js/x.js": "a\n", ".venv/a.py": MODULE, "assets/data/a.py": MODULE}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_each_line_is_counted_once_and_in_its_package(toy: Path):
    table, private = size.count(toy)
    lines = {"code": 2, "docstrings": 3, "comments": 1, "blank": 1}
    assert table == {"app/state": lines, "components": {"javascript": 2, "css": 5}, "tests": {**lines, "javascript": 1}}
    assert private == 2
    assert size.totals(table, private) == {"python": 7, "docstrings": 3, "tests": 7, "javascript": 2, "css": 5,
                                           "private_dom": 2, "words": 0}


def test_a_total_above_its_ceiling_is_named():
    budgets = {"python": {"ceiling": 15, "target": 8}, "css": {"ceiling": 3, "target": 3}}
    assert size.compared({"python": 15, "css": 3}, budgets)[1] == []
    assert size.compared({"python": 16, "css": 4}, budgets)[1] == ["python", "css"]
