"""Tests of links that older versions wrote, and of links to models that are not installed."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import texts
from app.lab import tools
from app.state import events, old_links, session, visit
from app.state.fields import FIELDS, MAX_LINK_TEXT
from app.state.lab_state import LabState
from app.state.lab_view import LabView
from app.state.link import opened_by, query_of, read_query
from app.state.selection import SCOPES, Selection, is_scope
from models import HeadPlan, catalogue
from models.plan import KINDS

SELECTIONS = st.builds(Selection, st.integers(0, 999), st.integers(0, 999), st.sampled_from(SCOPES),
                       st.sampled_from(KINDS))


@given(SELECTIONS)
def test_a_selection_survives_its_text_form(selection: Selection):
    assert Selection.parse(str(selection)) == selection


@pytest.mark.parametrize(("text", "selection"), [
    ("1.2", Selection(1, 2)), ("1.2.row", Selection(1, 2, "row")), ("0.3.all", Selection(0, 3, "all")),
    ("self-1.2", Selection(1, 2)), ("cross-1.2.column", Selection(1, 2, "column", "cross")),
    ("encoder-0.0", Selection(kind="encoder")),
    ("1.2.and.0.3.2.0", Selection(1, 2, "and.0.3.2.0"))])
def test_selections_as_links_write_them(text: str, selection: Selection):
    assert Selection.parse(text) == selection


@pytest.mark.parametrize("text", ["", "1", "1.", "1.2.head", "1.2.rows", "-1.2", "1.2.row.row", "other-1.2", "self-",
                                  "cross1.2", "1.2\n", "\u0661.2", "1000.0", "cross-1.2.row ", "1.2.and", "1.2.and.3",
                                  "1.2.and.0.1.2"])
def test_what_is_no_selection_is_refused(text: str):
    with pytest.raises(ValueError, match="is no selection"):
        Selection.parse(text)


THREE = {"encoder": (2, 4), "decoder": (3, 2), "cross": (3, 2)}


def test_a_scope_is_within_one_attention_block():
    assert Selection(1, 1, "row", "decoder").heads(THREE) == [("decoder", 1, 0), ("decoder", 1, 1)]
    assert Selection(1, 1, "column", "cross").heads(THREE) == [("cross", layer, 1) for layer in range(3)]
    assert len(Selection(0, 0, "all", "encoder").heads(THREE)) == 8
    assert Selection(2, 3, "head", "encoder").within(THREE) == Selection(1, 3, "head", "encoder")
    # this model has no block named `self`
    assert Selection(2, 3, "row").within(THREE) == Selection(2, 1, "row", "cross")


def test_heads_are_added_one_by_one():
    some = Selection(1, 2, "and.0.3.1.2.0.0")
    assert some.heads({"self": (3, 4)}) == [("self", 0, 0), ("self", 0, 3), ("self", 1, 2)]
    assert some.within({"self": (3, 3)}) == Selection(1, 2, "and.1.2.0.0")  # this model has no head 3
    assert Selection(0, 0, "and.7.7").within({"self": (2, 2)}) == Selection(0, 0)
    assert is_scope("and.0.3") and not is_scope("and.0") and not is_scope(["row"]) and not is_scope("rows")


# links written before the address of a head contained its block, each with the state that it opens
OLD = [
    ({"model": "assignment-selective", "text": "x=1; x=?", "plan": "self-0.3c", "at": "0.3", "view": "mask"},
     LabState("assignment-selective", "x=1; x=?", HeadPlan().constant("self", 0, 3), Selection(0, 3),
              lab=LabView("layer.forget"))),
    ({"plan": "self-1.2c-1.0g0", "at": "1.2.row"},
     LabState("stories-selective", plan=HeadPlan().constant("self", 1, 2).gate("self", 1, 0, 0.0),
              selection=Selection(1, 2, "row"))),
    ({"model": "stories-softmax", "plan": "self-1.0~3c_scale-logn64", "open": "entropy"},
     LabState("stories-softmax", plan=HeadPlan().with_heads([("self", 1, h) for h in range(4)], constant=True)
              .with_scale("logn", 64), selection=Selection(1, 0), lab=LabView("layer.entropy"))),
    ({"model": "assignment-softmax", "with": "assignment-selective", "n": "97", "at": "2.1.all"},
     LabState("assignment-softmax", compared=("assignment-selective",), selection=Selection(2, 1, "all"))),
    ({"keep": "8-8-8-8", "ask": "1"}, LabState("stories-selective", budgets=(8, 8, 8, 8), prediction=1)),
    ({"claim": "normalisation"}, LabState("stories-selective", claim="normalisation")),
]


@pytest.mark.parametrize(("query", "state"), OLD)
def test_old_links_open_as_they_did(query: dict[str, str], state: LabState):
    assert read_query(query) == (state, [])


# the pages that the Lab replaced: fields of a link -> tool and settings
PAGES = [
    ({"page": "explore"}, "head.looks", {}), ({"page": "compare"}, "all.second", {}),
    ({"page": "heads"}, "head.corpus", {}), ({"page": "pruning"}, "all.order", {}),
    ({"page": "constant"}, "all.papa", {}), ({"page": "length", "n": "97"}, "all.length", {}),
    *(({"open": section}, tool, {}) for section, tool in {
        "needs": "all.fewest", "entropy": "layer.entropy", "gates": "layer.gates", "writers": "answer.who",
        "pair": "head.carry", "why": "head.why", "memory": "all.memory", "zoom": "head.looks",
        "elsewhere": "head.corpus", "card": "all.card", "layers": "answer.lens"}.items()),
    ({"view": "constant"}, "head.looks", {}), ({"mean": "layer"}, "layer.mean", {}),
    ({"as": "matrix", "shade": "linear"}, "head.looks", {}),
    ({"find": "induction"}, "all.find", {"find.role": "induction"}),
    ({"page": "compare", "part": "entropy"}, "layer.entropy", {}),
    ({"page": "heads", "show": "relevance.loss.text"}, "head.corpus",
     {"corpus.x": "relevance", "corpus.y": "loss", "corpus.source": "text"}),
    ({"page": "heads", "show": "confidence.loss.corpus.nsubj up"}, "all.find",
     {"corpus.x": "confidence", "corpus.y": "loss", "corpus.source": "corpus", "find.role": "nsubj up"}),
    ({"page": "heads", "term": "sub"}, "layer.alike", {"alike.term": "sub"}),
    ({"page": "pruning", "order": "confidence.encoder"}, "all.order",
     {"order.order": "confidence", "order.scope": "encoder"}),
    ({"page": "pruning", "order": ".all"}, "all.order", {"order.scope": "all"}),
    ({"page": "constant", "fix": "4.slots.masked-softmax"}, "all.papa", {"papa.task": "slots"}),
    ({"open": "why", "tokens": "3.4a-9.1d"}, "head.why", {"why.key": "1", "why.split": "dims"}),
]


@pytest.mark.parametrize(("query", "tool", "settings"), PAGES)
def test_a_link_of_a_page_that_the_lab_replaced_opens_its_tool(query: dict[str, str], tool: str,
                                                               settings: dict[str, str]):
    state, problems = read_query({"model": "stories-softmax", "text": "The cat", **query})
    assert (state.page, state.lab.tool, state.text, problems) == ("lab", tool, "The cat", [])
    assert dict(state.lab.settings) == settings
    assert tool in {each.key for each in tools.TOOLS}
    for name, value in settings.items():  # the tools know these settings and values
        known = {f"{each.name}.{setting}": values for each in tools.TOOLS for setting, values in each.settings.items()}
        assert value in known.get(name, (value,))
    assert read_query(dict(parse_qsl(query_of(state)))) == (state, [])


def test_a_score_of_an_old_link_is_that_of_its_query():
    state, _problems = read_query({"model": "stories-softmax", "open": "why", "tokens": "3.4a-9.1q"})
    assert (state.lab.look, str(state.explanation)) == (9, "3.4a")


def test_old_settings_do_not_matter_elsewhere():
    for page in ("lessons", "results", "about"):
        state, problems = read_query({"page": page, "open": "why", "view": "mask", "as": "none"})
        assert (state.page, state.lab, problems) == (page, LabView(), [])
    assert read_query({"lab": "answer.who", "open": "why"})[0].lab.tool == "answer.who"


def test_a_link_from_html_opens_whole_and_a_text_cut_inside_a_character_is_reported():
    """A browser reads `Caf%C3` as Caf and a replacement character. Line breaks of Windows are line feeds."""
    state, problems = read_query({"model": "stories-softmax", "text": "Caf\ufffd\r\nHi"})
    assert state.text == "Caf\ufffd\nHi" and "cut or changed" in problems[0]
    query = {"model": "stories-softmax", "amp;text": "Hi there", "amp;plan": "self-0.3c"}
    state, problems = read_query(query)
    assert (state.model, state.text, str(state.plan), problems) == ("stories-softmax", "Hi there", "self-0.3c", [])


class Params(dict):
    """A replacement for st.query_params."""

    def to_dict(self) -> dict[str, str]:
        return dict(self)


@pytest.fixture
def visitor(monkeypatch) -> Any:
    """Yields a session without Streamlit: .session_state and .query_params."""
    streamlit = SimpleNamespace(session_state={}, query_params=Params(),
                                context=SimpleNamespace(locale=None, cookies={}))
    for module in (session, visit):
        monkeypatch.setattr(module, "st", streamlit)
    monkeypatch.setattr("streamlit.session_state", streamlit.session_state)  # imported inside a function of channel
    return streamlit


@pytest.mark.parametrize(("path", "opens"), [
    *((page, {"page": page}) for page in ("results", "about", "yours", "lessons")),
    *((page, {"lab": LabView(tool)}) for page, tool in old_links.PAGES.items())])
def test_an_old_links_path_is_its_page_or_the_tool_in_its_place(path: str, opens: dict[str, Any], visitor):
    visitor.query_params |= {"model": "assignment-softmax"}
    session.follow_address(path)
    assert session.history().present == LabState("assignment-softmax", **opens)
    assert not session.history().problems and not session.history().past


def test_the_page_of_the_query_overrides_that_of_the_path(visitor):
    visitor.query_params["page"] = "results"
    session.follow_address("lessons")
    assert session.history().present.page == "results"


def test_the_address_of_the_first_page_is_no_page(visitor):
    session.follow_address("lab")
    assert session.history().present == opened_by(None)
    session.history().do(LabState(page="about"))
    session.remember_address("page=about", session.history().present)
    session.follow_address("lab")  # the browser still has the old address, that of the first page
    assert session.history().present.page == "about"


def test_the_browsers_language_counts_where_no_link_says_one(visitor):
    visitor.context.locale = "zh-CN"
    session.follow_address("lab")
    assert session.history().present == replace(opened_by(None), language="zh")
    assert not session.history().past
    visitor.query_params["text"] = "an English link"
    session.follow_address("lab")
    assert session.history().present.language == "en"


def test_the_language_that_was_chosen_before_counts_more_than_the_browsers(visitor):
    visitor.context = SimpleNamespace(locale="zh-CN", cookies={texts.COOKIE: "en"})
    session.follow_address("lab")
    assert session.history().present == opened_by(None)


@pytest.mark.parametrize(("cookie", "text"), [("page=lab&text=Hi", "Hi"), ("", None), ("=;&%ff", None)])
def test_an_address_without_a_query_opens_where_the_visitor_was(cookie: str, text: str | None, visitor):
    visitor.context = SimpleNamespace(locale=None, cookies={session.LAST: cookie})
    session.follow_address("lab")
    assert session.history().present == (opened_by(None) if text is None else LabState(text=text))
    visitor.query_params["text"] = "a link"
    session.follow_address("lab")
    assert session.history().present.text == "a link"


def test_a_visitor_who_comes_back_to_an_old_address_keeps_the_language_chosen_since(visitor, monkeypatch):
    session.follow_address("lab")
    session.history().do(LabState(text="one"))
    session.remember_address("text=one", session.history().present)
    events.on_toolbar({"type": "language", "language": "zh"})
    session.remember_address("text=one&lang=zh", session.history().present)
    monkeypatch.setattr(session.serving, "went_back_or_forward", lambda: True)
    session.follow_address("lab")
    assert session.history().present == replace(opened_by(None), language="zh")


def test_the_browser_s_address_overrides_the_one_the_page_was_loaded_with(visitor):
    visitor.query_params["text"] = "old"
    session.follow_address("lab")
    events.on_toolbar({"type": "address", "query": "?text=new+text&plan=self-0.1c&at=0.1&page=lessons"})
    history = session.history()
    assert history.present == LabState(text="new text", plan=HeadPlan().constant("self", 0, 1),
                                       selection=Selection(0, 1), page="lessons")
    assert not history.past and not history.future and not history.push


def test_a_too_long_address_is_reported(visitor):
    session.follow_address("lab")
    before = session.history().present
    events.on_toolbar({"type": "address", "query": "?text=" + "x" * 1_000_000})
    assert session.history().present == before
    assert "1,000,005 characters" in session.history().problems[0]


@pytest.mark.parametrize("event", [
    *({"type": "address", "query": query} for query in (None, 7, ["?text=a"], {"text": "a"})),
    *({"type": "language", "language": language} for language in ("xx", None, 3, ["zh"]))])
def test_an_address_or_language_that_is_none_changes_nothing(event: dict[str, object], visitor):
    session.follow_address("lab")
    before = replace(session.history())
    events.on_toolbar(event)
    assert session.history() == before


AWAY = "hf:nobody-at-all/not-here"
WANTED = {"model": AWAY, "text": "The cat sat.", "plan": "self-1.2g0", "at": "1.2", "page": "lessons"}


def test_a_link_to_an_unopened_model_leads_to_the_page_your_model(visitor):
    visitor.query_params |= WANTED
    session.follow_address("lab")
    history = session.history()
    assert (history.present.page, history.present.model) == ("yours", LabState().model)
    assert history.wanted == WANTED
    assert any("nobody-at-all/not-here" in problem for problem in history.problems)


def test_the_fields_of_a_link_apply_once_its_model_is_open(visitor, monkeypatch):
    """The Hub is replaced: the model id opens a released model."""
    visitor.query_params |= WANTED
    session.follow_address("lab")
    ours = catalogue.find("stories-softmax")
    find = catalogue.find
    monkeypatch.setattr(catalogue, "find", lambda name: replace(ours, name=AWAY) if name == AWAY else find(name))
    session.history().speak("zh")
    events.set_text("What was done meanwhile")
    events.open_model(AWAY)
    history = session.history()
    assert history.present == LabState(AWAY, "The cat sat.", HeadPlan().gate("self", 1, 2, 0.0), Selection(1, 2),
                                       page="lessons", language="zh")
    assert not history.wanted and not history.problems
    history.undo()
    assert history.present.text == "What was done meanwhile" and history.present.page == "yours"


def test_opening_another_model_than_the_link_s_keeps_the_present_state(visitor):
    visitor.query_params |= WANTED
    session.follow_address("lab")
    read, _ = read_query({key: value for key, value in WANTED.items() if key != "model"})
    events.open_model("stories-softmax")
    history = session.history()
    assert history.present == replace(read, page="lab").with_model("stories-softmax")
    assert not history.wanted and len(history.past) == 1


def test_models_beside_may_have_blanks_in_their_names(monkeypatch):
    """Links separate the names of compared models by blanks, although names of folders can contain blanks."""
    names = ("folder:gpt2 copy", "folder:a%20b", "folder:gpt2")
    monkeypatch.setattr(catalogue, "family", lambda name: [name, *names])
    (field,) = (its for its in FIELDS if its.key == "with")
    assert field.parse(field.format(names), LabState("stories-softmax")) == (names, [])


@pytest.mark.parametrize("name", ["hf:", "hf:../../etc/passwd", "hf:a/b/c", "folder:", "folder:/etc", "folder:nowhere",
                                  "hf:" + "x" * 5000, "hf:\x00", "hf:a\u202eb/c"])
def test_addresses_that_are_none_open_the_page_and_say_so(name: str, visitor):
    visitor.query_params["model"] = name
    session.follow_address("lab")
    assert session.history().present == LabState(page="yours")
    assert len(session.history().problems) == 1


def test_a_host_names_the_models_that_it_does_not_open(visitor, monkeypatch):
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "1")
    visitor.query_params |= WANTED
    session.follow_address("lab")
    assert "this host does not open" in session.history().problems[0]
    assert session.history().present.page == "yours"


@pytest.mark.parametrize("long", ["The cat [sat] on the mat. " * 200, "[x]" * 3000, "[" * 5000, "a" * 3998 + "[bc] d",
                                  "a " * 1990 + "[a long phrase is hidden] " + "b " * 900])
def test_a_long_texts_link_shows_no_word_that_was_hidden(long: str):
    """The text in a link is never cut inside brackets. A bracket without its counterpart would reveal a hidden word."""
    again = read_query(dict(parse_qsl(query_of(LabState("masked-softmax", long)))))[0].text
    assert long.startswith(again) and len(again) <= MAX_LINK_TEXT
    assert again.count("[") == again.count("]") or "]" not in long
    hidden = re.findall(r"\[[^\[\]]+\]", again)
    assert hidden == re.findall(r"\[[^\[\]]+\]", long)[:len(hidden)]


def test_a_script_run_and_the_events_route_can_store_addresses_together():
    before = sys.getswitchinterval()
    here = visit.Visit()

    def store(thread: int) -> None:
        with visit.use(here):
            for number in range(400):
                session.remember_address(f"text={thread}+{number}", LabState(text=f"{thread} {number}"))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(store, range(4)))  # raises the error of a thread
    finally:
        sys.setswitchinterval(before)
    assert len(here.addresses) == session.MAX_ADDRESSES
