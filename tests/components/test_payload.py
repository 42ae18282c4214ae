"""Packing and unpacking does not change a payload. Thumbnails show the largest weights of each map."""

import json

import numpy
import pytest
import streamlit
from hypothesis import given
from hypothesis import strategies as st

from components import mounting
from components.library import source
from components.payload import DTYPES, lower_triangle, pack, unpack
from models.thumbnails import MAX_SIDE, thumbnails

JSON = st.recursive(st.none() | st.booleans() | st.integers(-2**31, 2**31) | st.text(max_size=20),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3))


@st.composite
def arrays(draw):
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    values = draw(st.lists(st.integers(0, 255), min_size=int(numpy.prod(shape)), max_size=int(numpy.prod(shape))))
    return numpy.array(values, dtype=draw(st.sampled_from(DTYPES))).reshape(shape)


@given(st.dictionaries(st.text(max_size=8).filter(lambda key: key != "arrays"), JSON, max_size=4),
       st.dictionaries(st.text(max_size=8), arrays(), max_size=4))
def test_what_is_packed_arrives(header, sent):
    received, got = unpack(pack(header, sent))
    assert received == json.loads(json.dumps(header).encode("utf-8", "replace").decode())
    assert got.keys() == sent.keys()
    for name, array in sent.items():
        assert got[name].dtype == array.dtype
        numpy.testing.assert_array_equal(got[name], array)


def test_numbers_that_a_browser_cannot_read_are_refused():
    with pytest.raises(ValueError, match="[Nn]a[Nn]|compliant"):
        pack({"loss": float("nan")})
    with pytest.raises(ValueError, match="int64"):
        pack({}, {"a": numpy.arange(3)})


def test_a_lone_surrogate_does_not_break_the_blob():
    assert unpack(pack({"text": "a\ud800b"}))[0]["text"] in ("a?b", "a\ud800b")


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 100, 128])
def test_thumbnails_show_the_largest_weight_of_each_block(n):
    maps = numpy.random.default_rng(n).random((2, 3, n, n), dtype=numpy.float32)
    small = thumbnails(maps)
    block = -(-n // MAX_SIDE)
    for i in range(small.shape[-2]):
        for j in range(small.shape[-1]):
            largest = maps[..., i * block:(i + 1) * block, j * block:(j + 1) * block].max((-1, -2))
            numpy.testing.assert_array_equal(small[..., i, j], (255 * numpy.sqrt(largest) + 0.5).astype(numpy.uint8))


def test_lower_triangle_row_after_row():
    maps = numpy.arange(9, dtype=numpy.float32).reshape(1, 3, 3)
    numpy.testing.assert_array_equal(lower_triangle(maps), [[0, 3, 4, 6, 7, 8]])


def test_styles_are_sent_only_with_the_library(monkeypatch: pytest.MonkeyPatch):
    """As part of a component, Streamlit would send them again with every run."""
    parts: dict[str, str] = {}
    monkeypatch.setattr(streamlit.components.v2, "component", lambda name, **its: parts.update(its))
    mounting._registered.__wrapped__("models")
    assert "css" not in parts and len("".join(parts.values())) < 600
    sheets = mounting.styles()
    assert sheets["models"].count(".goes-on") and all("/*" not in sheet for sheet in sheets.values())
    assert f"styles: {json.dumps(sheets)}" in source()


def test_the_library_holds_every_module_once_and_no_html():
    text = source()
    for path in mounting.FOLDER.rglob("*.js"):
        assert text.count(f"\n// {path.relative_to(mounting.FOLDER).as_posix()}\nconst ") == 1
    assert "innerHTML" not in text
