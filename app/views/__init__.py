"""The pages, one module each, which do not import each other; state/lab_state.py names them.

The folder is not called `pages`, because Streamlit would treat its files as scripts.
"""

from collections.abc import Callable

from app.panels.page.frame import Direct
from app.views import (
                                       about,
                                       compare,
                                       constant,
                                       explore,
                                       heads,
                                       length,
                                       lessons,
                                       pruning,
                                       results,
                                       start,
                                       teachers,
                                       yours,
)

DRAW: dict[str, Callable[[], None]] = {"explore": explore.page, "compare": compare.page, "length": length.page,
                                       "heads": heads.page, "pruning": pruning.page, "constant": constant.page,
                                       "lessons": lessons.page, "yours": yours.page, "start": start.page,
                                       "results": results.page, "about": about.page, "teachers": teachers.page}
# the pages that the events route can answer
DIRECT: dict[str, Direct] = {"explore": explore.DIRECT, "compare": compare.DIRECT}
