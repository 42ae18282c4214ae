"""The floor (lower bound) of the browser benchmarks: a Streamlit fragment that sends the grid after a one-byte change.

The fragment has the same component and payload size as the app, but no model, no cache and no other element. Its
response time is the time that Streamlit itself needs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy  # noqa: E402
import streamlit as st  # noqa: E402

from app.server import serving  # noqa: E402
from components.heads import Grid, heads  # noqa: E402
from components.library import library  # noqa: E402
from components.mounting import answering  # noqa: E402
from models.thumbnails import thumbnails  # noqa: E402

LAYERS, HEADS = 4, 8  # default shape; ?n=64&layers=6&heads=12&causal=0 makes the grid of another model
# names of models of the app, so that the benchmark types the same letters
CHOICES = ("stories-selective", "stories-dense")


@st.fragment
def body(n: int, layers: int, many: int, causal: bool) -> None:
    answering()  # else the browser waits for the acknowledgement of each event before it sends the next event
    full = numpy.full((layers, many, n, n), 0.5, numpy.float32)
    maps = st.session_state.setdefault("maps", numpy.tril(full) if causal else full)
    st.text_input("Text", key="text", live="200ms", on_change=flip)
    st.selectbox("Model", CHOICES, key="model", on_change=flip)
    grid = Grid("self", "", thumbnails(maps), causal=causal, constant=numpy.zeros((layers, many), bool),
                gates=numpy.ones((layers, many), numpy.float32))
    heads(key="heads", grids=[grid], selection={"kind": "self", "layer": 0, "head": 0, "scope": "head"},
          scale={"policy": "trained", "base": 64}, policies=["trained", "logn"], on_event=lambda event: flip())


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
