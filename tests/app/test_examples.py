"""Every page has an example: one button that demonstrates the purpose of the page.

pytest tests/app/test_examples.py
"""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

import models
from app.views.compare import EXAMPLE
from tests.app.test_pages import all_sent, opened


def press(app: AppTest, key: str) -> AppTest:
    next(its for its in app.button if its.key == key).click().run()
    assert not app.exception
    return app


def test_the_example_of_compare_shows_one_right_and_one_wrong_answer():
    answers = {name: models.run(models.load(name), EXAMPLE["text"]).output for name in (EXAMPLE["model"],
                                                                                       EXAMPLE["with"])}
    best = {name: output.labels[int(output.probabilities.argmax())] for name, output in answers.items()}
    assert best[EXAMPLE["model"]] == "7" != best[EXAMPLE["with"]]
    app = press(opened(page="compare"), "example-compare")
    present = app.session_state["visit"].history.present
    assert (present.model, present.compared, present.text) == (EXAMPLE["model"], (EXAMPLE["with"],), EXAMPLE["text"])
    assert len(all_sent(app, "heads")) == 2
    # The button stays, so that the chips below it do not move.
    assert [its for its in app.button if its.key == "example-compare"]


def test_the_example_of_pruning_prunes_half_and_is_one_step_of_undo():
    app = press(opened(page="pruning", model="stories-softmax"), "example-pruning")
    past = app.session_state["visit"].history
    assert len(past.present.plan.heads) == 16
    assert [its.disabled for its in app.button if its.key == "example-pruning"] == [True]
    past.undo()
    assert not past.present.plan


def test_the_first_statement_of_results_is_unfolded_and_no_other():
    found = [its for its in opened(page="results").expander if its.label.startswith("Details")]
    assert found[0].proto.expanded and not any(its.proto.expanded for its in found[1:])
