"""The progress bar of a background job, with a button that cancels the job."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app.markdown import literal
from app.server.jobs import Job
from app.state import session
from app.texts import _

PACE = 0.5  # seconds between two updates of the bar


def draw(job: Job[Any], on_end: Callable[[Job[Any]], None]) -> None:
    """Displays the progress bar, which updates itself. When the job has ended, calls `on_end` and reruns the page."""
    @st.fragment(run_every=PACE if job.running else None)
    def bar() -> None:
        session.speak()
        if not job.running:
            on_end(job)
            st.rerun()
        st.progress(job.share, " · ".join([literal(_(job.what)), *amounts(job)]))
        st.button(_("Cancel"), key="cancel job", on_click=job.cancel)

    bar()


def amounts(job: Job[Any]) -> list[str]:
    """Returns the completed amount and the remaining time in words, if they are known.

    For a waiting job, the only element says that the job waits.
    """
    if job.waiting:
        return [_("waiting for other computations to finish")]
    amounts = []
    if job.of > 10_000:  # large numbers are bytes
        amounts.append(_("{done:,.0f} of {all:,.0f} MB", done=job.done / 1e6, all=job.of / 1e6))
    elif job.of:
        amounts.append(_("{done} of {all}", done=job.done, all=job.of))
    if job.left is not None:
        amounts.append(_("{left:.0f} s left", left=job.left))
    return amounts
