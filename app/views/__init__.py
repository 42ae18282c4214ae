"""The pages: one module per key of PAGES, with a function `page`. Modules of pages do not import each other.

The folder is not called `pages`, because Streamlit would treat its files as scripts.
"""

from collections.abc import Callable
from importlib import import_module

from app.panels.page.frame import Direct
from app.state.lab_state import PAGES

_MODULES = {page: import_module(f"{__name__}.{page}") for page in PAGES}
DRAW: dict[str, Callable[[], None]] = {page: module.page for page, module in _MODULES.items()}
# the pages that the events route can update without a run of the Streamlit script
DIRECT: dict[str, Direct] = {page: module.DIRECT for page, module in _MODULES.items() if hasattr(module, "DIRECT")}
