"""A model's folder: what is in it, how it is written after training and read by the app.

    config.json            the Config
    model.safetensors      weights, float16
    constant.safetensors   PAPA's mean matrices (L, H, limit, limit), lower triangles as float16
    card.json              what it is, data, training, numbers
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.attention import TYPES
from models.attention.base import Record
from models.tasks.base import Task
from models.transformer import Config, Transformer

CHECKPOINTS = Path(__file__).with_name("checkpoints")
FILES = ("config.json", "model.safetensors", "constant.safetensors", "card.json")
CARD_KEYS = ("name", "attention", "model", "data", "training", "metric", "evaluate")
CONSTANT_TEXTS = 256  # training texts that a constant matrix is the mean of


class CheckpointError(Exception):
    """A model's folder that cannot be read; the message names the file and the command that makes it again."""


@torch.inference_mode()
def mean_weights(model: Transformer, texts: Tensor) -> Tensor:
    """PAPA's constant matrices: the mean of each head's weights over texts (arXiv 2211.03495, section 3.1).

    All texts have the same length, so every entry (i, j <= i) is a mean over all of them, and rows sum to 1.

    Args:
        texts: (B, N) ids.

    Returns:
        (L, H, N, N) float32.
    """
    layers: list[Tensor] = []
    for part in texts.split(32):
        records: list[Record] = []
        model(part, records=records)
        sums = [record.live.sum(0) for record in records]
        layers = [a + b for a, b in zip(layers, sums, strict=True)] if layers else sums
    return torch.stack(layers) / len(texts)


def pack(matrices: Tensor) -> Tensor:
    """(L, H, N, N) causal matrices -> (L, H, N (N + 1) / 2) their lower triangles."""
    rows, columns = torch.tril_indices(*matrices.shape[-2:])
    return matrices[..., rows, columns]


def unpack(triangles: Tensor, n: int) -> Tensor:
    """The inverse of pack, rows normalised to sum to 1, which float16 lost: float32."""
    matrices = torch.zeros(*triangles.shape[:-1], n, n)
    rows, columns = torch.tril_indices(n, n)
    matrices[..., rows, columns] = triangles.float()
    return matrices / matrices.sum(-1, keepdim=True)


def read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write(folder: Path, model: Transformer, constant: Tensor) -> None:
    """Config, weights and constant matrices; the card is written last, by who knows the numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", dataclasses.asdict(model.config))
    save_file({name: tensor.half() for name, tensor in model.state_dict().items()}, folder / "model.safetensors")
    save_file({"self": pack(constant).half().contiguous()}, folder / "constant.safetensors")


def read_model(folder: Path) -> Transformer:
    """The model in float32, in evaluation mode, its gradients off.

    Raises:
        CheckpointError: a file is missing, truncated, or does not fit the others.
    """
    config = _guarded(folder, "config.json", lambda path: Config(**read_json(path)))
    if config.attention not in TYPES:
        raise _broken(folder, "config.json", f"names an unknown attention type, {config.attention!r},")
    with torch.device("meta"):  # no time is spent on initialising what is about to be overwritten
        model = Transformer(config)
    weights = _guarded(folder, "model.safetensors", load_file)
    try:
        model.load_state_dict({name: tensor.float() for name, tensor in weights.items()}, assign=True)
    except RuntimeError as error:
        raise _broken(folder, "model.safetensors", "does not fit config.json") from error
    return model.eval().requires_grad_(False)


def read_constant(folder: Path, config: Config, limit: int) -> Tensor:
    """(L, H, limit, limit) float32 constant matrices; raises CheckpointError as read_model does."""
    packed = _guarded(folder, "constant.safetensors", load_file).get("self")
    expected = (config.layers, config.heads, limit * (limit + 1) // 2)
    if packed is None or tuple(packed.shape) != expected:
        raise _broken(folder, "constant.safetensors", f"has not the shape {expected}")
    return unpack(packed, limit)


def read_card(folder: Path) -> dict[str, Any]:
    """The card; raises CheckpointError as read_model does."""
    card = _guarded(folder, "card.json", read_json)
    if missing := [key for key in CARD_KEYS if key not in card]:
        raise _broken(folder, "card.json", f"lacks {', '.join(missing)}")
    return card


def _guarded(folder: Path, file: str, reader: Any) -> Any:
    try:
        return reader(folder / file)
    except FileNotFoundError as error:
        raise _broken(folder, file, "is missing") from error
    except (SafetensorError, ValueError, TypeError, AttributeError, OSError) as error:
        raise _broken(folder, file, "is damaged") from error


def _broken(folder: Path, file: str, what: str) -> CheckpointError:
    place = Path(*folder.parts[-3:]) / file  # from the repository's root: no path of the server
    return CheckpointError(f"{place} {what}. Restore it with: git checkout -- {place}; "
                           f"or train it again with: python -m models.training {folder.name} --data DIR")


def finish(name: str, model: Transformer, task: Task, folder: Path, seed: int, target: Path) -> None:
    """After the last step: constants, files, numbers measured on what ships, and the card."""
    from models.cards import make_card  # here, because a card names the recipe, which names the tasks

    write(target, model, mean_weights(model, task.typical(CONSTANT_TEXTS)))
    shipped = read_model(target)
    write_json(target / "card.json", make_card(name, shipped, task, folder, seed, task.metric(shipped)))
