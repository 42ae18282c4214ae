"""Checkpoint: reads and writes the folder of one model.

config.json            the Config
model.safetensors      weights, 8 bits with a float32 scale per row; vectors float32
constant.safetensors   PAPA's mean matrices by block, (L, H, limit, limit) as float16; lower triangles if causal
card.json              description, data, training, metrics
steps/STEP/            the same files of a checkpoint after STEP training steps
"""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from models.errors import CheckpointError as CheckpointError
from models.errors import broken
from models.kind import TARGET, TEXT, Kind
from models.messages import message
from models.nets.attention import TYPES, kinds_of
from models.nets.config import Config, PairConfig
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Model, Transformer
from models.storage import released

CHECKPOINTS = released.checkpoints()
# a list of numbers in the form in which json.dumps indents it; it contains no lists, dicts or strings
_NUMBERS = re.compile(r"\[\n\s+([^\[\]{}\"]+?)\n\s*\]")
FILES = ("config.json", "model.safetensors", "constant.safetensors", "card.json")
CARD_KEYS = ("name", "task", "attention", "model", "data", "training", "metric", "evaluate")
MAY_BE_ZERO = ("attention_width", "target_length")
FILLING = ("normal_", "uniform_", "zero_", "fill_", "div_", "mul_", "copy_")  # tensor methods that set all values


def pack(matrices: Tensor, causal: bool) -> Tensor:
    """Returns matrices (L, H, N, N) for storage; causal ones as lower triangles, (L, H, N (N + 1) / 2)."""
    if not causal:
        return matrices
    rows, columns = torch.tril_indices(*matrices.shape[-2:])
    return matrices[..., rows, columns]


def unpack(packed: Tensor, n: int, causal: bool, is_distribution: bool) -> Tensor:
    """Returns packed matrices as float32 (L, H, N, N); rows of a distribution get sum 1 again."""
    matrices = packed.float()
    if causal:
        matrices = torch.zeros(*packed.shape[:-1], n, n)
        rows, columns = torch.tril_indices(n, n)
        matrices[..., rows, columns] = packed.float()
    return matrices / matrices.sum(-1, keepdim=True) if is_distribution else matrices


