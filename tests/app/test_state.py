"""Links and history: a link restores every state, reading never fails, no chat program cuts it; undo is exact."""

import re
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linkify_it import LinkifyIt

import models
from app.state.fields import MAX_LINK_TEXT
from app.state.history import History
from app.state.lab_state import CLAIMS, MAX_COMPARED, PAGES, LabState, fit
from app.state.lab_view import BOUNDS, MEASURES, MOST_TOKENS, NONE, WANTED, AnswerView, Search
from app.state.lessons import Place
from app.state.link import first_lab, opened_by, query_of, read_query
from app.state.selection import SCOPES, Selection
from models import HeadPlan
from models.catalogue import family, find
from models.generate.decoding import Sampling
from models.kind import policies_of
from models.plan import OUTPUT, PATCHES, PATTERN

# without carriage returns: a link is read with line breaks as "\n" (models/prompt.py)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=200)


SAMPLINGS = st.builds(lambda t, p, seed: Sampling(t / 100, p / 100, seed), st.integers(0, 200), st.integers(5, 100),
                      st.integers(0, 9999))
SEARCHES = st.builds(Search, st.sampled_from(WANTED), st.booleans(), st.sampled_from(BOUNDS))
TOKENS = st.integers(NONE, MOST_TOKENS - 1)
ANSWER_VIEWS = st.builds(AnswerView, TOKENS, TOKENS, st.sampled_from([OUTPUT, PATTERN]),
                         st.sampled_from([*MEASURES.values()]))


@st.composite
def states(draw) -> LabState:
    model = draw(st.sampled_from(models.names()))
    shape = find(model).shape
    kind = draw(st.sampled_from([*shape]))
    layers, heads = shape[kind]
    addresses = st.tuples(st.just(kind), st.integers(0, layers - 1), st.integers(0, heads - 1))
    plan = HeadPlan()
    for address in draw(st.lists(addresses, max_size=6)):
        plan = plan.with_heads([address], constant=draw(st.booleans()), gate=draw(st.floats(0, 1)),
                               patch=draw(st.sampled_from([*PATCHES.values()])))
    policy = draw(st.sampled_from(find(model).kinds[0].attention.policies))
    plan = plan.with_scale(policy, draw(st.integers(2, 9999)) if policy == "logn" else None)
    selection = Selection(draw(st.integers(0, layers - 1)), draw(st.integers(0, heads - 1)),
                          draw(st.sampled_from(SCOPES)), kind)
    others = [name for name in family(model) if name != model]
    compared = draw(st.lists(st.sampled_from(others), unique=True, max_size=MAX_COMPARED)) if others else []
    budgets = draw(st.lists(st.integers(2, 9999), min_size=layers, max_size=layers)) if find(model).selects else ()
    return LabState(model, draw(TEXTS), plan, selection, draw(st.integers(-1, 9)), tuple(compared), tuple(budgets),
                    draw(st.sampled_from(list(CLAIMS))), draw(st.sampled_from(list(PAGES))), search=draw(SEARCHES),
                    sampling=draw(SAMPLINGS), source=draw(TEXTS), explanation=draw(ANSWER_VIEWS))


def params(query: str) -> dict[str, str]:
    return dict(parse_qsl(query, keep_blank_values=True))


@given(states())
def test_link_restores_every_state(state):
    assert read_query(params(query_of(state))) == (state, [])


@pytest.mark.parametrize("place", [None, Place("gates", 1), Place("swap", 2), Place("lengths", 1)])
@pytest.mark.parametrize("page", ["lab", "explore"])
def test_the_page_alone_opens_the_step_or_the_first_state_of_the_lab(place, page):
    step = {} if place is None else {"lesson": str(place)}
    state, problems = read_query({"page": page, "lang": "zh", **step})
    first = first_lab() if place is None else opened_by(place)
    assert (state, problems) == (replace(first, language="zh"), [])
    assert read_query(params(query_of(state))) == (state, [])
    # the default state has another link, with and without a lesson
    default = replace(LabState(), lesson=place, language="zh")
    assert default != state and read_query(params(query_of(default))) == (default, [])


