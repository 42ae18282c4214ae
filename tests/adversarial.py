"""Random attacks on the app: links, texts under plans, events, widget values, damaged files, and whole pages.

Each failure is printed with the seed that reproduces it.

    python -m tests.adversarial --minutes 10               # all attacks in turn
    python -m tests.adversarial --only links --seed 1234   # one batch of one attack again

Only exceptions with a message for the visitor (InputError, CheckpointError) may be raised. No value may be NaN. Each
state must be restored by the link of this state. No message may contain a bidirectional control character.
"""

import argparse
import json
import logging
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import hypothesis
import numpy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import models
from app.lab.page import on_lab
from app.lab.tools import TOOLS
from app.state import events, session, visit
from app.state.fields import FIELDS
from app.state.history import History
from app.state.lab_state import PAGES, LabState
from app.state.link import query_of, read_query
from app.state.visit import Visit
from components import mounting
from models import HeadPlan, catalogue
from models.errors import InputError
from models.storage import checkpoint
from models.storage.checkpoint import CheckpointError
from studies import store

BATCH = 200  # number of cases of one attack under one seed
TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067")

# inputs that have broken other programs
HOSTILE = ("", " ", "\x00", "\ud800", "\u202e", "\u2069\u202e", "🐉", "é", "e" + "\u0301" * 50, "NaN", "nan", "inf",
           "-0", "1e999", "null", "undefined", "<img src=x onerror=alert(1)>", "</script>", "[x](http://evil.test)",
           ":material/home:", "$\\alpha$", "../../etc/passwd", "hf:a/b", "folder:/etc", "%00", "{0}", "{x}", "[MASK]",
           "[", "[[a]", "x=1", "x=1; x=?", "self-0.0c", "self-0.0~31g0.5_scale-logn64", "cross-1.1g0", "٣", "9" * 400)
words = st.sampled_from(HOSTILE) | st.text(max_size=40)
texts = words | st.lists(words, max_size=30).map(" ".join) | st.builds(lambda a, n: a * n, words, st.integers(0, 3000))
values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | words | st.binary(max_size=9),
                      lambda inner: st.lists(inner, max_size=5) | st.dictionaries(words, inner, max_size=5),
                      max_leaves=8)
names = st.sampled_from(models.names())
addresses = st.tuples(st.sampled_from(["self", "encoder", "decoder", "cross", "x"]), st.integers(-1, 40),
                      st.integers(-1, 40), st.sampled_from(["c", "g0", "g0.5", "cg1", "g7", "gNaN", ""]))
plans = st.lists(addresses, max_size=6).map(lambda heads: "_".join(f"{k}-{a}.{b}{s}" for k, a, b, s in heads)) | texts
params = st.fixed_dictionaries({}, optional={
    **{its.key: texts for its in FIELDS}, "model": names | texts, "plan": plans, "n": st.integers().map(str) | words,
    "with": st.lists(names | words, max_size=6).map(" ".join), "at": st.from_regex(r"(self-)?\d\.\d(\.row)?\Z") | words,
    "page": st.sampled_from([*PAGES]) | words})


def sane(state: LabState) -> None:
    """Asserts that the link of a state opens it again; not for texts too long for a link and lone surrogates."""
    from urllib.parse import parse_qsl

    again, problems = read_query(dict(parse_qsl(query_of(state), keep_blank_values=True)))
    assert not problems, problems
    assert query_of(again) == query_of(state), (again, state)


def check_messages(problems: list[str]) -> None:
    assert all(isinstance(problem, str) and not TURNING & set(problem) for problem in problems), problems


def check_link(link: dict[str, str]) -> None:
    state, problems = read_query(link)
    check_messages(problems)
    sane(state)


def check_plan(text: str) -> None:
    plan, problems = HeadPlan.read(text)
    check_messages(problems)
    assert HeadPlan.parse(str(plan)) == plan


