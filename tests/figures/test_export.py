"""Tests of chart files, and of the Vega script that the browser loads."""

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
import vl_convert

import figures
from figures import export
from figures.curves import line_chart
from figures.lines import Layout, Panel, Point, Series
from tools import vega

HOSTILE = "</script><img src=x onerror=alert(1)>"


def chart():
    return line_chart([Series(HOSTILE), Series("b", 1, 1)],
                      [Panel("loss, nats", [Point(0, 1, 0.5, 0.25), Point(0, 2, 0.25), Point(1, 2, 1.0)])],
                      Layout("tokens"), "Loss by length")


def test_csv_has_every_value(tmp_path: Path):
    path = figures.save(chart(), tmp_path / "a.csv")
    head, *rows = csv.reader(io.StringIO(path.read_text("utf-8")))
    assert head == ["series", "tokens", "loss, nats", "±", "note"]
    assert rows == [[HOSTILE, "1", "0.5", "0.25", ""], [HOSTILE, "2", "0.25", "", ""], ["b", "2", "1.0", "", ""]]


def test_svg_has_title_caption_and_a_link(tmp_path: Path):
    path = figures.save(chart(), tmp_path / "a.svg", caption=["Measured on 3 texts."], link="https://example.org/?a=1")
    root = ElementTree.parse(path).getroot()
    shown = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Loss by length", "Measured on 3 texts.", "https://example.org/?a=1", "tokens", "loss, nats"} <= set(shown)
    links = [its.get("{http://www.w3.org/1999/xlink}href") for its in root.iter("{http://www.w3.org/2000/svg}a")]
    assert links == ["https://example.org/?a=1"]


def test_png_has_twice_the_size(tmp_path: Path):
    svg = ElementTree.parse(figures.save(chart(), tmp_path / "a.svg")).getroot()
    png = figures.save(chart(), tmp_path / "a.png").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20], "big") == pytest.approx(2 * float(svg.get("width") or 0), abs=2)


def test_html_is_one_file_without_requests_and_texts_end_no_script(tmp_path: Path):
    page = figures.save(chart(), tmp_path / "a.html").read_text("utf-8")
    assert "default-src 'none'" in page and HOSTILE not in page
    assert page.count("<script") == page.count("</script>") == 2 and "<script src" not in page


def test_another_ending_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"a\.gif: expected \.svg"):
        figures.save(chart(), tmp_path / "a.gif")


def test_the_script_is_that_of_the_pinned_version():
    assert export.vega_script() == export.script_path(vl_convert.get_vega_version())
    assert export.vega_script().read_text("utf-8") == vega.script(), "run python -m tools.vega"