def test_a_link_that_names_more_than_the_page_opens_the_text_that_it_meant():
    for link in ({"model": "stories-selective"}, {"plan": "self-0.1c"}, {"at": "0.1"}, {"page": "about"}):
        assert read_query({"page": "lab", **link})[0].text.endswith("afraid of the dark. One day")
    assert read_query({"page": "lab", "lesson": "none.1"})[0].text == first_lab().text


NAMES = st.sampled_from(models.names()) | TEXTS
PLANS = st.from_regex(r"self-[0-9]\.[0-9](c|p|ca|g0\.5)(_scale-(logn64|length|fixed|sqrt))?", fullmatch=True) | TEXTS


@given(st.fixed_dictionaries({}, optional={
    "model": NAMES, "with": st.lists(NAMES, max_size=5).map(" ".join), "plan": PLANS,
    "at": st.from_regex(r"[0-9]\.[0-9](\.row)?", fullmatch=True) | TEXTS,
    **dict.fromkeys(["text", "n", "keep", "draw", "open", "claim", "ask", "other", "source", "tokens", "view", "show",
                     "order", "fix", "page", "lab"], TEXTS)}))
def test_any_link_opens(query):
    state, problems = read_query(query)
    assert state.model in models.names()
    assert all(isinstance(problem, str) and problem for problem in problems)
    assert fit(state.plan, state.models) == (state.plan, [])
    for name in state.models:  # each compared model can also be opened alone, and become the first model
        alone = state.for_model(name)
        shape = models.load(name).shape
        assert alone.plan.within(shape, policies_of(find(name).kinds)) == (alone.plan, [])
        assert alone.selection == alone.selection.within(shape)
        first = state.with_model(name)
        assert set(first.models) == set(state.models) - ({state.model} - {name})
        assert read_query(params(query_of(first))) == (first, [])


def test_heads_that_no_compared_model_has_are_reported():
    """The models have 4 layers of 8 heads and 8 layers of one head, so neither has head 6 of layer 7."""
    beside = {"model": "masked-softmax", "with": "masked-gau-relu2"}
    state, problems = read_query(beside | {"plan": "self-6.5c"})
    assert not state.plan and "layer 7, head 6" in problems[0]
    state, problems = read_query(beside | {"plan": "self-6.0g0-1.5c"})
    assert str(state.plan) == "self-1.5c-6.0g0" and not problems
    assert str(state.for_model("masked-softmax").plan) == "self-1.5c"
    # the gated attention unit is still compared, so its part of the plan stays
    assert str(state.with_model("masked-log-n").plan) == "self-1.5c-6.0g0"


@pytest.mark.parametrize(("query", "message"), [
    ({"model": "gpt-9"}, "gpt-9"),
    ({"plan": "self-9.9c"}, "layer 10, head 10"),
    ({"plan": "self-0.0g7"}, "not 7"),
    ({"plan": "self-0.0gNaN"}, "NaN"),
    ({"plan": "self-0.1c-0."}, "0."),
    ({"at": "7.0"}, "7.0"),
    ({"view": "upside-down"}, "upside-down"),
    ({"plan": "x" * 10_000}, "10,000 characters"),
    ({"open": "sesame"}, "sesame"),
    ({"as": "a picture"}, "a picture"),
    ({"shade": "log"}, "log"),
    ({"mean": "everything"}, "everything"),
    ({"claim": "the earth is flat"}, "the earth is flat"),
    ({"page": "nowhere"}, "nowhere"),
    ({"n": "abc"}, "abc"),
    ({"n": "99999"}, "99999"),
    ({"page": "heads", "show": "size.loss.corpus"}, "size.loss.corpus"),
    ({"page": "pruning", "order": "alphabetical"}, "alphabetical"),
    ({"page": "constant", "fix": "2"}, "2"),
    ({"ask": "nan"}, "nan"),
    ({"at": "cross-0.1"}, "cross-0.1"),
    ({"keep": "8-8"}, "8-8"),
    ({"draw": "0.8-0.95"}, "0.8-0.95"),
    ({"draw": "9-0.95-1"}, "9-0.95-1"),
])
def test_broken_links_say_what_they_could_not_read(query, message):
    _, problems = read_query(query)
    assert len(problems) == 1
    assert message in problems[0]


