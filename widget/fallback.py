"""Converts heads and predictions to static HTML, for a saved notebook without a running kernel.

Code hosts remove styles and scripts, so the maps are images in a table, and all states are also given in words.
"""

import base64
import html as markup
import struct
import zlib

import numpy
from numpy import ndarray

from app.content import effect
from app.state.selection import Selection
from app.texts import spelt
from components.colours import COLOURS
from models import HeadPlan, Kind, Lab, Trace

SIDE = 44  # side of a tile in px
LARGE = 220  # side of the selected head's map in px
MOST_ROWS = 5  # number of tokens in the table of the prediction
NOTICE = "A picture of the widget, which needs a kernel: run the notebook to change heads."
escape = markup.escape


def html(lab: Lab, plan: HeadPlan, before: Trace, after: Trace, selection: Selection) -> str:
    """Returns HTML that shows the effect of a plan on a text, with the whole pattern of the selected head."""
    tokens = " ".join(f"<code>{escape(token)}</code>" for token in spelt(after.tokens))
    blocks = "".join(_block(lab, kind, plan, after) for kind in lab.kinds)
    return (f"<div><p>{NOTICE}</p><p><b>{escape(lab.name)}</b>, plan: {escape(str(plan)) or 'none'}</p>"
            f"<p>{tokens}</p>{blocks}{_large(lab.kind(selection.kind), selection, after)}"
            f"{_prediction(lab, before, after)}</div>")


def _block(lab: Lab, kind: Kind, plan: HeadPlan, after: Trace) -> str:
    tiles = effect.tiles_of(after, kind)
    rows = "".join(
        f"<tr><th>{layer + 1}</th>" + "".join(
            f"<td>{_tile(lab, kind, plan, tiles[layer, head], layer, head)}</td>" for head in range(kind.heads))
        + "</tr>" for layer in range(kind.layers))
    title = f"<caption>{escape(kind.title)}: layers down, heads across</caption>"
    header = "".join(f"<th>{head + 1}</th>" for head in range(kind.heads))
    return f"<table>{title}<tr><th></th>{header}</tr>{rows}</table>"


def _tile(lab: Lab, kind: Kind, plan: HeadPlan, tile: ndarray, layer: int, head: int) -> str:
    state = effect.state_of(lab, plan, (kind.name, layer, head))
    words = ["constant"] * state.constant + (["pruned"] if state.gate == 0 else [f"gate {state.gate:g}"] *
                                             (state.gate < 1))
    alt = ", ".join([f"layer {layer + 1}, head {head + 1}", *words])
    return _image(tile, SIDE, alt) + (f"<br><small>{', '.join(words)}</small>" if words else "")


def _large(kind: Kind, selection: Selection, after: Trace) -> str:
    pattern = after.weights[kind.name][selection.layer, selection.head]
    steps = 255 * numpy.sqrt(numpy.clip(pattern / (1 if kind.attention.is_distribution else pattern.max()), 0, 1))
    name = f"layer {selection.layer + 1}, head {selection.head + 1}"
    return (f"<p>{name}: rows are queries, columns are keys; darker means more attention.<br>"
            f"{_image(steps.round().astype(numpy.uint8), LARGE, f'attention pattern of {name}')}</p>")


def _prediction(lab: Lab, before: Trace, after: Trace) -> str:
    if not before.outputs:
        return ""
    last = effect.prediction(lab, before, after, -1)
    rows = "".join(f"<tr><td><code>{escape(str(row['label']))}</code></td><td>{row['before']:.1%}</td>"
                   f"<td>{row['after']:.1%}</td></tr>" for row in last["rows"][:MOST_ROWS])
    return (f"<table><caption>{escape(str(last['title']))}: KL divergence {last['kl']:.3f} nats</caption>"
            f"<tr><th>token</th><th>baseline</th><th>under the plan</th></tr>{rows}</table>")


def _image(steps: ndarray, side: int, alt: str) -> str:
    data = base64.b64encode(png(steps)).decode()
    return (f'<img width="{side}" height="{side}" style="image-rendering: pixelated; border: 1px solid #d9d9e3" '
            f'alt="{escape(alt, quote=True)}" src="data:image/png;base64,{data}">')


def png(steps: ndarray) -> bytes:
    """Returns a PNG file (ISO/IEC 15948) of (rows, columns) uint8 indices in the light scale of attention."""
    rows, columns = steps.shape
    pixels = numpy.hstack([numpy.zeros((rows, 1), numpy.uint8), steps]).tobytes()  # the PNG filter 0 before each row
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)), (b"PLTE", _palette().tobytes()),
              (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks)


def _palette() -> ndarray:
    """Returns (256, 3) uint8: the colour scale that colourTable in components/core/attention/scales.js computes."""
    stops = numpy.array([[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for colour in COLOURS["light"]["attention"]])
    at = numpy.linspace(0, len(stops) - 1, 256)
    return numpy.column_stack([numpy.interp(at, range(len(stops)), stops[:, channel]) for channel in range(3)]
                              ).round().astype(numpy.uint8)
