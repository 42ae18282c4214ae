"""README, cards and code say the same.

    pytest tests/test_docs.py
"""

from __future__ import annotations

import re

import pytest

import models
from app.panels.card import card_of, headline
from models.recipes import RECIPES
from tests.browser import ROOT

# Recipes whose models are not shipped yet.
PENDING = {"stories-gated", "stories-softmax-wide", "stories-softmax-512", "stories-selective-512",
           "stories-selective-memory-512",
           *(f"translation-{name}" for name in (
               "softmax", "dense", "random", "factorized-random", "random-softmax", "disagreement-sub",
               "disagreement-pos", "disagreement-out", "disagreement-all"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", models.names())
def test_readme_shows_each_cards_numbers(name):
    card = card_of(name)
    cells = (f"`{name}`", card["attention"]["title"], f"{card['model']['parameters']:,}", headline(card["metric"]))
    assert f"| {' | '.join(cells)} |" in README


def test_every_shipped_model_has_a_recipe_and_every_recipe_a_model():
    assert set(models.names()) | PENDING == set(RECIPES) and not set(models.names()) & PENDING


def test_every_make_target_that_is_named_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^    |`)make (\w+)", README + CONTRIBUTING, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_file_that_is_named_exists():
    text = README + CONTRIBUTING
    named = re.findall(r"`((?:app|assets|benchmarks|models|tests)/[\w./]+)`", text)
    for path in re.findall(r"\]\(((?!http)[^)]+)\)", text) + named:
        assert (ROOT / path).exists() or "NAME" in path, path


def test_no_placeholder_is_left():
    assert not re.search(r"[A-Z]+_TABLE|^BENCHMARKS$", README, re.MULTILINE)


def test_requirements_are_pinned():
    for file in ("requirements.txt", "requirements-test.txt", "requirements-test-alone.txt"):
        lines = [line for line in (ROOT / file).read_text().splitlines() if line and not line.startswith(("#", "--"))]
        assert lines
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
