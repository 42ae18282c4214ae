"""What stands on top of every page that works on a text: the header, the text box, and how the text was read."""

from __future__ import annotations

import streamlit as st

from app import header, serving, session, text
from app.state import History
from app.text import Reading
from models import Lab
from models.checkpoint import CheckpointError


def top(history: History) -> tuple[Lab, Reading] | None:
    """Draws it; None, with a message on the page, if the model cannot be loaded."""
    session.fill_widgets()
    try:
        lab = serving.load(history.present.model)
    except CheckpointError as error:
        header.draw(history)
        st.error(text.plain(str(error)))
        return None
    reading = text.read(lab, history)
    header.draw(history, reading.prompt.read_chars)
    text.draw(lab, history, reading)
    return lab, reading
