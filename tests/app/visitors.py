"""A session of a visitor without Streamlit, for tests of event handlers."""

import pytest

from app.state import visit
from app.state.history import History
from app.state.visit import Visit
from components import channel


def visiting(monkeypatch: pytest.MonkeyPatch, history: History | None = None) -> Visit:
    """Creates a new session, which is the current one until the test ends."""
    now = Visit(history=history or History())
    monkeypatch.setattr(visit, "current", lambda: now)
    monkeypatch.setattr(channel, "current", lambda: now.channel)
    return now
