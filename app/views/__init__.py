"""The pages: one module per key of PAGES, named like the key, here or in the folder of a page with several modules.

A module has `parts`, which returns the components of a state; or it has `page`, which draws the page, and `answer` if
the events route can update the page without a run of the Streamlit script. Modules of pages do not import each other.
The folder is not called `pages`, because Streamlit would treat its files as scripts.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from app.panels import frame
from app.state.lab_state import LAB, PAGES, TRAINING, LabState

Answers = Callable[[LabState, Sequence[str]], frame.Answer | None]

_ELSEWHERE = {LAB: "app.lab.page", TRAINING: "app.training.page", "results": "app.findings.page"}
_MODULES = {page: import_module(_ELSEWHERE.get(page, f"{__name__}.{page}")) for page in PAGES}
DRAW: dict[str, Callable[[], None]] = {
    page: module.page if hasattr(module, "page") else partial(frame.draw, module.parts)
    for page, module in _MODULES.items()}
# the pages that the events route can update: (state, problems) -> components
ANSWERS: dict[str, Answers] = {
    page: module.answer if hasattr(module, "answer") else partial(frame.answer, module.parts)
    for page, module in _MODULES.items() if hasattr(module, "answer") or hasattr(module, "parts")}
