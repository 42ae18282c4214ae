"""Charts below the fold, in Altair: they can be saved as PNG and SVG from their own menu."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair
import numpy
import pandas
from numpy import ndarray

from app.texts import N_, _
from components.colours import COLOURS

TRAINED, PLANNED = N_("as trained"), N_("under the plan")
UNIFORM = "ln n"


def entropy_table(before: ndarray, after: ndarray, changed: bool, causal: bool) -> pandas.DataFrame:
    """Columns n, nats, head (from 1), which.

    Args:
        before, after: (H, N) nats, as trained and under the plan.
        changed: False leaves out `after`, which then equals `before`.
        causal: query i sees n = i + 1 keys; else n is the query's number, and each sees N.
    """
    heads, n = before.shape
    keys = numpy.arange(1, n + 1) if causal else numpy.full(n, n)
    series = {UNIFORM: numpy.log(keys)[None].repeat(heads, 0), _(TRAINED): before} \
        | ({_(PLANNED): after} if changed else {})
    return pandas.concat([pandas.DataFrame({"n": numpy.arange(1, n + 1), "nats": values[head].round(4),
                                            "head": head + 1, "which": name})
                          for name, values in series.items() for head in range(heads)])


def entropy_chart(table: pandas.DataFrame, selected: int) -> altair.FacetChart:
    """The entropy of each head of a layer, one small chart a head.

    Args:
        table: entropy_table's.
        selected: head whose title is marked, counted from 0.
    """
    names = list(dict.fromkeys(table["which"]))
    marked = {head: _("head {head} (selected)", head=head) if head == selected + 1 else _("head {head}", head=head)
              for head in sorted(set(table["head"]))}
    lines = altair.Chart(table.assign(head=table["head"].map(marked))).mark_line(strokeWidth=2).encode(
        x=altair.X("n:Q", title="n", scale=altair.Scale(nice=False), axis=altair.Axis(tickCount=4)),
        y=altair.Y("nats:Q", title=_("entropy, nats"), axis=altair.Axis(tickCount=4)),
        color=altair.Color("which:N", sort=names, title=None, legend=altair.Legend(orient="top"), scale=altair.Scale(
            domain=names, range=["#b5b5c3", "#8a8aa0", COLOURS["light"]["diverging"][-4]][:len(names)])),
        strokeDash=altair.StrokeDash("which:N", sort=names, legend=None, scale=altair.Scale(
            domain=names, range=[[2, 3], [1, 0], [1, 0]][:len(names)])),
        tooltip=[altair.Tooltip("head", title=_("head")), altair.Tooltip("which", title=_("weights")), "n",
                 altair.Tooltip("nats", title=_("nats"), format=".3f")])
    return lines.properties(width=270, height=110).facet(
        facet=altair.Facet("head:N", sort=list(marked.values()), title=None), columns=4)


# Okabe and Ito's colours without yellow: told apart by colour-blind eyes, on white and on black.
SERIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [2, 5]]


def row_entropy_table(entropies: Mapping[str, Sequence[float]], causal: bool) -> pandas.DataFrame:
    """Columns query (from 1), nats, model; and ln n, the most there can be.

    Args:
        entropies: name of a model -> (N,) nats, one a query.
        causal: query i sees i + 1 keys; else all N.
    """
    n = max(map(len, entropies.values()))
    most = [math.log(i + 1 if causal else n) for i in range(n)]
    return pandas.DataFrame([{"query": i + 1, "nats": round(value, 4), "model": name}
                             for name, values in {**entropies, UNIFORM: most}.items()
                             for i, value in enumerate(values)])


def row_entropy_chart(table: pandas.DataFrame) -> altair.Chart:
    """The entropy of one head's rows, a line a model, told apart by colour and by dashes; row_entropy_table's."""
    order = list(dict.fromkeys(table["model"]))
    return altair.Chart(table).mark_line(strokeWidth=2.5).encode(
        x=altair.X("query:Q", title=_("query"), scale=altair.Scale(nice=False), axis=altair.Axis(tickMinStep=1)),
        y=altair.Y("nats:Q", title=_("entropy, nats")),
        color=altair.Color("model:N", sort=order, title=None, legend=altair.Legend(orient="top", labelLimit=400),
                           scale=altair.Scale(domain=order, range=SERIES[:len(order) - 1] + ["#9a9aae"])),
        strokeDash=altair.StrokeDash("model:N", sort=order, legend=None,
                                     scale=altair.Scale(domain=order, range=DASHES[:len(order) - 1] + [[2, 3]])),
        tooltip=[altair.Tooltip("model", title=_("model")), altair.Tooltip("query", title=_("query")),
                 altair.Tooltip("nats", title=_("nats"), format=".4f")]).properties(height=260)


def length_chart(values: list[dict], title: str, length: int, trained: int) -> altair.LayerChart:
    """A measured quantity against the number of tokens: a colour and a form a model, dashes for each reading.

    The last layer, of rings, has no data yet: rows of n, value, model and reading.

    Args:
        values: with n, value, model, reading, spread (one standard deviation, None where unknown).
        title: of the values.
        length, trained: tokens; a rule stands at each.
    """
    models, readings = _distinct(values, "model"), _distinct(values, "reading")
    x = altair.X("n:Q", title=_("tokens"), scale=altair.Scale(type="log", base=2, nice=False),
                 axis=altair.Axis(values=sorted(set(_distinct(values, "n")))))
    legend = altair.Legend(orient="top", columns=1, labelLimit=260)
    colour = altair.Color("model:N", title=None, legend=legend,
                          scale=altair.Scale(domain=models, range=cycle(SERIES, models)))
    form = altair.Shape("model:N", title=None, legend=legend,
                        scale=altair.Scale(domain=models, range=cycle(_SHAPES, models)))
    dashes = altair.StrokeDash("reading:N", title=None, scale=altair.Scale(
        domain=readings, range=cycle(DASHES, readings)),
        legend=altair.Legend(orient="top", columns=1, symbolType="stroke", symbolSize=500,
                             symbolStrokeColor="#8a8aa0") if len(readings) > 1 else None)
    y = altair.Y("value:Q", title=title, scale=altair.Scale(zero=False))
    base = altair.Chart(_inline(values)).encode(x=x)
    lines = base.mark_line(strokeWidth=2.5).encode(y=y, color=colour, strokeDash=dashes, detail="reading:N")
    dots = base.mark_point(size=50, filled=True, opacity=1).encode(
        y=y, color=colour, shape=form,
        tooltip=[*_told_of_points(), altair.Tooltip("spread:Q", title=_("spread"), format=".4f")])
    bars = base.transform_filter("isValid(datum.spread)").transform_calculate(
        low="datum.value - datum.spread", high="datum.value + datum.spread").mark_rule(strokeWidth=1.5).encode(
        y="low:Q", y2="high:Q", color=colour)
    rules = altair.Chart(_inline([{"n": trained, "kind": "trained"}, {"n": length, "kind": "chosen"}])).mark_rule(
        strokeWidth=1.5).encode(x="n:Q", color=altair.value("#9a9aae"), strokeDash=altair.condition(
            "datum.kind == 'chosen'", altair.value([4, 3]), altair.value([1, 0])))
    rings = altair.Chart(_inline([])).mark_point(size=150, strokeWidth=3, filled=False, shape="circle").encode(
        x="n:Q", y="value:Q", color=colour,
        tooltip=_told_of_points())
    rows = max(len(models), len(readings) if len(readings) > 1 else 0)
    return _layered(rules, bars, lines, dots, rings).properties(height=300 + 20 * rows)


def _told_of_points() -> list[altair.Tooltip]:
    """What pointing at a point of the length chart says."""
    return [altair.Tooltip("model:N", title=_("model")), altair.Tooltip("reading:N", title=_("reading")),
            altair.Tooltip("n:Q", title=_("tokens")), altair.Tooltip("value:Q", title=_("value"), format=".4f")]


def head_chart(values: list[dict], order: Sequence[str]) -> altair.FacetChart:
    """Each head as a square of one colour, layers down, a picture a model.

    Args:
        values: with which, layer, head (from 1), nats.
    """
    squares = altair.Chart(_inline(values)).mark_rect().encode(
        x=altair.X("head:O", title=_("head"), axis=altair.Axis(labelAngle=0)), y=altair.Y("layer:O", title=_("layer")),
        color=altair.Color("nats:Q", title=_("nats"), scale=altair.Scale(range=COLOURS["light"]["sequential"])),
        tooltip=[altair.Tooltip("which:N", title=_("model")), altair.Tooltip("layer:O", title=_("layer")),
                 altair.Tooltip("head:O", title=_("head")), altair.Tooltip("nats:Q", title=_("nats"), format=".3f")])
    # Models differ in layers and heads: each picture has axes of its own.
    return squares.properties(width=200, height=110).facet(
        facet=altair.Facet("which:N", sort=list(order), title=None), columns=4).resolve_scale(
        x="independent", y="independent")


_SHAPES = ["diamond", "circle", "triangle-up", "square", "cross"]


def dots_chart(points: list[dict], title: str, rule: tuple[float, str] | None = None,
               form: str = ".4~r") -> altair.LayerChart:
    """Values along a line, a row for each name; what they come from by colour and form.

    Args:
        points: with name, value, which.
        title: of the values.
        rule: a value that a rule marks, and what it means.
        form: of the values on their axis, as d3 has it.
    """
    names, whiches = _distinct(points, "name"), _distinct(points, "which")
    # Beside each other in a row, so that equal values of different origins can be seen.
    offset = altair.YOffset("which:N", sort=whiches) if len(whiches) > 1 else altair.Undefined
    dots = altair.Chart(_inline(points)).mark_point(size=80, filled=True, opacity=0.85).encode(
        x=altair.X("value:Q", title=None, scale=altair.Scale(zero=False, padding=12),
                   axis=altair.Axis(format=form, tickCount=6)),
        y=altair.Y("name:N", sort=names, title=None, axis=altair.Axis(labelLimit=170, grid=True)),
        yOffset=offset,
        color=altair.Color("which:N", title=None, scale=altair.Scale(domain=whiches, range=cycle(SERIES, whiches)),
                           legend=altair.Legend(orient="top", columns=1)),
        shape=altair.Shape("which:N", title=None, scale=altair.Scale(domain=whiches, range=cycle(_SHAPES, whiches))),
        tooltip=[altair.Tooltip("name:N", title=_("name")), altair.Tooltip("which:N", title=_("where")),
                 altair.Tooltip("value:Q", title=_("value"), format=".4~r")])
    layers = [dots, *([_rule(rule, "x")] if rule else [])]
    height = max(210, 120 + len(names) * (16 + 10 * len(whiches)))  # title, legend and axis are part of it
    return _layered(*layers).properties(height=height, title=_heading(title))


def lines_chart(points: list[dict], title: str, across: str, rule: tuple[float, str] | None = None,
                form: str = ".4~r") -> altair.LayerChart:
    """Means over seeds as lines, each seed as a ring; names differ in colour and dashes.

    Args:
        points: with name, x, value, seed.
        title, across: of the values and of x, whose values stand at equal distances.
        rule: a value that a rule marks, and what it means.
        form: of the values on their axis, as d3 has it.
    """
    names = _distinct(points, "name")
    base = altair.Chart(_inline(points)).encode(
        x=altair.X("x:O", title=across, sort=sorted(_distinct(points, "x")), axis=altair.Axis(labelAngle=0)),
        color=altair.Color("name:N", title=None, scale=altair.Scale(domain=names, range=cycle(SERIES, names)),
                           legend=altair.Legend(orient="top", columns=1, labelLimit=300, symbolType="stroke",
                                                symbolSize=400)))
    lines = base.mark_line(strokeWidth=2.5).encode(
        y=altair.Y("mean(value):Q", title=None, scale=altair.Scale(zero=False),
                   axis=altair.Axis(format=form, tickCount=5)),
        strokeDash=altair.StrokeDash("name:N", title=None,
                                     scale=altair.Scale(domain=names, range=cycle(DASHES, names))))
    rings = base.mark_point(size=40, filled=False, strokeWidth=1.8).encode(
        y="value:Q", tooltip=[altair.Tooltip("name:N", title=_("name")), altair.Tooltip("x:Q", title=across),
                              altair.Tooltip("value:Q", title=_("value"),
                                             format=".1%" if form.endswith("%") else ".4~r"),
                              altair.Tooltip("seed:N", title=_("seed"))])
    layers = [lines, rings, *([_rule(rule, "y")] if rule else [])]
    return _layered(*layers).properties(height=320 + 24 * len(names), title=_heading(title))


def to_spec(chart: altair.TopLevelMixin) -> dict:
    """A chart as Vega-Lite without Altair's own sizes: Streamlit's theme has others."""
    spec = chart.to_dict()
    spec.pop("config", None)
    return spec


def _heading(text: str) -> altair.TitleParams:
    """Above the picture, where a phone has room for it and a saved one keeps it."""
    return altair.TitleParams(text, anchor="start", frame="bounds", fontSize=13, fontWeight="normal")


def _layered(*layers: altair.Chart) -> altair.LayerChart:
    chart = altair.layer(*layers)
    assert isinstance(chart, altair.LayerChart)  # facets come of facets only
    return chart


def _rule(rule: tuple[float, str], axis: str) -> altair.Chart:
    """A thin line at a value, told in its tooltip."""
    at = {"x": altair.X("at:Q")} if axis == "x" else {"y": altair.Y("at:Q")}
    chart = altair.Chart(_inline([{"at": rule[0], "what": rule[1]}]))
    return chart.mark_rule(strokeDash=[3, 3], color="#8a8aa0", strokeWidth=1.5).encode(
        **at, tooltip=[altair.Tooltip("what:N", title=_("rule")), altair.Tooltip("at:Q", title=_("value"))])


def cycle(values: list, names: Sequence[str]) -> list:
    """As many of the values as there are names, from the first again where there are too few."""
    return [values[i % len(values)] for i in range(len(names))]


def _inline(points: list[dict]) -> altair.InlineData:
    """Data as part of the chart: unlike a data frame's, its form does not depend on Altair's global settings."""
    return altair.InlineData(values=[point | {"seed": str(point["seed"])} if "seed" in point else point
                                     for point in points])  # a seed is a number, or the word `source`


def _distinct(points: list[dict], key: str) -> list:
    """In the order of their first appearance."""
    return list(dict.fromkeys(point[key] for point in points))
