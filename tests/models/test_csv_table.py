"""Tables as CSV: spreadsheets read every field as a text or a number, and the fields can be read again."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.csv_table import safe, to_csv


@given(st.lists(st.lists(st.sampled_from("=+-@\t\r\n\",1a") | st.text(max_size=4), min_size=1, max_size=4)
                .map("".join), min_size=1, max_size=4))
def test_no_field_is_a_formula_and_each_can_be_read(row: list[str]):
    (read,) = csv.reader(io.StringIO(to_csv([row]), newline=""))
    for field, text in zip(read, row, strict=True):
        assert field in (text, f"'{text}")
        assert len(field) < 2 or field[0] not in "=+-@\t\r" or float(field) is not None


@pytest.mark.parametrize(("value", "field"), [
    ("=1+1", "'=1+1"), ("-x", "'-x"), ("@a", "'@a"), ("-", "-"), ("=", "="), ("-1.5e-3", "-1.5e-3"), ("+.5", "+.5"),
    (-1.5, -1.5), (float("nan"), ""), ("a=1", "a=1"), (None, None)])
def test_fields(value: object, field: object):
    """The same rule as components/core/csv.js."""
    assert safe(value) == field
