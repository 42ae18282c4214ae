"""The pages: one module per key of PAGES, named like the key, with a function `page`.

A module is in this folder or in a subfolder. Modules of pages do not import each other. The folder is not
called `pages`, because Streamlit would treat its files as scripts.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import walk_packages

from app.panels.page import frame
from app.state.lab_state import PAGES, LabState

Answers = Callable[[LabState, Sequence[str]], frame.Answer | None]

_NAMES = {module.name.rpartition(".")[2]: module.name for module in walk_packages(__path__, f"{__name__}.")}
_MODULES = {page: import_module(_NAMES[page]) for page in PAGES}
DRAW: dict[str, Callable[[], None]] = {page: module.page for page, module in _MODULES.items()}
# the pages that the events route can update without a run of the Streamlit script: (state, problems) -> components
ANSWERS: dict[str, Answers] = {page: module.ANSWER for page, module in _MODULES.items() if hasattr(module, "ANSWER")}
