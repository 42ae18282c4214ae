"""The Chinese Results page contains no English sentence, in texts, tables, charts and their text alternatives.

pytest tests/app/test_results_in_chinese.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import texts
from app.state import session
from studies.claims import KEYS
from tests.app.test_pages import all_sent
from tests.browser import ROOT

CODE = re.compile(r"`[^`]*`")
WORDS = re.compile(r"[A-Za-z][A-Za-z'’-]+(?:[ ,;:]+[A-Za-z][A-Za-z'’-]+)+")
# words of English sentences that also occur alone between numbers
LONE = re.compile(r"(?<![A-Za-z-])(?:after|at|for|from|in|of|on|or|than|the|to|with)(?![A-Za-z-])")
# names that contain a space: ours, of data sets, of attention types, of authors; and the source's example of a token
NAMES = {"Attention Lab", "Daily Mail", "GAU softmax", "dense Synthesizer", "ack Obama", "Leviathan, Kalman and Matias",
         "Su Jianlin", *(f"{name} et al" for name in ("Hassid", "Li", "Qiu", "Tay", "Voita"))}


def strings(value: Any) -> Iterator[str]:
    """Yields the strings in a JSON value, but not its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def displayed_texts(app: AppTest) -> Iterator[str]:
    """Yields all texts of the page."""
    for kind in ("markdown", "caption", "subheader"):
        yield from (element.value for element in app.get(kind))
    yield from (element.label for element in app.expander)
    for table in app.table:
        yield from table.value.columns
        yield from (str(cell) for row in table.value.to_numpy() for cell in row)
    for header, _arrays in all_sent(app, "figure"):
        yield from (header["title"], header["alt"], *header.get("about", ()))
        yield from strings(header["spec"])


@pytest.mark.parametrize("key", KEYS)
def test_no_english_sentence_is_left(key: str):
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    app.query_params.update({"lang": "zh", "page": "results", "claim": key})
    app.run()
    assert not app.exception
    assert app.button_group(key=session.CLAIM).value == key
    found = [text.replace("\\", "") for text in displayed_texts(app)]
    assert len(found) > 50
    english = {run for text in found for run in WORDS.findall(CODE.sub("", text))}
    assert english <= NAMES
    assert not {text for text in found if LONE.search(CODE.sub("", text))}
    # single words are not sentences, but a text that the catalogue translates is not displayed_texts in English either
    translations = {message.id: message.string for message in texts.catalogue("zh") if isinstance(message.id, str)}
    # Vega-Lite names the fields of the data
    fields = {field for header, _arrays in all_sent(app, "figure") for rows in header["spec"]["datasets"].values()
              for row in rows for field in row}
    assert not {text for text in found if re.search("[A-Za-z]", text) and translations.get(text, text) != text} - fields
