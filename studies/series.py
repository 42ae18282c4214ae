"""Colour and dashes of the series in charts of studies: those of the model that a series belongs to."""

from typing import Any

from models import catalogue
from models.info import DASHES, style_of_unknown
from models.nets.attention import TYPES

# series that are neither a model nor an attention type -> the name whose style they have, and the shift of their dashes
_SERIES = {
    "log n": ("log-n", 0), "factorised random": ("factorized-random", 0),
    "memory loss": ("stories-selective-memory", 0),
    "1/√d": ("softmax", 0), "constant temperature": ("temperature", 0), "relu²": ("gau-relu2", 0),
    "GAU softmax": ("gau-softmax", 0), "GAU softmax, read with log n": ("gau-softmax", 2),
    "relu²/n, n fixed": ("gau-relu2", 0), "relu²/n, n = length": ("gau-relu2", 2),
    "relu²/n, mixed lengths": ("gau-relu2-mixed", 0), "selective, oldest tokens dropped": ("selective", 2),
    "memory loss, oldest tokens dropped": ("stories-selective-memory", 2), "softmax, oldest tokens dropped": ("softmax",
                                                                                                              2),
    "source, log n": ("log-n", 3), "source, 1/√d": ("softmax", 3)}
# series of the encoders of studies/encoders.py
_ENCODERS = {"small": (2, 3), "middle": (4, 1), "large": (5, 4)} | {size: (colour, 5) for colour, size in enumerate((
    "64x1", "64x2", "96x1", "96x3", "128x2", "128x3", "160x2", "160x3"))}
_STYLES = {f"masked-{size}{moment}": style for size, style in _ENCODERS.items() for moment in ("", "-900")}
_REFERENCE = "ln n"  # the beginning of the name of a bound


def style(name: str, reading: int = 0) -> dict[str, Any]:
    """Returns colour and dash of a series, the same in every chart."""
    if name.startswith(_REFERENCE):
        return {"colour": "faint", "dash": 2, "kind": "plain"}
    subject, moved = _SERIES.get(name, (name, 0))
    if subject in TYPES:
        colour, dash = TYPES[subject].colour, TYPES[subject].dash
    elif subject in _STYLES:
        colour, dash = _STYLES[subject]
    else:
        info = catalogue.describe(subject)
        colour, dash = style_of_unknown(subject) if info is None else info.style
    return {"colour": colour, "dash": (dash + moved + reading) % DASHES}
