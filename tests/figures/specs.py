"""Reads Vega-Lite specifications: datasets, scales and axes, for the tests of charts."""

from collections.abc import Iterator
from typing import Any

Spec = dict[str, Any]


def parts(spec: Spec) -> Iterator[Spec]:
    """Yields a specification and every view that it contains."""
    yield spec
    for inner in (*spec.get("layer", ()), *spec.get("concat", ()), *spec.get("vconcat", ())):
        yield from parts(inner)


def rows(spec: Spec, panel: int = 0, **fixed: Any) -> list[dict[str, Any]]:
    """Returns the rows of a panel whose fields have these values."""
    return [row for row in spec["datasets"][f"rows{panel}"] if all(row.get(key) == its for key, its in fixed.items())]


def table(spec: Spec, panel: int = 0) -> dict[str, list[tuple[float, float]]]:
    """Returns series -> (x, y) pairs of the line in a panel."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows(spec, panel, form="line"):
        lines.setdefault(row["series"], []).append((row["x"], row["y"]))
    return lines


def panels(spec: Spec) -> list[Spec]:
    """Returns the view of each panel."""
    return spec.get("concat", [spec])


def scale(spec: Spec, channel: str) -> dict[str, Any]:
    """Returns domain -> range of the first scale for a channel that has both."""
    for part in parts(spec):
        its = part.get("encoding", {}).get(channel, {}).get("scale") or {}
        if "domain" in its and "range" in its:
            return {name: tuple(value) if isinstance(value, list) else value
                    for name, value in zip(its["domain"], its["range"], strict=True)}
    return {}


def looks(spec: Spec) -> dict[str, tuple[Any, Any]]:
    """Returns series -> (colour, dashes or shape)."""
    forms = scale(spec, "strokeDash") or scale(spec, "shape")
    return {name: (colour, forms[name]) for name, colour in scale(spec, "color").items()}


def titles(spec: Spec, channel: str) -> list[str]:
    """Returns the title of an axis in every panel."""
    found = []
    for panel in panels(spec):
        its = [part["encoding"][channel]["title"] for part in parts(panel)
               if part.get("encoding", {}).get(channel, {}).get("title")]
        found.append(its[0] if its else "")
    return found


def labels(spec: Spec, panel: int = 0) -> list[str]:
    """Returns the labels of a panel's reference lines."""
    found = [row["label"] for part in parts(panels(spec)[panel]) for row in _values(spec, part) if "label" in row]
    return list(dict.fromkeys(found))


def _values(spec: Spec, part: Spec) -> list[dict[str, Any]]:
    data = part.get("data", {})
    return data["values"] if "values" in data else spec["datasets"].get(data.get("name"), [])
