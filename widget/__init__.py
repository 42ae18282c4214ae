"""Shows heads and the effect of a plan in a notebook cell: `show`, `compare`, and the class of the widget.

anywidget is imported at the first use.
"""

from models import lazy

__getattr__, __dir__, __all__ = lazy.names_of(__name__, __file__)
