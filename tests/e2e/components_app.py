"""An app with the components, known arrays and no model: `streamlit run tests/e2e/components_app.py`.

Parameters of the address: `case` (a name of CASES), `form` (form of the large map; default: matrix), `slow` (seconds
that each run takes), `cut` (number of characters kept of the input text). The page shows the state in Python as
JSON, which the tests read.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy  # noqa: E402
import streamlit as st  # noqa: E402
from numpy import ndarray  # noqa: E402

from components.effect import effect  # noqa: E402
from components.head_map import head_map  # noqa: E402
from components.heads import Grid, heads  # noqa: E402
from components.library import library  # noqa: E402
from components.mounting import answering  # noqa: E402
from components.notice import notice  # noqa: E402
from components.text_box import text_box  # noqa: E402
from components.toolbar import toolbar  # noqa: E402
from components.written import written  # noqa: E402
from models.thumbnails import thumbnails  # noqa: E402


class Shape(NamedTuple):
    """The shape of one attention block; `tokens` names its rows of tokens, for queries and for keys."""

    title: str
    layers: int
    heads: int
    tokens: tuple[str, str]
    causal: bool
    can_constant: bool


ROWS = {"text": ["The", " cat", "\n", " <b>", " 🐉", " mat", "."], "target": ["Die", " Katze", " saß", " שלום", "."],
        "long": [f"w{i}" for i in range(70)],
        "longest": ["start", *(f" w{i}" for i in range(127))]}
CASES = {
    "three": {"encoder": Shape("Encoder", 2, 3, ("text", "text"), False, True),
              "decoder": Shape("Decoder", 1, 4, ("target", "target"), True, True),
              "cross": Shape("Cross", 2, 2, ("target", "text"), False, False)},
    "one": {"self": Shape("Self", 3, 4, ("target", "target"), True, True)},
    "large": {"self": Shape("Self", 12, 12, ("long", "long"), False, True)},
    "longest": {"self": Shape("Self", 2, 3, ("longest", "longest"), True, True)},
}
HOSTILE = "<img src=x onerror=alert(1)>"


def weights(case: str, kind: str, constant: bool = False) -> ndarray:
    """Returns attention weights (L, H, N, M) in float32.

    Rows sum to 1, with a few large and many small weights.
    """
    _, layers, count, (queries, keys), causal, _ = CASES[case][kind]
    random = numpy.random.default_rng([len(kind), layers, constant])
    scores = random.normal(0, 2, (layers, count, len(ROWS[queries]), len(ROWS[keys])))
    powers = numpy.exp(scores)
    powers = numpy.tril(powers) if causal else powers
    return (powers / powers.sum(-1, keepdims=True)).astype(numpy.float32)


def used(case: str, kind: str, state: dict[str, Any]) -> ndarray:
    """Returns the attention weights after the plan: the computed ones, or the constant ones for constant heads."""
    constant = numpy.array(state["constant"][kind], dtype=bool)
    return numpy.where(constant[..., None, None], weights(case, kind, constant=True), weights(case, kind))


def begin(case: str) -> dict[str, Any]:
    """Returns the initial state."""
    kinds = CASES[case]
    return {"constant": {name: [[False] * kind.heads for _ in range(kind.layers)] for name, kind in kinds.items()},
            "gates": {name: [[1.0] * kind.heads for _ in range(kind.layers)] for name, kind in kinds.items()},
            "selection": {"kind": next(iter(kinds)), "layer": 0, "head": 0, "scope": "head"}, "view": "used",
            "form": "matrix", "mean": "head", "scale": {"policy": "trained", "base": 64}, "index": -1, "events": 0}


def on_heads(event: dict[str, Any]) -> None:
    state = st.session_state.state
    state["events"] += 1
    if event["type"] == "select":
        state["selection"] = {part: event[part] for part in ("kind", "layer", "head", "scope")}
    if event["type"] == "scale":
        state["scale"] = {part: event[part] for part in ("policy", "base")}
    if event["type"] != "heads":
        return
    kind, layer, head, scope = (event[part] for part in ("kind", "layer", "head", "scope"))
    for name, values in (("constant", state["constant"][kind]), ("gate", state["gates"][kind])):
        for i, row in enumerate(values):
            for j in range(len(row)):
                inside = (scope in ("column", "all") or i == layer) and (scope in ("row", "all") or j == head)
                if inside and name in event:
                    row[j] = event[name]


def on_map(event: dict[str, Any]) -> None:
    st.session_state.state[event["type"]] = event[event["type"]]


def on_toolbar(event: dict[str, Any]) -> None:
    if event["type"] == "reset":
        st.session_state.state |= {name: value for name, value in begin(st.session_state.case).items()
                                   if name in ("constant", "gates")}


def on_text(event: dict[str, Any]) -> None:
    st.session_state.typed = event["text"]


def changed(state: dict[str, Any]) -> int:
    """Returns the number of heads that the state modifies."""
    return sum(constant or gate < 1 for kind in state["gates"]
               for row in zip(state["constant"][kind], state["gates"][kind], strict=True)
               for constant, gate in zip(*row, strict=True))


@st.fragment
def home() -> None:
    case, state = st.session_state.case, st.session_state.state
    kept = (st.session_state.setdefault("typed", "some words"))[:int(st.query_params.get("cut", "1000"))]
    st.session_state.typed = kept
    answering()
    toolbar(key="toolbar", query=st.session_state.query, mode="replace", can_undo=True, can_redo=False,
            languages={"en": "English", "zh": "中文"}, embedded=False, on_event=on_toolbar)
    text_box(key="text", text=kept, placeholder="", most=10_000, on_event=on_text)
    notice(key="notice", status=f"{len(kept)} characters")
    time.sleep(float(st.query_params.get("slow", "0")))
    grid, large, panel = st.columns([32, 40, 28])
    with grid:
        draw_grids(case, state)
    with large:
        draw_map(case, state)
    with panel:
        draw_effect(state, kept)
    st.code(json.dumps(state), language=None)


def draw_grids(case: str, state: dict[str, Any]) -> None:
    grids = [Grid(name, kind.title, thumbnails(used(case, name, state)), kind.causal,
                  numpy.array(state["constant"][name]), numpy.array(state["gates"][name]), kind.can_constant)
             for name, kind in CASES[case].items()]
    heads(key="heads", grids=grids, selection=state["selection"], scale=state["scale"],
          policies=["trained", "logn"], on_event=on_heads)


def draw_map(case: str, state: dict[str, Any]) -> None:
    name, layer, head = (state["selection"][part] for part in ("kind", "layer", "head"))
    kind = CASES[case][name]
    queries, keys = (ROWS[row] for row in kind.tokens)
    head_map(key="map", queries=queries, keys=None if kind.tokens[0] == kind.tokens[1] else keys,
             kind_title=kind.title if len(CASES[case]) > 1 else "", layer=layer, head=head, causal=kind.causal,
             live=weights(case, name)[layer, head], weights=used(case, name, state)[layer, head],
             constant=weights(case, name, constant=True)[layer, head] if kind.can_constant else None,
             view=state["view"], form=state["form"], mean=state["mean"], shading=state.get("shading", "root"),
             is_constant=state["constant"][name][layer][head],
             gate=state["gates"][name][layer][head], on_event=on_map)


def draw_effect(state: dict[str, Any], text: str) -> None:
    """Displays an effect panel whose numbers encode its input: the number of modified heads and the text."""
    count = changed(state)
    if st.session_state.case == "three":
        written(key="written", before="Die Katze schläft.", after=f"Die {HOSTILE} schläft." if count else None)
        effect(key="effect", predictions=[], changed=count > 0,
               facts=[{"name": "Cosine", "before": 1.0, "after": 1 - count / 4, "unit": ""}],
               strip={"title": "How far each token’s vector moved", "unit": "1 − cosine", "worse_is_more": False},
               tokens=[{"token": token, "before": None, "after": i / 10} for i, token in enumerate(ROWS["text"])])
        return
    rows = [{"label": "cat", "before": 0.75, "after": 0.5, "right": True},
            {"label": HOSTILE, "before": 0.1, "after": 0.2, "right": False}]
    effect(key="effect", predictions=[{"title": f"{text}: {count}", "kl": count / 100, "rows": rows}], index=-1,
           loss_before=2.0, loss_after=2.0 + count / 10, changed=count > 0,
           tokens=[{"token": "a", "before": None, "after": None}, {"token": "b", "before": 1.0, "after": 3.0},
                   {"token": "c", "before": 1.0, "after": 0.5}])


def other() -> None:
    st.markdown("Another page")
    time.sleep(float(st.query_params.get("slow", "0")))


if __name__ == "__main__":
    st.set_page_config(layout="wide")
    pages = [st.Page(home, title="Home", default=True), st.Page(other, title="Other")]
    page = st.navigation(pages, position="hidden")
    params = st.query_params.to_dict()
    st.session_state.setdefault("query", "&".join(f"{name}={value}" for name, value in params.items()))
    st.session_state.case = params.get("case", "three")
    st.session_state.setdefault("state", begin(st.session_state.case) | {"form": params.get("form", "matrix")})
    library()
    for one in pages:
        st.page_link(one, query_params=params)
    page.run()
