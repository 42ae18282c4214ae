"""A job's progress, redrawn by itself while it runs; with a button that cancels it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from app.jobs import Job
from app.markdown import literal

PACE = 0.5  # seconds between two looks


def draw(job: Job[Any], on_end: Callable[[Job[Any]], None]) -> None:
    """Draws the bar; when the job has ended, calls `on_end` and runs the page again."""
    @st.fragment(run_every=PACE if job.running else None)
    def bar() -> None:
        if not job.running:
            on_end(job)
            st.rerun()
        left = "" if job.left is None else f", {job.left:.0f} s left"
        amount = f" {job.done / 1e6:,.0f} of {job.of / 1e6:,.0f} MB" if job.of > 10_000 else \
            f" {job.done} of {job.of}" if job.of else ""
        st.progress(job.share, f"{literal(job.what)}:{amount}{left}")
        st.button("Cancel", key="cancel job", on_click=job.cancel)

    bar()
