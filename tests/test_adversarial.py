"""Runs a short version of `python -m tests.adversarial`."""

import pytest

from tests import adversarial

CASES = {"links": 150, "plans": 150, "texts": 20, "events": 100, "files": 15, "pages": 4}


@pytest.mark.parametrize("name", adversarial.ATTACKS)
def test_nothing_that_strangers_send_breaks_anything(name: str):
    assert adversarial.batch(name, seed=len(name), count=CASES[name]) >= CASES[name] // 2


def test_the_attacks_detect_a_fault(monkeypatch):
    """The attacks detect a fault: a state that no link can open is reported."""
    monkeypatch.setattr(adversarial, "query_of", lambda state: "n=abc")
    with pytest.raises(AssertionError):
        adversarial.batch("links", seed=1, count=20)
