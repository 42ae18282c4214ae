"""The floor: a Streamlit fragment that redraws the app's own grid from a one-byte change, and does nothing else.

Same component, same size of payload, no model, no cache, no other element: what Streamlit itself needs.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy  # noqa: E402
import streamlit as st  # noqa: E402

from app import serving  # noqa: E402
from components import Grid, heads, library  # noqa: E402
from models.thumbnails import thumbnails  # noqa: E402

LAYERS, HEADS = 4, 8
CHOICES = ("stories-selective", "stories-random-softmax")  # the app's, for the same letters to be typed


@st.fragment
def body(n: int) -> None:
    maps = st.session_state.setdefault("maps", numpy.tril(numpy.full((LAYERS, HEADS, n, n), 0.5, numpy.float32)))
    st.text_input("Text", key="text", live="200ms", on_change=flip)
    st.selectbox("Model", CHOICES, key="model", on_change=flip)
    grid = Grid("self", "", thumbnails(maps), causal=True, constant=numpy.zeros((LAYERS, HEADS), bool),
                gates=numpy.ones((LAYERS, HEADS), numpy.float32))
    heads(key="heads", grids=[grid], selection={"kind": "self", "layer": 0, "head": 0, "scope": "head"},
          scale={"policy": "trained", "base": 64}, policies=["trained", "logn"], on_event=lambda event: flip())


def flip() -> None:
    """One byte of the payload changes."""
    maps = st.session_state.maps
    maps[0, 0, 0, 0] = 1.5 - maps[0, 0, 0, 0]


st.set_page_config(layout="wide")
serving.prepare()
library()
body(int(st.query_params.get("n", "64")))