def quantise(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns matrices in 8 bits, and in `name.scale` each row's largest absolute value / 127; vectors unchanged."""
    packed = {}
    for name, tensor in weights.items():
        packed[name] = tensor.contiguous()
        if tensor.ndim > 1:
            scale = tensor.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127
            packed |= {name: (tensor / scale).round().to(torch.int8).contiguous(), f"{name}.scale": scale.contiguous()}
    return packed


def dequantise(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns float32 weights from the result of quantise."""
    scales = {name for name in packed if name.removesuffix(".scale") in packed and name.endswith(".scale")}
    return {name: tensor.float() * packed[f"{name}.scale"] if f"{name}.scale" in scales else tensor.float()
            for name, tensor in packed.items() if name not in scales}


def read_json(path: Path) -> dict[str, Any]:
    """Returns the content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes a JSON file with one line per key; a list of numbers is on one line, so that the file stays readable."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    text = _NUMBERS.sub(lambda match: f"[{', '.join(part.strip() for part in match[1].split(','))}]", text)
    path.write_text(text + "\n", encoding="utf-8")


def build(config: Config, initial_std: float | None = None, embedding_std: float = 0.02, dropout: float = 0.0) -> Model:
    """Returns a model of this shape with random initial weights; see Transformer and Seq2Seq."""
    if isinstance(config, PairConfig):
        return Seq2Seq(config, initial_std, embedding_std, dropout)
    return Transformer(config, initial_std, embedding_std)


def write_model(folder: Path, model: Model) -> None:
    """Writes config and weights into an existing folder."""
    write_json(folder / "config.json", dataclasses.asdict(model.config))
    save_file(quantise(model.state_dict()), folder / "model.safetensors")


def write(folder: Path, model: Model, constant: Mapping[str, Tensor]) -> None:
    """Writes config, weights and constant matrices by block; the caller writes the card, once the metrics are known."""
    folder.mkdir(parents=True, exist_ok=True)
    write_model(folder, model)
    save_file({kind.name: pack(constant[kind.name], kind.causal).half().contiguous()
               for kind in kinds_of(model.config)}, folder / "constant.safetensors")


class Unfilled(TorchFunctionMode):
    """A context that leaves new parameters unset: on the meta device torch would import sympy (70 MB, 2 s)."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init" or getattr(func, "__name__", "") in FILLING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def folder_of(name: str) -> Path:
    """Returns the folder of a released model; raises the ValueError of released.folder_of."""
    return released.folder_of(name, CHECKPOINTS)


def stamp(folder: Path | str) -> tuple[int, ...]:
    """Returns the modification times of config.json and card.json, 0 if missing; fast, for every click."""
    return tuple(_changed(f"{folder}/{file}") for file in ("config.json", "card.json"))


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each safetensors file; the card has those of the files that it was measured on."""
    return {name: digest(folder / name) for name in FILES if name.endswith(".safetensors")}


def read(folder: Path, limit: int, target_limit: int = 0) -> tuple[Any, dict[str, Tensor], dict[str, Any]]:
    """Returns model, constant matrices for these numbers of tokens (0: `limit`) and card; errors as in read_model."""
    card = read_card(folder)
    model = read_model(folder)
    constant = read_constant(folder, model.config, model.limit(limit), model.target_limit(target_limit or limit))
    known = card.get("weights")
    known = known if isinstance(known, dict) else {}  # a card that is not complete yet has no digests
    for file, digest in digests(folder).items():
        if known.get(file, digest) != digest:
            raise broken_file(folder, file, message("does not match the card: its SHA-256 differs"))
    return model, constant, card


def read_config(folder: Path) -> Config:
    """Returns the Config, a PairConfig for an encoder-decoder; raises the CheckpointError of read_model."""
    config = _guarded(folder, "config.json", lambda path: _config(read_json(path)))
    if config.attention not in TYPES:
        raise broken_file(folder, "config.json",
                          message("names an unknown attention type, {name!r},", name=config.attention))
    return config


def _config(fields: dict[str, Any]) -> Config:
    """Returns the Config; raises ValueError or TypeError for an unknown, missing or wrongly typed field."""
    config = PairConfig(**fields) if "encoder_layers" in fields else Config(**fields)
    for name, kind in get_type_hints(type(config)).items():
        value = getattr(config, name)
        fits = isinstance(value, (int, float) if kind is float else kind)
        if not fits or isinstance(value, bool) != (kind is bool) or kind is int and value < (name not in MAY_BE_ZERO):
            raise ValueError(f"{name} is {value!r}")
    if config.inner_width % config.heads:
        raise ValueError(f"{config.heads} heads do not share {config.inner_width} numbers")
    return config


def read_model(folder: Path) -> Any:
    """Returns the model in float32 and evaluation mode; raises CheckpointError for missing or damaged files."""
    config = read_config(folder)
    with torch.device("meta"), Unfilled():  # the meta device, so that no time is spent on values that are overwritten
        model = build(config)
    weights = _guarded(folder, "model.safetensors", load_file)
    try:
        model.load_state_dict(dequantise(weights), assign=True)
    except RuntimeError as error:
        raise broken_file(folder, "model.safetensors", message("does not fit config.json")) from error
    return model.eval().requires_grad_(False)


def read_constant(folder: Path, config: Config, limit: int, target_limit: int = 0) -> dict[str, Tensor]:
    """Returns attention block -> constant matrices (L, H, queries, keys) float32; raises the errors of read_model."""
    sizes = {TEXT: limit, TARGET: target_limit or limit}
    packed = _guarded(folder, "constant.safetensors", load_file)
    return {kind.name: _read_kind(folder, packed.get(kind.name), kind, sizes) for kind in kinds_of(config)}


def _read_kind(folder: Path, packed: Tensor | None, kind: Kind, sizes: Mapping[str, int]) -> Tensor:
    queries, keys = sizes[kind.query_row], sizes[kind.key_row]
    expected = (kind.layers, kind.heads, *([keys * (keys + 1) // 2] if kind.causal else [queries, keys]))
    if packed is None or tuple(packed.shape) != expected:
        raise broken_file(folder, "constant.safetensors", message("is not of shape {shape}", shape=expected))
    return unpack(packed, keys, kind.causal, kind.attention.is_distribution)


def read_card(folder: Path) -> dict[str, Any]:
    """Returns the content of card.json; raises the CheckpointError of read_model."""
    card = _guarded(folder, "card.json", read_json)
    if missing := [key for key in CARD_KEYS if key not in card]:
        raise broken_file(folder, "card.json", message("lacks {names}", names=", ".join(missing)))
    return card


def _guarded(folder: Path, file: str, reader: Any) -> Any:
    try:
        return reader(folder / file)
    except FileNotFoundError as error:
        raise broken_file(folder, file, message("is missing")) from error
    except (SafetensorError, ValueError, TypeError, AttributeError, OSError) as error:
        raise broken_file(folder, file, message("is damaged")) from error


def broken_file(folder: Path, file: str, what: str) -> CheckpointError:
    """Returns the error about a file of a model's folder; `what` is the fault, for example `is missing`."""
    model = folder.parents[1] if folder.parent.name == released.STEPS else folder
    keep = "" if model == folder else f" --keep {folder.name}"
    return broken(Path(*model.parts[-3:]) / folder.relative_to(model) / file, what,
                  f"python -m models.training {model.name}{keep}")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds an exclusive lock on a folder; waits while another process or thread holds it."""
    import fcntl  # imported here, because Windows has no fcntl; the app runs there without this module

    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
