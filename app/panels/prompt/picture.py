"""The picture that is the input of a vision model: upload field, and the attention of one query over the picture."""

from pathlib import Path

from app.state import visitor_models
from models import Lab
from models.capabilities import ReadsPictures
from models.prompt import Prompt

EXAMPLE = Path(__file__).parents[3] / "assets" / "picture.png"


def read(lab: Lab, of: str = "") -> Prompt:
    """Returns the visitor's picture, or the example, as a prompt.

    Args:
        lab: the vision model.
        of: name of the model for which the picture was chosen; default: this model.

    Returns:
        The prompt.

    Raises:
        InputError: the file is no valid picture, or the picture is too large.
    """
    chosen = visitor_models.picture(of or lab.name)
    return ReadsPictures.of(lab).read_picture(EXAMPLE.read_bytes() if chosen is None else chosen)
