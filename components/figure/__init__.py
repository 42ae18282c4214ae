"""A chart of figures/ inside another component: Vega draws it, with a table of its numbers and a download menu."""

from typing import Any

from app import texts

Spec = dict[str, Any]


def spec_of(spec: Spec) -> Spec:
    """Returns a chart specification with texts in the visitor's language."""
    return texts.translated({key: value for key, value in spec.items() if key != "config"})