def test_of_half_a_plan_and_a_long_text_is_kept_what_can_be():
    state, problems = read_query({"plan": "self-0.1c-0."})
    assert str(state.plan) == "self-0.1c" and problems
    state, problems = read_query({"text": "a story " * 1250})
    assert len(state.text) == 10_000
    assert not problems
    assert len(params(query_of(state))["text"]) == MAX_LINK_TEXT


def test_typing_is_one_step_of_undo_and_a_change_ends_redo():
    history = History()
    for text in ("A", "A c", "A cat"):
        history.do(LabState(text=text), merge="typing")
    history.undo()
    assert history.present == LabState()
    history.redo()
    assert history.present.text == "A cat"
    history.do(LabState(text="one"))
    history.undo()
    history.do(LabState(text="two"))
    history.redo()
    assert history.present.text == "two"


@given(st.lists(states(), max_size=8))
def test_undo_and_redo_are_inverse(visited):
    history = History()
    for state in visited:
        history.do(state)
    last, steps = history.present, len(history.past)
    for _ in range(steps):
        history.undo()
    assert replace(history.present, selection=Selection()) == LabState()
    for _ in range(steps):
        history.redo()
    assert history.present == last


def test_undo_passes_over_mere_selections():
    """The selection of a head is not an undo step. Undone changes can still be redone after it."""
    history = History()
    history.do(LabState(plan=HeadPlan().gate("self", 0, 1, 0.0)))
    for head in range(4):
        history.do(replace(history.present, selection=Selection(2, head)), merge="selecting")
    history.undo()
    assert not history.present.plan and not history.past
    history.do(replace(history.present, selection=Selection(1, 1)))
    history.redo()
    assert history.present.plan


def test_a_link_without_a_selection_selects_a_head_that_its_plan_changes():
    assert read_query({"plan": "self-1.3g0-2.0c"})[0].selection == Selection(1, 3)
    assert read_query({"plan": "self-1.3g0", "at": "0.2"})[0].selection == Selection(0, 2)
    translator = {"model": "translation-softmax"}
    assert read_query(translator)[0].selection == Selection(kind="cross")
    assert read_query({**translator, "plan": "decoder-1.2g0"})[0].selection == Selection(1, 2, kind="decoder")


def test_a_text_that_is_shared_between_models_of_a_task_is_kept():
    state = LabState(text="A cat", plan=HeadPlan().constant("self", 0, 1)).with_model("stories-softmax")
    assert (state.text, str(state.plan)) == ("A cat", "self-0.1c")
    other = state.with_model("assignment-softmax")
    assert "=" in other.text and not other.plan


def test_returning_to_a_family_restores_its_state():
    history = History()
    plan = HeadPlan().constant("self", 0, 1)
    history.do(replace(history.present, text="A red ball", plan=plan, compared=("stories-softmax",)))
    left = history.present
    history.go_to_model("assignment-softmax")
    assert "=" in history.present.text and not history.present.plan and not history.present.compared
    history.do(replace(history.present, text="k=4; k=?", page="lessons"))
    history.go_to_model("stories-log-n")  # another model of the first family; the page stays the current one
    assert history.present == replace(left, model="stories-log-n", page="lessons")
    history.go_to_model("assignment-log-n")
    assert (history.present.text, history.present.page) == ("k=4; k=?", "lessons")
    history.undo()
    assert history.present.text == "A red ball"
    history.go_to_model("translation-random")
    assert history.present.selection == Selection(2, 4, kind="cross")  # a head that aligns
    history.go_to_model("masked-gau-softmax")
    assert history.present.selection == Selection(1, 0)  # of the one head that its layers have


