"""The pages: a module each, none imports another; state/lab_state.py names them. (Not in a folder `pages`: Streamlit
would take its files for scripts.)"""

from collections.abc import Callable

from app.panels.page.frame import Direct
from app.views import about, compare, constant, explore, heads, length, lessons, pruning, results, start, yours

DRAW: dict[str, Callable[[], None]] = {"explore": explore.page, "compare": compare.page, "length": length.page,
                                       "heads": heads.page, "pruning": pruning.page, "constant": constant.page,
                                       "lessons": lessons.page, "yours": yours.page, "start": start.page,
                                       "results": results.page, "about": about.page}
DIRECT: dict[str, Direct] = {"explore": explore.DIRECT, "compare": compare.DIRECT}  # what the events route answers
