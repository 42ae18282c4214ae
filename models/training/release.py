"""Writes the released checkpoint of a trained model: weights, constant matrices and card."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from torch import Tensor

from models.nets.mean_patterns import mean_pair_patterns, mean_patterns
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Model, Transformer
from models.storage.checkpoint import digests, read_model, write, write_json
from models.tasks.base import Task
from models.tasks.pairs import PairTask, read_by_decoder
from models.training.cards import make_card

CONSTANT_TEXTS = 256  # training texts that a constant matrix is the mean of
CONSTANT_PAIRS = 4096  # the same of pairs, which are short: few have a tenth or a thirtieth token


def constants_of(model: Model, task: Task) -> dict[str, Tensor]:
    """Returns the constant matrices by attention block, (L, H, queries, keys): the means over texts of the training
    data."""
    limit = model.limit(task.limit)
    if isinstance(model, Seq2Seq):
        assert isinstance(task, PairTask)
        texts, targets = task.typical(CONSTANT_PAIRS)
        return mean_pair_patterns(model, texts[:, :limit],
                                  read_by_decoder(targets[:, :model.target_limit(task.target_limit)]))
    return {"self": mean_patterns(cast(Transformer, model), task.typical(CONSTANT_TEXTS)[:, :limit])}


def finish(name: str, model: Model, task: Task, folder: Path, seed: int, target: Path) -> None:
    """After the last step: constants, files, numbers measured on what ships, and the card."""
    write(target, model, constants_of(model, task))
    shipped = read_model(target)
    card = make_card(name, shipped, task, folder, seed, task.metric(shipped))
    write_json(target / "card.json", card | {"weights": digests(target)})
