"""A visitor's data for external models during a session: constant matrices and pictures."""

from app.server import serving
from app.state import visit
from models import Lab

MOST_LABS = 2  # number of models with constant matrices per visitor; 12 x 12 heads at 128 tokens take 9 MiB
MOST_PICTURE = 8 * 2**20  # largest number of bytes of a picture's file


def opened(name: str, chat: bool = False) -> Lab:
    """Returns a model, with this visitor's constant matrices if there are any; `chat` selects its chat template."""
    lab = with_constants(serving.load(name))
    return lab.in_chat if chat else lab


def with_constants(lab: Lab) -> Lab:
    """Returns the visitor's copy of a model with constant matrices, if there is one."""
    copy = _labs().get(lab.name)
    # Two model folders can have the same name. The copy shares its task object only with the model it was made from.
    return copy if copy is not None and copy.task is lab.task else lab


def keep_constants(lab: Lab) -> None:
    """Stores a model with new constant matrices. If there are more than MOST_LABS models, removes the oldest."""
    labs = _labs()
    labs.pop(lab.name, None)
    labs[lab.name] = lab
    while len(labs) > MOST_LABS:
        labs.pop(next(iter(labs)))


def _labs() -> dict[str, Lab]:
    return visit.current().labs


def picture(model: str) -> bytes | None:
    return visit.current().pictures.get(model)


def set_picture(model: str, data: bytes | None) -> None:
    """Stores the visitor's picture and removes any earlier one."""
    visit.current().pictures = {} if data is None else {model: data}