def test_the_families_that_are_remembered_are_few(monkeypatch):
    from app.state import history as module

    monkeypatch.setattr(module, "MAX_FAMILIES", 1)
    history = History()
    history.do(replace(history.present, text="A red ball"))
    for name in ("masked-softmax", "assignment-softmax", "stories-softmax"):
        history.go_to_model(name)
    assert len(history.left) == 1
    assert history.present.text != "A red ball"


ADDRESS = "https://lab.example.org/?"


def _linkify_it(text: str) -> str:
    """Finds a link by the rules of markdown-it, which Discourse, Mattermost, Joplin and others use."""
    return LinkifyIt().match(text)[0].url


def _github(text: str) -> str:
    """Finds a link by GitHub Flavored Markdown 0.29, section 6.9: no white space, no <, no trailing punctuation."""
    link = re.search(r"https://[^\s<]+", text)[0]
    while True:
        shorter = re.sub(r"[?!.,:*_~'\"]+$|&[A-Za-z0-9]+;$", "", link)
        if shorter.endswith(")") and shorter.count(")") > shorter.count("("):
            shorter = shorter[:-1]
        if shorter == link:
            return link
        link = shorter


def _android(text: str) -> str:
    """Finds a link by android.util.Patterns.WEB_URL: characters of path and query, a word boundary at the end."""
    return re.search(r"https://[\w.-]+(?:[/?#](?:[\w;/?:@&=#~.+!*'(),$-]|%[a-fA-F0-9]{2})*)?(?:\b|$|^)", text)[0]


def _gruber(text: str) -> str:
    """Finds a link by Gruber's pattern of 2010, which many programs copy: no punctuation at the end."""
    last = r"[^\s`!()\[\]{};:'\".,<>?«»“”‘’]"
    return re.search(rf"https://(?:[^\s()<>]+|\([^\s()<>]*\))+(?:\([^\s()<>]*\)|{last})", text)[0]


def _slack(text: str) -> str:
    """Finds a link as Slack does: the characters of bold, italic and struck-through text end a link."""
    return re.search(r"https://[^\s<>|*_~]+", text)[0].rstrip(".,;:!?)\"'”-")


FINDERS = (_linkify_it, _github, _android, _gruber, _slack)
AROUND = ("{}", "See {} now", "({}) is it", "{}. Yes", "it is {}, and", "*see* {} _now_", "“{}” is it",
          "{}\n- next")
ODD = st.text(st.sampled_from(".-_~*+=&;:!?()'\"[]{}<>|%#/\\ \t\naZ7é中🙂"), max_size=20)


def _survives(state: LabState) -> None:
    query = query_of(state)
    assert read_query(dict(parse_qsl(query, keep_blank_values=True)))[0].text == state.text
    for around in AROUND if query else ():
        for finder in FINDERS:
            # some rules add a quotation mark that follows the link; the test only checks that nothing is cut off
            assert finder(around.format(ADDRESS + query)).startswith(ADDRESS + query), (finder.__name__, around)


@given(states())
def test_no_state_is_cut(state: LabState):
    _survives(state)


@given(ODD)
def test_no_text_is_cut(text: str):
    _survives(LabState("stories-selective", text))


@pytest.mark.parametrize("text", ["He.", "Wait...", "a---", "x_", "~", "", "- ", "a_b and ~c~ or *d*", "a&copy;"])
def test_ends_that_programs_cut(text: str):
    state = LabState("stories-selective", text)
    _survives(state)
    _survives(replace(state, plan=HeadPlan.parse("self-0.0~3g0-1.2c_scale-logn64"), source="matrix"))


def test_the_finders_cut_what_is_not_safe():
    """Every rule cuts off the end of a link in the format of earlier versions, so the test above can fail."""
    cut = {"github": "text=He.", "android": "text=a-", "gruber": "text=He.", "slack": "text=a_b",
           "linkify_it": "text=He."}
    for finder in FINDERS:
        link = ADDRESS + cut[finder.__name__.strip("_")]
        assert not finder(f"{link} now").startswith(link)
