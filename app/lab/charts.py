"""Interactive charts of the present state as HTML files that work offline: a head's pattern, and the mask F in 3-D."""

import tempfile
from pathlib import Path
from typing import Any

import figures
from app import exports
from app.lab.view import View
from app.texts import N_, _, spelt
from models.trace import Trace


def of_head(view: View, link: str) -> tuple[str, bytes]:
    """Returns name and content of a file with the selected head's pattern, with zoom and values at the pointer."""
    kind, layer, head = view.head
    queries, keys = (spelt(view.after.rows[row]) for row in (view.kind.query_row, view.kind.key_row))
    chart = figures.attention_pattern(view.layer().weights[head], queries, keys, _("key token"), _("query token"),
                                      _("attention weight"))
    title = _("{model}, layer {layer}, head {head}", model=view.lab.name, layer=layer + 1, head=head + 1)
    return _file(view, chart, title, f"{kind}-{layer + 1}-{head + 1}", link)


def of_mask(view: View, link: str) -> tuple[str, bytes]:
    """Returns the name and the content of a file with the mask F of the selected layer as a surface."""
    mask = view.after.mask if isinstance(view.after, Trace) else None
    if mask is None or not view.kind.attention.selects:
        raise ValueError(N_("This text has no mask F."))
    layer = view.state.selection.layer
    chart = figures.mask_surface(mask[layer], spelt(view.after.rows[view.kind.key_row]), _("token"), _("query step"),
                                 _("accumulated F, in units of the scores"))
    title = _("{model}, layer {layer}: mask F", model=view.lab.name, layer=layer + 1)
    return _file(view, chart, title, f"mask-{layer + 1}", link)


def _file(view: View, chart: Any, title: str, what: str, link: str) -> tuple[str, bytes]:
    name = exports.file_name(view.lab.name, what, "html")
    with tempfile.TemporaryDirectory() as folder:
        path = figures.save(chart, Path(folder) / name, title, [view.reading.shown[:200], f"{view.plan}"], link)
        return name, path.read_bytes()
