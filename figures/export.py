"""Saves charts as SVG, PNG, HTML, CSV or JSON files, with title, caption and link; needs no browser."""

import html
import json
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from models import csv_table

FOLDER = Path(__file__).resolve().parents[1] / "app" / "static"  # the folder that Streamlit serves
LINE = 17  # height in px of a line of the caption
CHARACTERS = 110  # largest number of characters of a line of the caption
CAPTION = {"type": "text", "align": "left", "baseline": "top", "style": "reference-label"}
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><div id="chart"></div><script>{script}</script>
<script>attentionLabVega.vegaEmbed('#chart', {spec},
{{ actions: false, ast: true, renderer: 'svg' }});</script></body></html>
"""


def save(chart: Any, path: str | Path, title: str = "", caption: Sequence[str] = (), link: str = "") -> Path:
    """Writes a chart to a file. The ending of the path selects the format.

    Args:
        chart: an altair chart or a plotly figure of this package.
        path: path of the file; ends in .svg, .png (twice the size), .html (works offline), .csv (the numbers) or .json.
        title: title above the chart; default: the chart's own title.
        caption: sentences below the chart.
        link: link below the caption.

    Returns:
        The path.

    Raises:
        ValueError: the ending is not supported. A plotly figure cannot be saved as .svg or .png; its HTML file offers a
            PNG download.
    """
    path = Path(path)
    if hasattr(chart, "to_plotly_json"):
        _save_plotly(chart, path, title, caption, link)
        return path
    if path.suffix == ".csv":
        path.write_text(to_csv(chart), "utf-8", newline="")
        return path
    spec = framed(chart.to_dict(), title, caption, link)
    if path.suffix == ".json":
        path.write_text(json.dumps(spec, ensure_ascii=False), "utf-8")
    elif path.suffix == ".html":
        script = vega_script().read_text("utf-8").replace("</script", "<\\/script")
        path.write_text(PAGE.format(spec=json.dumps(spec).replace("<", "\\u003c"), script=script), "utf-8")
    elif path.suffix in (".svg", ".png"):
        import vl_convert

        if path.suffix == ".svg":
            path.write_text(vl_convert.vegalite_to_svg(spec), "utf-8")
        else:
            path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    else:
        raise ValueError(f"{path.name}: expected .svg, .png, .html, .csv or .json")
    return path


def framed(spec: dict[str, Any], title: str = "", caption: Sequence[str] = (), link: str = "") -> dict[str, Any]:
    """Returns a Vega-Lite specification with a title above the chart, and a caption and a link below."""
    lines = [{"text": line} for sentence in caption for line in textwrap.wrap(sentence, CHARACTERS)]
    lines += [{"text": line, "link": link} for line in textwrap.wrap(link, CHARACTERS)]
    top = ("$schema", "config", "datasets", "usermeta", "description", "params")
    chart = {key: value for key, value in spec.items() if key not in top}
    frame: dict[str, Any] = {key: spec[key] for key in top if key in spec}
    frame |= {"padding": 20, "spacing": 16, "vconcat": [chart]}
    if title or spec.get("usermeta", {}).get("title"):
        frame["title"] = {"text": title or spec["usermeta"]["title"], "fontSize": 16, "offset": 14}
    if lines:
        encoding: dict[str, Any] = {"x": {"value": 0}, "text": {"field": "text", "type": "nominal"},
                    "y": {"field": "place", "type": "quantitative", "scale": None, "axis": None}}
        # only the line with the link gets this channel, because other lines would link to "undefined"
        linked = {"href": {"field": "link", "type": "nominal"}}
        frame["vconcat"].append({
            "data": {"values": [{**line, "place": LINE * number} for number, line in enumerate(lines)]},
            "height": LINE * len(lines), "view": {"stroke": None}, "encoding": encoding,
            "layer": [{"mark": CAPTION, "transform": [{"filter": "!datum.link"}]},
                      {"mark": CAPTION, "transform": [{"filter": "isValid(datum.link)"}], "encoding": linked}]})
    return frame


def to_csv(chart: Any) -> str:
    """Returns the numbers of an altair chart as CSV (RFC 4180): the columns of its table, one row per value."""
    spec = chart.to_dict(validate=False)
    columns = spec["usermeta"]["table"]
    rows = [row for name, rows in spec["datasets"].items() if name.startswith("rows") for row in rows]
    return csv_table.to_csv([[title for _field, title in columns],
                             *([row.get(field, "") for field, _title in columns] for row in rows)])


def _save_plotly(figure: Any, path: Path, title: str, caption: Sequence[str], link: str) -> None:
    if path.suffix not in (".html", ".json"):
        raise ValueError(f"{path.name}: plotly figures are saved as .html or .json; the HTML file saves them as PNG")
    framed_figure = type(figure)(figure)
    if title:
        framed_figure.update_layout(title=title)
    if path.suffix == ".json":
        path.write_text(framed_figure.to_json(), "utf-8")
        return
    below = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in caption)
    below += f'<p><a href="{html.escape(link)}">{html.escape(link)}</a></p>' if link else ""
    page = framed_figure.to_html(include_plotlyjs=True, full_html=True)
    path.write_text(page.replace("</body>", f"{below}</body>"), "utf-8")


def script_path(version: str) -> Path:
    """Returns the path of the script that tools/vega.py writes for a version of Vega."""
    return FOLDER / f"vega-{version}.js"


@cache
def vega_script() -> Path:
    """Returns the path of the script with which the browser draws charts."""
    scripts = sorted(FOLDER.glob("vega-*.js"))
    if not scripts:
        raise FileNotFoundError("app/static has no vega-*.js: run python -m tools.vega")
    return scripts[-1]
