"""Computes constant matrices for an external model: each head's mean attention pattern over chosen texts (PAPA)."""

import streamlit as st

from app.server import limits
from app.server.jobs import Cancelled, Job, Progress
from app.state import session, visitor_models
from app.texts import N_, _
from models import Lab
from models.labs.foreign import ForeignError
from models.messages import message
from models.storage.checkpoint import CheckpointError
from models.storage.datasets import DATA
from models.tasks.stories import read_stories

OURS, PASTED, UPLOADED = N_("Short stories of this site"), N_("Pasted text"), N_("A text file")
MOST_TEXTS = 128
MOST_BYTES = 2 * 2**20  # largest number of bytes of an uploaded text


def draw(lab: Lab) -> None:
    """Displays the choice of texts and the button that starts the computation."""
    st.markdown(_("#### Constant heads"))
    if lab.constant is None:
        st.markdown(_("A constant head's pattern is its mean over many texts. Choose them; the result is kept until "
                      "your visit ends."))
    else:
        st.markdown(_("The matrices are ready for *Constant*."))
    source = st.segmented_control(_("Texts"), [OURS, PASTED, UPLOADED], default=OURS, key=session.SOURCE, required=True,
                                  format_func=_)
    text = ""
    if source == PASTED:
        text = st.text_area(_("One text per paragraph"), key=session.PASTED, height=160, max_chars=MOST_BYTES)
    elif source == UPLOADED:
        file = st.file_uploader(_("A text file, one text per paragraph"), type=["txt"], key=session.UPLOADED)
        text = "" if file is None else file.getvalue()[:MOST_BYTES].decode("utf-8", "replace")
    st.button(_("Make constant matrices"), key="make constants", on_click=_start, args=(lab.name, source, text),
              disabled=source != OURS and not text.strip())


def _start(model: str, source: str, text: str) -> None:
    """Starts the job. Takes the model's name instead of the model, because Streamlit stores button arguments."""
    # imported here, because they import torch and transformers, which are needed only for an open model
    from models.labs.foreign.lab import ForeignLab
    from models.labs.foreign.running.constants import mean_weights, passages

    def work(tell: Progress, cancelled: Cancelled) -> Lab:
        if not isinstance(lab, ForeignLab) or lab.task.sees:
            raise ForeignError(message("Only for models that read text"))
        texts = read_stories(DATA, "train")[:MOST_TEXTS] if source == OURS else passages(text, MOST_TEXTS)
        return lab.with_constant(mean_weights(lab, texts, progress=tell, cancelled=cancelled))

    try:
        lab = visitor_models.opened(model)
        limits.spend(limits.PASSES, MOST_TEXTS)
    except (limits.LimitError, CheckpointError, ForeignError) as error:
        st.session_state[session.JOB_PROBLEM] = str(error)
        return
    st.session_state[session.JOB_PROBLEM] = ""
    visitor_models.set_job(Job(message("Making constant matrices, texts"), work).start())
