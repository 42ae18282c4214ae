"""The picture that is the input of a vision model: upload field, and the attention of one query over the picture."""

from pathlib import Path

from app.state import visitor_models
from models import Lab
from models.capabilities import ReadsPictures
from models.prompt import Prompt

EXAMPLE = Path(__file__).parents[3] / "assets" / "picture.png"


def read(lab: Lab, of: str = "") -> Prompt:
    """Returns the picture that the visitor chose for this model or the model `of`, or the example, as a prompt.

    A file that is no valid picture, or too large a one, raises InputError.
    """
    chosen = visitor_models.picture(of or lab.name)
    return ReadsPictures.of(lab).read_picture(EXAMPLE.read_bytes() if chosen is None else chosen)