def check_text(case: tuple[str, str, str]) -> None:
    """Runs a model on one text, unmodified and under a plan, and checks that all values are finite."""
    name, text, wanted = case
    lab = models.load(name)
    plan = HeadPlan.read(wanted)[0].within(lab.shape, frozenset({"trained"}))[0]
    try:
        prompt = lab.read(text)
    except InputError as error:
        check_messages([str(error)])
        return
    assert 0 < len(prompt.ids) <= lab.limit and len(prompt.tokens) == len(prompt.ids)
    for trace in lab.run(prompt, [HeadPlan(), plan]):
        for output in trace.outputs:
            assert numpy.isfinite(output.distribution).all() and abs(float(output.distribution.sum()) - 1) < 1e-3
        for kind in lab.kinds:
            assert numpy.isfinite(trace.weights[kind.name]).all() and numpy.isfinite(trace.live[kind.name]).all()


tools = st.sampled_from([tool.key for tool in TOOLS])
fields = st.fixed_dictionaries({}, optional={
    "type": st.sampled_from(["undo", "redo", "reset", "page", "language", "address", "scale", "select", "heads",
                             "prediction", "model", "act", "tool", "set", "pin", "look", "marks", "prune"]) | values,
    "model": names | words | values,
    "layer": st.integers(-1, 9) | values, "head": st.integers(-1, 9) | values,
    "scope": st.sampled_from(["head", "row", "column", "all"]) | values, "kind": st.just("self") | values,
    "gate": st.floats() | values, "constant": values, "drag": values, "policy": st.just("logn") | values,
    "base": st.integers() | values, "view": values, "index": st.integers(-2, 2000) | values, "page": words | values,
    "language": words | values, "query": texts | values, "sequence": st.integers(-1, 2**60) | values,
    "key": st.sampled_from(["key", "bar", "lab", "start", "training"]) | values, "tool": tools | values,
    "name": names | tools | values})
HANDLERS = (events.on_toolbar, events.on_heads, on_lab)


def with_session(check: Callable[[dict[Any, Any], Any], None]) -> Callable[[Any], None]:
    """Runs a check in a session without Streamlit, and asserts that the state of the session is valid after it."""
    def checked(case: Any) -> None:
        start = LabState("stories-softmax", "The cat [sat].", compared=("stories-log-n",))
        state: dict[Any, Any] = {}
        with ExitStack() as stack:
            stack.enter_context(visit.use(Visit(history=History(start))))
            # patched by name, because `mounting` imports Streamlit only when a component is mounted
            stack.enter_context(mock.patch("streamlit.session_state", state))
            stack.enter_context(mock.patch.object(session, "st", SimpleNamespace(session_state=state)))
            check(state, case)
            check_messages(session.history().problems)
            sane(session.history().present)
    return checked


