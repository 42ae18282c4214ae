"""Writes the released checkpoint of a trained model: weights, constant matrices and card."""

from pathlib import Path
from typing import cast

from torch import Tensor

from models.nets.mean_patterns import mean_pair_patterns, mean_patterns
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Model, Transformer
from models.storage.checkpoint import digests, read_model, write, write_json
from models.tasks.base import Task
from models.tasks.pairs import read_by_decoder
from models.training.cards import make_card

CONSTANT_TEXTS = 256  # number of training texts over which a constant matrix is averaged
# number of training pairs for texts of at most 64 tokens, few of which have a 30th token; for longer texts there are
# fewer pairs, with the same total number of tokens
CONSTANT_PAIRS, PAIR_TOKENS = 4096, 64


def constants_of(model: Model, task: Task) -> dict[str, Tensor]:
    """Returns attention block -> constant matrices (L, H, queries, keys), the mean patterns over training texts."""
    limit = model.limit(task.reader.limit)
    if isinstance(model, Seq2Seq):
        texts, targets = task.corpus.typical(CONSTANT_PAIRS * PAIR_TOKENS // task.reader.limit)
        return mean_pair_patterns(model, texts[:, :limit],
                                  read_by_decoder(targets[:, :model.target_limit(task.reader.target_limit)]))
    return {"self": mean_patterns(cast(Transformer, model), task.corpus.typical(CONSTANT_TEXTS)[:, :limit])}


def finish(name: str, model: Model, task: Task, folder: Path, seed: int, target: Path) -> None:
    """Releases a trained model: computes constant matrices, writes the files, evaluates the written weights."""
    write(target, model, constants_of(model, task))
    shipped = read_model(target)
    card = make_card(name, shipped, task, folder, seed, task.metric.evaluate(shipped))
    write_json(target / "card.json", card | {"weights": digests(target)})
