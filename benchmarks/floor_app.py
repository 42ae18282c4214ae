"""The floor (lower bound) of the browser benchmarks: a Streamlit fragment that sends the Lab after a one-byte change.

The fragment has the same component and payload size as the app, but no model, no cache and no other element. Its
response time is the time that Streamlit itself needs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy  # noqa: E402
import streamlit as st  # noqa: E402

from app.content.picture import SIDE  # noqa: E402
from app.server import serving  # noqa: E402
from components import channel  # noqa: E402
from components.library import library  # noqa: E402
from components.mounting import Part, mount  # noqa: E402
from components.payload import lower_triangle  # noqa: E402
from models.thumbnails import encoded, thumbnails  # noqa: E402

LAYERS, HEADS = 4, 8  # default shape; ?n=64&layers=6&heads=12&causal=0 makes the tiles of another model
# names of models of the app, so that the benchmark types the same letters
CHOICES = ("stories-selective", "stories-dense")


@st.fragment
def body(n: int, layers: int, many: int, causal: bool) -> None:
    channel.current().begin()  # else the browser waits for the answer to each event before it sends the next one
    full = numpy.full((layers, many, n, n), 0.5, numpy.float32)
    maps = st.session_state.setdefault("maps", numpy.tril(full) if causal else full)
    st.text_input("Text", key="text", live="200ms", on_change=flip)
    st.selectbox("Model", CHOICES, key="model", on_change=flip)
    tiles = thumbnails(maps, False, SIDE)
    head = {"kind": "self", "layer": 0, "head": 0, "scope": "head"}
    block = {"kind": "self", "title": "", "layers": layers, "heads": many, "causal": causal, "queries": "text",
             "keys": "text", "side": list(tiles.shape[2:]), "packed": causal, "exact": n <= SIDE, "most": 1.0,
             "constant": [[False] * many] * layers, "gates": [[1.0] * many] * layers}
    header = {"tokens": {"text": ["word"] * n}, "kinds": [block], "selection": head, "look": n - 1, "at": n - 1,
              "changed": False, "can_constant": True, "predicts": [n - 1], "scale": {"policy": "trained", "base": 64},
              "marks": {}, "model": {"name": "floor", "title": "floor", "kind": "next"}, "thing": "head", "text": None,
              "tools": [{"key": "head.looks", "thing": "head", "question": "", "term": ""}],
              "tool": {"key": "head.looks", "view": "used", "views": ["used"]}}
    mount(Part("lab", "lab", header, {
        "tiles.self": lower_triangle(tiles) if causal else tiles,
        **({} if n <= SIDE else {"rows.self": encoded(maps[:, :, n - 1])})}, lambda event: flip()))


def flip() -> None:
    """Changes one byte of the payload."""
    maps = st.session_state.maps
    maps[0, 0, 0, 0] = 1.5 - maps[0, 0, 0, 0]


st.set_page_config(layout="wide")
serving.prepare()
library()
parameters = st.query_params
body(int(parameters.get("n", "64")), int(parameters.get("layers", LAYERS)), int(parameters.get("heads", HEADS)),
     parameters.get("causal", "1") == "1")
