"""Tests of the Results page without a browser: statements, verdicts, tables, charts, commands, missing measurements.

pytest tests/app/test_results.py
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

import models
from app.state import session, visit
from app.views import results
from models import catalogue
from studies.claims import (
    BUILT,
    FADES,
    FAILS,
    HOLDS,
    KEYS,
    MISSING,
    ONCE,
    OPEN,
    SMALL,
    Chart,
    Claim,
    Statement,
    Verdict,
    read,
)
from studies.claims.evidence import Evidence
from studies.claims.judge import judge
from studies.series import style
from tests.app.test_pages import all_sent
from tests.browser import ROOT
from tests.figures.specs import labels, looks, rows, table


def opened() -> AppTest:
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60).run()
    app.query_params["page"] = "results"
    return app.run()


def keyed(found: list[Claim]) -> dict[str, Claim]:
    return {claim.key: claim for claim in found}


def waiting(app: AppTest) -> list[str]:
    return [its.value.replace("\\", "") for its in app.caption if "will be trained again" in its.value]


def level(text: str) -> str:
    """Returns the text with ordinary spaces, and with a minus sign for each hyphen."""
    return text.replace("\u00a0", " ").replace("-", "−")


def texts(app: AppTest) -> str:
    shown = "\n".join(element.value for kind in ("markdown", "caption", "subheader")
                      for element in app.get(kind)).replace("\\", "")
    return re.sub(r"\[([^\]]*)\]\(https://[^)]*\)", r"\1", shown)  # the arXiv number of a paper is the text of a link


@pytest.mark.parametrize("claim", read(), ids=lambda claim: claim.key)
def test_each_claim_is_shown_with_what_is_measured_now(claim: Claim):
    app = opened()
    app.button_group(key=session.CLAIM).set_value(claim.key).run()
    assert not app.exception
    assert app.session_state["visit"].history.present.claim == claim.key
    shown = texts(app)
    for statement in claim.statements:
        assert statement.text in shown
        assert statement.source in shown
        assert statement.basis in shown and statement.ours.replace("-", "−") in level(shown)
    assert {element.value for element in app.code} >= {statement.command for statement in claim.statements}
    # the page also has a table of the claim's models and one of the swept learning rates; a table that two
    # statements share is shown once, and the second statement refers to it
    tables = [its.table for its in claim.statements]
    distinct = [table for place, table in enumerate(tables) if table not in tables[:place]]
    parts = sum(bool(its.parts) for its in claim.statements)
    assert len(app.table) == len(distinct) + parts + bool(claim.trainings) + bool(claim.rates)
    assert shown.count("in the table above") == len(tables) - len(distinct)
    assert len(app.get("download_button")) == len(claim.statements)
    drawn = [header for header, _ in all_sent(app, "figure")]
    assert {header["models"][0] for header in drawn if header["what"] == "results"} == \
        {its.key for its in claim.statements if its.chart is not None}
    assert ("curves" in [header["what"] for header in drawn]) == (claim.curves is not None)
    assert all(header["alt"] and header["spec"]["datasets"]["rows0"] for header in drawn)
    for name in claim.models:
        if name in models.names():
            assert name in "".join(str(table.value) for table in app.table).replace("\\", "")


def test_claims_have_the_keys_that_links_name():
    assert [claim.key for claim in read()] == list(KEYS)


def test_the_picture_has_every_statement_with_its_numbers_and_its_verdict():
    pictures = [header for header, _ in all_sent(opened(), "figure") if header["what"] == "statements"]
    shown = [row for header in pictures for row in header["spec"]["datasets"]["rows0"]]
    assert {row["key"]: (row["text"], row["source"], level(row["ours"]), row["verdict"]) for row in shown} == {
        its.key: (its.text, its.sourced, level(its.ours), its.verdict.word) for claim in read()
        for its in claim.statements}
    assert {row["verdict"] for row in shown} <= set(results.LOOKS)
    assert len({(look.shape, look.is_filled) for look in results.LOOKS.values()}) == len(results.LOOKS)
    assert all(str(len(header["spec"]["datasets"]["rows0"])) in header["title"] for header in pictures)


def test_the_statements_that_hold_are_first_and_the_open_ones_are_folded():
    app = opened()
    first, folded = ([row["verdict"] for row in header["spec"]["datasets"]["rows0"]]
                     for header, _ in all_sent(app, "figure") if header["what"] == "statements")
    assert first[0] == HOLDS and first == sorted(first, key=[HOLDS, ONCE, SMALL, FADES, FAILS, BUILT, MISSING].index)
    assert set(folded) == {OPEN}
    # a sentence above the picture has the number of folded statements
    assert any(caption.value.startswith(f"{len(folded)} of {len(first) + len(folded)} statements are {OPEN}")
               for caption in app.caption)
    groups = [its for its in app.expander if its.label.startswith(f"{OPEN}: ")]
    assert groups[0].label == f"{OPEN}: {len(folded)}" and not groups[0].proto.expanded
    # the statements of the claim: the open ones are in one group, which is closed too
    claim = read()[0]
    count = sum(statement.verdict.word == OPEN for statement in claim.statements)
    assert groups[1].label == f"{OPEN}: {count}" and not groups[1].proto.expanded
    assert len(groups[1].subheader) == count


def test_a_claim_with_only_open_statements_opens_their_group(monkeypatch):
    claim = next(claim for claim in read() if OPEN in {its.verdict.word for its in claim.statements})
    claim = replace(claim, statements=[its for its in claim.statements if its.verdict.word == OPEN])
    monkeypatch.setattr(results, "_claims_by_key", lambda stamp: keyed([claim]))
    groups = [its for its in opened().expander if its.label.startswith(f"{OPEN}: ")]
    assert [its.proto.expanded for its in groups] == [False, True]


def test_a_statement_of_the_picture_opens_its_claim():
    app = opened()
    with visit.use(app.session_state["visit"]) as now:
        for value in ("nobody-knows", 7, None, "gated-"):  # a forged event changes nothing else
            now.channel.receive([("overview", {"type": "pick", "value": value, "sequence": now.channel.newest + 1})])
    assert app.run().button_group(key=session.CLAIM).value == "gated"


def test_a_link_opens_its_claim():
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    app.query_params["claim"] = "normalisation"
    app.run()
    app.query_params["page"] = "results"
    app.run()
    assert app.button_group(key=session.CLAIM).value == "normalisation"


def test_a_broken_link_is_told_where_there_is_no_text_box():
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    app.query_params["claim"] = "*nope*"
    app.run()
    app.query_params["page"] = "results"
    app.run()
    assert len(app.warning) == 1
    assert r"\*nope\*" in app.warning[0].value


def test_an_empty_repository_has_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "_claims_by_key", lambda stamp: keyed(judge(Evidence(tmp_path, tmp_path, tmp_path))))
    # without a new stamp the page would show cached charts of the stored claims
    monkeypatch.setattr(results, "_stamp", lambda: 0)
    app = opened()
    assert not app.exception
    assert MISSING in texts(app)
    ((header, _arrays),) = all_sent(app, "figure")  # the picture of all statements; no other chart has data
    assert header["what"] == "statements"
    assert {row["verdict"] for row in header["spec"]["datasets"]["rows0"]} == {MISSING}


CHARTS = (Chart("dots", [{"name": "a [b](c)", "value": 1.0, "which": "source"},
                         {"name": "d", "value": 2.0, "which": "here"}], "ratio", rule=(1.0, "equal"), alt="a and d"),
          Chart("lines", [{"name": name, "x": x, "value": x / 2, "seed": seed}
                          for name in "ab" for x in (64, 128) for seed in (0, "source")], "share", "tokens"))


def test_learning_curves_are_drawn_where_cards_have_them(monkeypatch):
    claim = replace(made_up()[0], key="curves", curves=CHARTS[1])
    monkeypatch.setattr(results, "_claims_by_key", lambda stamp: keyed([claim]))
    app = opened()
    assert "curves" in [header["what"] for header, _ in all_sent(app, "figure")]
    assert "before learning curves were stored" not in texts(app)
    monkeypatch.setattr(results, "_claims_by_key", lambda stamp: keyed([replace(claim, key="none", curves=None)]))
    assert "before learning curves were stored" in texts(opened())


def test_models_that_wait_to_be_trained_again_are_named(monkeypatch):
    claim = replace(made_up()[0], waiting=("stories-[a](b)",))
    monkeypatch.setattr(results, "_claims_by_key", lambda stamp: keyed([claim]))
    shown = [its for its in waiting(opened()) if "stories-[a](b)" in its]
    assert len(shown) == 1 and "learning rate" in shown[0]
    monkeypatch.setattr(results, "_claims_by_key", lambda stamp: keyed(made_up()))
    assert not waiting(opened())


GRADES = (FADES, ONCE, BUILT)


def made_up() -> list[Claim]:
    """Returns a claim with one statement per verdict, with and without charts and tests."""
    tested = ("", "a second training", *[""] * 6)
    verdicts = zip((HOLDS, SMALL, FAILS, MISSING, OPEN, *GRADES), itertools.cycle(CHARTS), tested,
                   strict=False)
    return [Claim("made", "Made up: for this test", "Nobody", "Nothing", (), "stories", [
        Statement(f"made-{i}", f"Statement {i} is $1 *bold*", "1.0", "0.9", "sure.", "asked", Verdict(word, "because"),
                  [{"a": "1", "b": "2, 3"}], chart if word != MISSING else None, f"command {i}", "reason", tested)
        for i, (word, chart, tested) in enumerate(verdicts)])]


def test_verdicts_are_words_and_reasons_say_whether_they_were_tested(monkeypatch):
    monkeypatch.setattr(results, "_claims_by_key", lambda stamp: keyed(made_up()))
    app = opened()
    assert not app.exception
    shown = texts(app)
    for word in (HOLDS, SMALL, FAILS, MISSING, OPEN, *GRADES):
        assert f"{word}: 1" in shown
        assert f": {word}]" in shown  # the verdict is the text of a badge
    # an explanation is shown only for statements that do not hold, are bounds, or fade
    assert shown.count("Most likely explanation") == 3
    assert "tested: a second training" in shown
    assert "a hypothesis, not tested" in shown
    assert "Statement 0 is $1 *bold*" in shown
    # stars in a statement are escaped, so they are not Markdown
    assert "\\*bold\\*" in "".join(element.value for element in app.markdown)


def test_charts_hold_every_number():
    dots, lines = map(results.chart_spec, CHARTS)
    assert [(row["name"], row["which"], row["value"]) for row in rows(dots)] == \
        [(point["name"], point["which"], point["value"]) for point in CHARTS[0].points]
    assert labels(dots) == ["equal"]
    # the points are the means of two seeds
    assert table(lines) == {name: [(64, 32.0), (128, 64.0)] for name in "ab"}
    assert {(row["x"], row["y"], row["note"]) for row in rows(lines, form="dot")} == {
        (x, x / 2, f"seed {seed}") for x in (64, 128) for seed in (0, "source")}


def test_a_model_has_one_style_on_all_pages_and_series_of_a_chart_differ():
    """Two series of one chart differ in colour or in dashes, and each kind of dashes has its own marker.

    A model has the same style in all charts.
    """
    for claim in read():
        for statement in claim.statements:
            series = looks(results.chart_spec(statement.chart)) if statement.chart else {}
            assert len(set(series.values())) == len(series), (statement.key, series)
    assert style("stories-softmax") == style("masked-softmax") == style("softmax") == style("1/√d")
    for name in models.names():
        family = [style(other) for other in catalogue.family(name)]
        assert all(family.count(one) == 1 for one in family), name


def test_tables_are_files():
    statement = made_up()[0].statements[0]
    assert list(csv.DictReader(io.StringIO(results.as_csv(statement)))) == statement.table