def check_events(state: dict[Any, Any], case: list[tuple[int, Any]]) -> None:
    for which, event in case:
        state["key"] = {"event": [event] if which % 2 else event}
        visit.current().channel.listen("key", HANDLERS[which // 2])
        mounting.dispatch("key")()
        if isinstance(event, dict):
            HANDLERS[which // 2](event)


@cache
def scratch() -> Path:
    """Returns a temporary folder for one model's files, with the path of the repository: models/checkpoints/NAME."""
    return Path(tempfile.mkdtemp()) / "models" / "checkpoints"


def check_file(case: tuple[str, str, list[tuple[int, int]], int, Any]) -> None:
    """Opens a model file or a measurement after bytes were changed or cut off, or a JSON value was replaced."""
    name, file, changes, kept, value = case
    shutil.rmtree(scratch(), ignore_errors=True)
    shutil.copytree(checkpoint.CHECKPOINTS / name, scratch() / name)
    path = scratch() / name / file
    if file in ("length.json", "memory.json"):
        path = scratch().parent / "measurements" / f"{name}.{file}"
        path.parent.mkdir(exist_ok=True)
        source = store.MEASUREMENTS / path.name
        path.write_bytes(source.read_bytes() if source.exists() else b"{}")
    content = bytearray(path.read_bytes())
    for place, byte in changes:
        content[place % len(content)] ^= byte
    content = content[:kept] if kept < len(content) else content
    if file.endswith(".json") and value is not None:
        whole = json.loads(path.read_bytes())
        whole[random.Random(kept).choice([*whole] or ["x"])] = value
        content = bytearray(json.dumps(whole, default=repr).encode())
    path.write_bytes(content)
    try:
        if path.parent.name == "measurements":
            store.read(name, file.removesuffix(".json"), path.parent, scratch())
            return
        checkpoint.read(scratch() / name, models.load(name).task.limit, models.load(name).task.target_limit)
        catalogue.complete_card(scratch() / name)
    except CheckpointError as error:
        assert "git checkout -- " in str(error) and str(scratch()) not in str(error)


def check_page(link: dict[str, str]) -> None:
    """Opens a whole page without a browser, and asserts that no exception is displayed."""
    from tests.app.test_pages import opened

    # removes lone surrogates, which an address cannot contain
    link = {key: value.encode("utf-8", "ignore").decode() for key, value in link.items()}
    link = {key: value for key, value in link.items() if value}
    app = opened(**link)
    assert not app.exception, [exception.value for exception in app.exception]


@dataclass(frozen=True)
class Attack:
    """Generates the cases of an attack and checks one case. A slow attack has fewer cases per batch."""

    cases: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    batch: int = BATCH


files = st.sampled_from([*checkpoint.FILES, "length.json", "memory.json"])
ATTACKS = {
    "links": Attack(params, check_link), "plans": Attack(plans, check_plan),
    "texts": Attack(st.tuples(names, texts, plans), check_text, 50),
    "events": Attack(st.lists(st.tuples(st.integers(0, 2 * len(HANDLERS) - 1), fields | values), max_size=4),
                     with_session(check_events)),
    "files": Attack(st.tuples(st.sampled_from(["assignment-softmax", "assignment-selective"]), files,
                              st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 255)), min_size=1, max_size=64),
                              st.sampled_from([0, 1, 100, 10**9, 10**9, 10**9]), st.none() | values),
                    check_file, 25),
    "pages": Attack(params, check_page, 4),
}


def batch(name: str, seed: int, count: int | None = None) -> int:
    """Runs one batch of cases and returns their number. Raises the error of the smallest failing case."""
    attack, ran = ATTACKS[name], 0

    @hypothesis.seed(seed)
    @settings(max_examples=count or attack.batch, database=None, deadline=None, phases=(Phase.generate, Phase.shrink),
              suppress_health_check=[*HealthCheck])
    @given(attack.cases)
    def run(case: Any) -> None:
        nonlocal ran
        ran += 1
        attack.check(case)

    run()
    return ran


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--only", choices=ATTACKS, help="one attack")
    parser.add_argument("--seed", type=int, help="one batch with this seed; with --only")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    chosen = [asked.only] if asked.only else [*ATTACKS]
    first = random.randrange(10**9) if asked.seed is None else asked.seed
    print(f"seeds from {first}", flush=True)
    cases: Counter[str] = Counter()
    failures, number, stop = 0, 0, time.monotonic() + 60 * asked.minutes
    while number < len(chosen) or asked.seed is None and time.monotonic() < stop:
        name, seed = chosen[number % len(chosen)], first + number // len(chosen)
        try:
            cases[name] += batch(name, seed)
        except Exception:  # every exception counts as a failure of the app
            failures += 1
            traceback.print_exc()
            print(f"found by: python -m tests.adversarial --only {name} --seed {seed}", flush=True)
        number += 1
    shutil.rmtree(scratch().parents[1], ignore_errors=True)
    print(f"{sum(cases.values()):,} cases, {failures} failures: {dict(cases)}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
