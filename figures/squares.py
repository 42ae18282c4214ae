"""Charts of squares: a value of each head, of each pair of heads, of each token and head, and groups of heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from figures.tables import Column, Narrow, Parts, charted, format_value, sentence
from figures.theme import Theme, colour
from models.messages import message

SIDE = 24  # side of a square in px
_GROUPS: tuple[int | str, ...] = (0, 1, "faint", 3)  # colours of groups, in the order of the groups


@dataclass(frozen=True)
class Field:
    """One picture of squares.

    Attributes:
        title: title of the picture.
        values: (R, C) values; empty if there are no values.
        note: the reason why there are no values.
    """

    title: str
    values: Sequence[Sequence[float]] = ()
    note: str = ""


@charted
def head_squares(fields: Sequence[Field], unit: str, title: str, most: float | None = None,
                 theme: Theme = "light") -> Parts:
    """Returns a value of each head as a coloured square, layers down and heads across, one picture per model.

    Args:
        fields: (L, H) values of each model.
        unit: unit of the values.
        title: title of the chart.
        most: value with the strongest colour; default: the largest value.
        theme: see figures.theme.
    """
    largest = max((value for field in fields for row in field.values for value in row), default=1.0)
    return _squares(fields, unit, title, most or largest, message("layer"), message("head"), theme)


@charted
def pair_squares(fields: Sequence[Field], unit: str, title: str, theme: Theme = "light") -> Parts:
    """Returns a value from 0 to 1 of each pair of heads as a coloured square, one picture per layer.

    Args:
        fields: (H, H) values of each layer; values below 0 have the colour of 0.
        unit: unit of the values.
        title: title of the chart.
        theme: see figures.theme.
    """
    return _squares(fields, unit, title, 1.0, message("head"), message("second head"), theme)


@charted
def correlations(names: Sequence[str], values: Sequence[Sequence[float]], title: str,
                 theme: Theme = "light") -> Parts:
    """Returns rank correlations as coloured squares with numbers, from -1 (blue) to 1 (orange).

    Args:
        names: names of the M measures.
        values: (M, M) rank correlations; NaN if a correlation is not defined.
        title: title of the chart.
        theme: see figures.theme.
    """
    rows = [{"down": one, "across": other, "value": None if value != value else value,
             "shown": "–" if value != value else f"{value:.2f}".replace("-", "−")}
            for one, row in zip(names, values, strict=True) for other, value in zip(names, row, strict=True)]
    order = list(names)

    def build(angle: int = -30) -> Any:
        import altair as alt

        base = alt.Chart(alt.NamedData(name="rows0")).encode(
            x=alt.X("across:N", sort=order, title=None, axis=alt.Axis(
                orient="top", labelAngle=angle, labelLimit=220, labelOverlap=False)),
            y=alt.Y("down:N", sort=order, title=None, axis=_names()))
        squares = base.mark_rect().encode(
            color=alt.Color("value:Q", legend=None, scale=alt.Scale(domain=[-1, 1], domainMid=0, range="diverging")),
            tooltip=[alt.Tooltip("down:N", title=message("measure")),
                     alt.Tooltip("across:N", title=message("second measure")),
                     alt.Tooltip("shown:N", title=message("rank correlation"))])
        strong = "isValid(datum.value) && abs(datum.value) > 0.7"
        text = base.mark_text(fontSize=12).encode(
            text="shown:N", color=alt.condition(strong, alt.value(colour("ground", theme)),
                                                alt.value(colour("ink", theme))))
        return alt.layer(squares, text).properties(width=64 * len(order), height=30 * len(order))

    parts = [message("{name}, {other}: {value}", name=row["down"], other=row["across"], value=row["shown"])
             for row in rows if order.index(str(row["down"])) < order.index(str(row["across"]))]
    columns = [Column("down", message("measure")), Column("across", message("second measure")),
               Column("value", message("rank correlation"))]
    return Parts(("correlations", tuple(order), theme), build, {"rows0": rows}, columns, title,
                 sentence(title, "", parts), theme, {"natural": True, "beside": 190},
                 Narrow(480, partial(build, -90)))  # on a phone there is no room for the end of a tilted label


@charted
def gate_squares(gates: Sequence[Sequence[Sequence[float]]], tokens: Sequence[str], selected: int,
                 theme: Theme = "light") -> Parts:
    """Returns gates as coloured squares, tokens down and heads across, one picture per layer. An open gate has the
    strongest colour.

    Args:
        gates: (L, H, N), 0 to 1.
        tokens: the N tokens.
        selected: index of the layer whose title is marked, from 0.
        theme: see figures.theme.
    """
    names = [f"{number} {token}" for number, token in enumerate(tokens, 1)]
    title = message("Gates of every token and head")
    fields = [Field(message("layer {layer} (selected)", layer=number + 1) if number == selected
                    else message("layer {layer}", layer=number + 1), list(map(list, zip(*layer, strict=True))))
              for number, layer in enumerate(gates)]
    return _squares(fields, message("gate"), title, 1.0, message("token"), message("head"), theme, names, side=18)


@charted
def group_squares(rows: Sequence[Mapping[str, Any]], order: Sequence[str], by_kind: bool,
                  theme: Theme = "light") -> Parts:
    """Returns each head as a square with the colour and the first letters of its group.

    Args:
        rows: rows with kind (attention block), layer and head (from 1), group, and the gates kept and removed (0 to 1),
            fitted with a penalty on closed gates and with a penalty on open gates.
        order: order of the groups.
        by_kind: True for one picture per attention block.
        theme: see figures.theme.
    """
    title = message("Every head and its group")
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    datasets = {f"rows{number}": [{**row, "letters": row["group"][:2]} for row in rows if row["kind"] == kind]
                for number, kind in enumerate(kinds)}
    shapes = tuple((kind if by_kind else "", max(row["layer"] for row in own), max(row["head"] for row in own))
                   for kind, own in zip(kinds, datasets.values(), strict=True))

    def build() -> Any:
        import altair as alt

        scale = alt.Scale(domain=list(order), range=[colour(group, theme) for group, _ in zip(_GROUPS, order,
                                                                                         strict=True)])
        plots = []
        for number, (kind, layers, heads) in enumerate(shapes):
            base = alt.Chart(alt.NamedData(name=f"rows{number}")).encode(
                x=_axis("x", "head", message("head")), y=_axis("y", "layer", message("layer")))
            squares = base.mark_rect(stroke=colour("line", theme)).encode(
                color=alt.Color("group:N", scale=scale, legend=alt.Legend(title=None, symbolType="square")),
                tooltip=[alt.Tooltip("layer:O", title=message("layer")), alt.Tooltip("head:O", title=message("head")),
                         alt.Tooltip("group:N", title=message("group")),
                         alt.Tooltip("kept:Q", title=message("gate, closed gates penalised")),
                         alt.Tooltip("removed:Q", title=message("gate, open gates penalised"))])
            text = base.mark_text(fontSize=12).encode(text="letters:N", color=alt.value(colour("ground", theme)))
            plots.append(alt.layer(squares, text).properties(
                width=32 * heads, height=SIDE * layers,
                **({"title": alt.Title(kind, fontSize=13)} if kind else {})))
        return alt.concat(*plots, columns=4)

    parts = [message("layer {layer}, head {head}: {group}", **row) for row in rows]
    columns = [Column("kind", message("attention block")), Column("layer", message("layer")),
               Column("head", message("head")), Column("group", message("group")),
               Column("kept", message("gate, closed gates penalised")), Column("removed",
                                                                               message("gate, open gates penalised"))]
    widest = 32 * max(heads for _kind, _layers, heads in shapes)
    return Parts(("groups", shapes, tuple(order), theme), build, datasets, columns, title, sentence(title, "", parts),
                 theme, _natural(widest))


def _squares(fields: Sequence[Field], unit: str, title: str, most: float, down: str, across: str, theme: Theme,
             names: Sequence[str] = (), side: int = SIDE) -> Parts:
    """Returns rectangles coloured by value. If given, `names` replace the row numbers."""
    datasets: dict[str, list[dict[str, Any]]] = {}
    parts = []
    for number, field in enumerate(fields):
        rows = [{"panel": field.title, "down": names[r] if names else r + 1, "across": c + 1, "value": float(value),
                 "shown": format_value(value)} for r, line in enumerate(field.values) for c, value in enumerate(line)]
        datasets[f"rows{number}"] = rows
        if not rows:
            parts.append(message("{title}: {note}", title=field.title, note=field.note))
            continue
        values = [float(value) for line in field.values for value in line]
        parts.append(message("{title}: {least} to {most} {unit}", title=field.title, least=format_value(min(values)),
                             most=format_value(max(values)), unit=unit))
    columns = [Column("panel", message("panel")), Column("down", down), Column("across", across),
               Column("value", unit or message("value"))]
    shapes = tuple((field.title, field.note, len(field.values), len(field.values[0]) if len(field.values) else 0)
                   for field in fields)
    key = (shapes, unit, title, most, down, across, tuple(names), side, theme)

    def build() -> Any:
        import altair as alt

        return alt.concat(*(_rectangles(number, *shape, unit, title, most, down, across, names, side, theme)
                            for number, shape in enumerate(shapes)), columns=4)

    return Parts(key, build, datasets, columns, title, sentence(title, "", parts), theme,
                 _natural(max([side * width for *_rest, width in shapes] + [8 * side]), 0.6))


def _rectangles(number: int, heading: str, note: str, rows: int, width: int, unit: str, title: str, most: float,
                down: str, across: str, names: Sequence[str], side: int, theme: Theme) -> Any:
    import altair as alt

    top = alt.Title(heading, fontSize=13)
    if not rows:
        text = alt.Chart(alt.InlineData(values=[{"label": note}])).mark_text(
            style="reference-label", align="left", limit=8 * side)
        return text.encode(x=alt.value(0), y=alt.value(12), text="label:N", tooltip="label:N").properties(
            width=8 * side, height=2 * side, title=top)
    return alt.Chart(alt.NamedData(name=f"rows{number}")).mark_rect(
        stroke=colour("line", theme), strokeWidth=0.5).encode(
        x=_axis("x", "across", across), y=_axis("y", "down", down, list(names)),
        color=alt.Color("value:Q", scale=alt.Scale(domain=[0, most], clamp=True, range="heatmap"),
                        legend=alt.Legend(title=unit or None, orient="bottom", gradientLength=160, offset=8)),
        tooltip=[alt.Tooltip("down:O", title=down), alt.Tooltip("across:O", title=across),
                 alt.Tooltip("shown:N", title=unit or title)]).properties(
        width=side * width, height=side * rows, title=top)


def _natural(widest: int, least: float = 1.0) -> dict[str, Any]:
    """Returns the layout values for the app: squares keep their size if there is enough room."""
    return {"columns": 12, "least": int(least * widest) + 40, "beside": 56, "natural": True}


def _axis(channel: str, field: str, title: str, names: Sequence[str] = ()) -> Any:
    import altair as alt

    axis = _names() if names else alt.Axis(domain=False, ticks=False, grid=False, labelAngle=0)
    axis_class = alt.X if channel == "x" else alt.Y
    return axis_class(field, type="ordinal", title=title, axis=axis, sort=list(names) or None)


def _names() -> Any:
    import altair as alt

    return alt.Axis(domain=False, ticks=False, grid=False, labelLimit=180)
