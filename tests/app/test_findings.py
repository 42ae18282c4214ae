"""The page Findings: its payload has the numbers and verdicts of verdicts.json; events, links and charts."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pytest

from app import texts
from app.findings import page, statement
from app.lab import tools
from app.lab.view import present_view
from app.state import visit
from app.state.lab_state import MATRIX, LabState
from app.state.link import query_of, read_query
from app.state.training_view import TrainingView
from app.state.visit import Visit
from app.training import page as training_page
from learning import recorded
from models import catalogue
from studies.claims import KEYS, MISSING, WORDS, Chart, Claim, Statement, Verdict, read, statement_keys
from studies.claims.evidence import Evidence
from studies.claims.judge import judge
from studies.papa.results import LEARNED
from studies.series import style
from tests.figures.specs import looks, rows, table

CLAIMS = read()
EVERY = {each.key: (claim, each) for claim in CLAIMS for each in claim.statements}
CODE = re.compile(r"`[^`]*`|kexue\.fm \d+")
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]+(?:[ ,;:]+[A-Za-z][A-Za-z'’-]+)+")
# names with a space: ours, of data sets, of attention types, of authors; and the source's example of a token
NAMES = {"Attention Lab", "Daily Mail", "GAU softmax", "GAU relu",
         "dense Synthesizer", "random Synthesizer", "ack Obama", "Leviathan, Kalman and Matias",
         "Su Jianlin", *(f"{name} et al" for name in ("Hassid", "Li", "Qiu", "Tay", "Voita"))}


@pytest.fixture
def chinese() -> Iterator[None]:
    texts.speak("zh")
    yield
    texts.speak(texts.ENGLISH)


def header(claim: str = "synthesizer", drawn: bool = False) -> dict[str, Any]:
    part = page._parts(LabState(claim=claim), [], drawn=drawn)[-1]
    json.dumps(part.header, allow_nan=False)
    return part.header


def test_every_statement_has_a_row_with_its_text_its_verdict_and_its_interval():
    content = header()
    shown = {row["key"]: row for group in content["groups"] for row in group["statements"]}
    assert shown.keys() == EVERY.keys() and [group["key"] for group in content["groups"]] == list(KEYS)
    for key, (_claim, each) in EVERY.items():
        verdict, row = each.verdict, shown[key]
        assert (row["text"], row["word"], row["mark"]) == (each.text, verdict.word, statement.MARKS[verdict.word])
        known = verdict.value is not None
        assert (row["plot"] is not None) == known
        if known:
            assert (row["plot"]["value"], row["plot"]["low"], row["plot"]["high"]) == (
                verdict.value, verdict.low, verdict.high)
            assert row["plot"]["bounds"] == ([verdict.bound] if verdict.is_limit else [-verdict.bound, verdict.bound])
            if verdict.word in ("holds", "seen once"):  # then the whole interval is where the statement holds
                assert verdict.high <= verdict.bound if row["plot"]["holds_below"] else verdict.low >= verdict.bound
            assert f"{verdict.bound:.3g}" in row["about"]
    legend = {each["word"]: each for each in content["verdicts"]}
    assert legend.keys() == {each.verdict.word for _claim, each in EVERY.values()}
    assert all(each["meaning"] == WORDS[word] for word, each in legend.items())
    assert len({each["mark"] for each in content["verdicts"]}) == len(legend)
    assert statement.MARKS.keys() == WORDS.keys()


def plain(text: str) -> str:
    """Returns a text with hyphens for minus signs, and without unbroken spaces."""
    return text.replace("\u00a0", " ").replace("−", "-")


@pytest.mark.parametrize("key", EVERY)
def test_an_opened_statement_has_its_numbers_its_table_and_a_link_that_works(key: str):
    claim, each = EVERY[key]
    shown = header(key)["open"]
    facts = {name: plain(text) for name, text in shown["facts"]}
    assert plain(each.source) in facts["Paper"] and plain(each.basis) in facts["Paper"]
    assert facts["Our result"] == plain(each.ours)
    assert plain(each.verdict.interval) in facts["Test"] and each.contrast in facts["Test"]
    assert ("†" in facts) == (not each.verified)
    is_bound = each.verdict.is_limit and each.verdict.word in ("holds", "seen once")
    assert shown["word"].startswith(each.verdict.word)
    assert (f"limit of {each.verdict.bound or 0:.3g}" in shown["word"]) == is_bound
    assert [len(row) for row in shown["table"]["rows"]] == [len(shown["table"]["columns"])] * len(each.table)
    assert shown["command"] == each.command and shown["methods"][0] == claim.setting
    state, problems = read_query(dict(parse_qsl(shown["lab"])))
    assert not problems and state.page == "lab" and state.model in catalogue.names()


def test_the_tool_of_each_link_fits_its_model():
    for query in {statement.query(key) for key in EVERY}:
        state, _problems = read_query(dict(parse_qsl(query)))
        with visit.use(Visit()):
            view = present_view(state)
            assert state.lab.tool in {tool.key for tool in tools.offered(view)}, query


def test_a_link_names_a_statement_or_its_claim():
    for key, (claim, _each) in EVERY.items():
        state, problems = read_query({"page": "results", "claim": key})
        assert not problems and header(state.claim)["open"]["key"] == key
        assert read_query(dict(parse_qsl(query_of(state))))[0] == state
        old, problems = read_query({"page": "results", "claim": claim.key})
        assert not problems and header(old.claim)["open"]["key"].startswith(f"{claim.key}-")
    assert statement_keys() == sorted(EVERY)


def test_events_open_statements_and_forged_ones_change_nothing():
    with visit.use(Visit()) as now:
        before = now.history.present
        for event in ({"type": "open", "statement": "x"}, {"type": "open", "statement": ["papa"]}, {},
                      {"type": "open"}, {"type": "lab"}, {"type": "lab", "statement": "../papa-half"},
                      {"type": "chart"}, {"type": ["open"]}):
            page.on_findings(event)
            assert now.history.present == before
        page.on_findings({"type": "open", "statement": "gated-sink"})
        assert now.history.present == replace(before, claim="gated-sink")
        page.on_findings({"type": "lab", "statement": "gated-sink"})
        assert (now.history.present.page, now.history.present.model) == ("lab", "stories-gated")


def test_the_matrix_of_trainings_has_an_address_and_its_cells_open_trainings():
    state, problems = read_query({"page": "results", "claim": MATRIX})
    assert not problems and read_query(dict(parse_qsl(query_of(state))))[0] == state
    assert header(MATRIX)["matrix"]["open"] and not header()["matrix"]["open"]
    table = training_page.contents(TrainingView())[0]["table"]
    assert table.items() <= header()["matrix"].items()  # the same as on the page Training
    measured = recorded.matrix()
    for row in table["rows"]:
        for column, cell in zip(table["columns"], row["cells"], strict=True):
            values = measured[row["task"]].get(column["name"], [])
            assert (f"{len(values)} seed" in cell["range"]) == (len(values) not in (0, 3))
    with visit.use(Visit()) as now:
        before = now.history.present
        for wrong in ({}, {"task": "lookup"}, {"task": ["lookup"], "column": "even"}, {"task": "x", "column": "even"}):
            page.on_findings({"type": "cell", **wrong})
            assert now.history.present == before
        page.on_findings({"type": "cell", "task": "count", "column": "even"})
        assert (now.history.present.page, now.history.present.training.recipe) == (
            "training", recorded.recipe_of("count", "even"))


CHARTS = (Chart("dots", [{"name": "a [b](c)", "value": 1.0, "which": "source"},
                         {"name": "d", "value": 2.0, "which": "here"}], "ratio", rule=(1.0, "equal"), alt="a and d"),
          Chart("lines", [{"name": name, "x": x, "value": x / 2, "seed": seed}
                          for name in "ab" for x in (64, 128) for seed in (0, "source")], "share", "tokens"))


def test_charts_hold_every_number():
    dots, lines = map(statement.chart_spec, CHARTS)
    assert [(row["name"], row["which"], row["value"]) for row in rows(dots)] == \
        [(point["name"], point["which"], point["value"]) for point in CHARTS[0].points]
    assert table(lines) == {name: [(64, 32.0), (128, 64.0)] for name in "ab"}  # the means of two seeds
    assert {(row["x"], row["y"], row["note"]) for row in rows(lines, form="dot")} == {
        (x, x / 2, f"seed {seed}") for x in (64, 128) for seed in (0, "source")}


def test_every_chart_of_a_statement_is_there_and_series_of_a_chart_differ():
    for key, (claim, each) in EVERY.items():
        shown = header(key, drawn=True)["open"]["charts"]
        names = [chart["name"] for chart in shown]
        assert len(set(names)) == len(names)
        assert ("Result" in names, "Learning curves" in names) == (each.chart is not None, claim.curves is not None)
        assert ("By text length" in names) == (key in statement.LENGTHS)
        for chart in shown:
            assert chart["alt"] and chart["spec"]["datasets"]["rows0"]
            series = looks(chart["spec"])
            # two tasks of one claim have models of the same attention type, which have one style in all charts
            assert chart["what"] == "curves" or len(set(series.values())) == len(series), (key, series)
    assert style("stories-softmax") == style("masked-softmax") == style("softmax") == style("1/√d")


def test_the_curves_over_constant_heads_have_the_scores_of_the_studies():
    shown = {chart["name"]: chart["spec"] for chart in header("papa-average", drawn=True)["open"]["charts"]}
    studies = list(statement.studies_of_papa())
    assert len(studies) >= 2
    for study, own in ((study, study.of_tasks()) for study in studies):
        learned = [series for series in table(shown[study.title]) if "learned order" in series and "constant" in series]
        assert [value for _x, value in table(shown[study.title])[learned[0]]] == [
            round(drop, 5) for count in own.counts if (drop := own.mean_drop(LEARNED, count)) is not None]
        datasets = shown[f"{study.title}, by task"]["datasets"]
        assert len([name for name in datasets if name.startswith("rows")]) == len(study.tasks)


def strings(value: Any) -> Iterator[str]:
    """Yields the strings in a JSON value, but not its keys."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from strings(item)


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("key", KEYS)
def test_no_english_sentence_is_left_in_chinese(key: str):
    for own in (each for each in EVERY if each.startswith(f"{key}-")):
        content = header(own, drawn=True)
        hidden = {"command": "", "lab": ""}
        found = list(strings(content | {"open": content["open"] | hidden}))
        assert len(found) > 50
        assert {run for text in found for run in WORD.findall(CODE.sub("", text))} <= NAMES | keys_of(content["open"])


