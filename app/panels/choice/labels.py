"""Names of models in charts and sentences."""

from app.texts import _
from models import catalogue


def model_label(name: str) -> str:
    """Returns a label of one or two words that distinguishes a model within its family, in the visitor's language."""
    info = catalogue.describe(name)
    return name if info is None else _(info.label)
