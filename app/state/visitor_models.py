"""What a visitor made of foreign models, as long as the session lives: constant matrices, pictures, work under way."""

from __future__ import annotations

from typing import Any

from app.server import serving
from app.server.jobs import Job
from app.state import visit
from models import Lab

MOST_LABS = 2  # with constant matrices of one visitor: 12 x 12 heads at 128 tokens take 9 MiB
MOST_PICTURE = 8 * 2**20  # bytes of a picture's file


def job() -> Job[Any] | None:
    """The work under way."""
    return visit.current().job


def set_job(work: Job[Any] | None) -> None:
    visit.current().job = work


def opened(name: str) -> Lab:
    """The model of this name as this visitor has it; raises as serving.load does."""
    return with_constants(serving.load(name))


def with_constants(lab: Lab) -> Lab:
    """The model with the constant matrices that this visitor made for it, if there are any."""
    made = _labs().get(lab.name)
    # Another folder may have the same name: a copy of a model with new matrices still has its task.
    return made if made is not None and made.task is lab.task else lab


def keep_constants(lab: Lab) -> None:
    """Keeps a model with its new constant matrices; the oldest goes if there are too many."""
    labs = _labs()
    labs.pop(lab.name, None)
    labs[lab.name] = lab
    while len(labs) > MOST_LABS:
        labs.pop(next(iter(labs)))


def _labs() -> dict[str, Lab]:
    return visit.current().labs


def picture(model: str) -> bytes | None:
    """The picture that the visitor chose for a model, as a file's bytes."""
    return visit.current().pictures.get(model)


def set_picture(model: str, data: bytes | None) -> None:
    """Keeps one picture; None forgets it."""
    visit.current().pictures = {} if data is None else {model: data}