def keys_of(shown: Any) -> set[str]:
    """Returns the strings of specifications that Vega-Lite reads, such as expressions."""
    return {run for chart in shown["charts"] for name, value in chart["spec"].items() if name not in ("datasets",
            "description") for text in strings(value) for run in WORD.findall(text) if text.isascii()}


def test_an_empty_repository_has_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(page.claims, "read", lambda: judge(Evidence(tmp_path, tmp_path, tmp_path)))
    monkeypatch.setattr(page, "_stamp", lambda: -1)
    content = header()
    assert [each["word"] for each in content["verdicts"]] == [MISSING] and content["open"]["plot"] is None


def test_the_numbers_of_a_test_have_their_unit_and_minus_signs():
    claim, each = EVERY["synthesizer-mixtures"]
    verdict = Verdict("holds", "", value=0.642, low=-0.228, high=1.52, bound=2.0, is_limit=True, unit="%")
    facts = dict(statement.detail(claim, replace(each, verdict=verdict))["facts"])
    assert facts["Test"].endswith(": 0.642% (90% interval −0.228 to 1.52%; limit 2%)")
    assert replace(verdict, value=1.0, high=2.0, unit="ROUGE-L").interval == \
        "1.0 ROUGE-L (90% interval −0.228 to 2 ROUGE-L; limit 2 ROUGE-L)"


def test_learning_curves_are_those_of_the_compared_models():
    names = {"synthesizer-mixtures": {"stories-softmax", "stories-dense-softmax", "stories-random-softmax"},
             "selective-longer": {"assignment-selective", "assignment-softmax"},
             "synthesizer-speed": {point["name"] for point in EVERY["synthesizer-speed"][0].curves.points}}
    for key, expected in names.items():
        spec = {chart["name"]: chart for chart in statement.charts(*EVERY[key])}["Learning curves"]["spec"]
        assert {row["series"] for row in rows(spec)} == expected


def test_notes_and_waiting_models_are_shown():
    made = Statement("made-a", "A", "1.0", "0.9", "sure", "asked", Verdict("does not hold here", "because"),
                     [{"a": "1"}], None, "command")
    claim = Claim("made", "Made", "Nobody", "Nothing", (), "stories", [made], waiting=("stories-[a](b)",))
    assert dict(statement.detail(claim, made)["facts"])["Note"] == "because"
    assert "stories-[a](b)" in statement.detail(claim, made)["methods"][1]
    holds = dict(statement.detail(claim, replace(made, verdict=Verdict("holds", "")))["facts"])
    assert "Note" not in holds
