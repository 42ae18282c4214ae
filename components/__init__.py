"""Components that the browser displays, one function per component.

The only module of app/ that the components import is app.texts.
"""

from components.chooser import catalogue, chooser
from components.comparison import comparison
from components.contributions import contributions
from components.dial import dial, paragraph, table
from components.effect import effect
from components.figure import figure, spec_of
from components.head_map import head_map
from components.heads import Grid, heads
from components.hiding import hiding
from components.lens import lens
from components.lesson import lesson
from components.library import library
from components.mounting import Part, answering, mount, page_style
from components.navigation import navigation
from components.notice import notice
from components.opening import opening
from components.text_box import text_box
from components.toolbar import toolbar
from components.written import written

__all__ = ["Grid", "Part", "answering", "catalogue", "chooser", "comparison", "contributions", "dial",
           "effect", "figure", "head_map", "heads", "hiding", "lens", "lesson", "library", "mount", "navigation",
           "notice", "opening", "page_style", "paragraph", "spec_of", "table", "text_box", "toolbar", "written"]
