"""Opens the model in a folder as a ForeignLab, or refuses it with the reason.

Of a checkpoint that transformers 4 pruned, the heads that `pruned_heads` in config.json names have no weights, but
transformers 5 builds every head. The missing rows and columns are filled with zeros, so a pruned head adds exactly
nothing, as with a gate of 0. `ForeignLab.closed` contains the pruned heads.
"""

import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers.utils import logging

from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.comparison import SeesFutureError, compare
from models.labs.foreign.opening.facts import kinds_of, make_reader, with_field
from models.labs.foreign.opening.files import check_folder, elements, weights_of
from models.labs.foreign.reading.readers import CausalReader, TextReader
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.refusals import ForeignError, refuse, why

Pruned = Mapping[int, frozenset[int]]  # layer -> heads that were cut
HARMLESS = ("pooler", "position_ids", "token_type_ids")  # parameters that a file may lack: nothing shown needs them
# parameters that a file may hold without a use: tables that transformers computes, and poolers
NEEDLESS = re.compile(r"(position_ids|inv_freq|masked_bias|attn\.bias|attention\.bias)$|pooler|relative_position_index")
HEADS = ("lm_head", "embed_out", "cls.predictions", "output.weight")  # names of the weights of a language-model head
_opening = threading.Lock()  # a lock, because transformers replaces functions of torch while it builds a model


def pruned_heads(folder: Path, layers: int, heads: int) -> Pruned:
    """Returns the heads that are missing from the weights of a folder."""
    given = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("pruned_heads") or {}
    try:
        pruned = {int(layer): frozenset(map(int, cut)) for layer, cut in given.items() if cut}
    except (AttributeError, TypeError, ValueError) as error:
        raise refuse("config damaged", why="pruned_heads") from error
    if any(not 0 <= layer < layers or not all(0 <= head < heads for head in cut) for layer, cut in pruned.items()):
        raise refuse("config damaged", why="pruned_heads")
    return pruned


def whole_weights(files: list[Path], model: Any, pruned: Pruned, heads: int) -> dict[str, Tensor]:
    """Returns the weights with zeros for the pruned heads."""
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    weights: dict[str, Tensor] = {}
    for file in files:
        weights |= load_file(file)
    for name, tensor in weights.items():
        layer = re.search(r"\.(\d+)\.", name)
        if layer is None or int(layer[1]) not in pruned or "att" not in name:
            continue
        cut, hidden = pruned[int(layer[1])], model.config.hidden_size
        shape = next((shape for known, shape in shapes.items() if f".{known}".endswith(f".{name}")
                      or f".{name}".endswith(f".{known}")), None)
        # transformers 5 renamed the modules of some models; then the shape follows from the number of remaining heads
        left = hidden * (heads - len(cut)) // heads
        shape = shape or torch.Size({left: hidden, 3 * left: 3 * hidden}.get(size, size) for size in tensor.shape)
        if shape != tensor.shape and len(shape) == tensor.ndim:
            weights[name] = _filled(tensor, shape, cut, heads, hidden)
    return weights


def _filled(tensor: Tensor, shape: torch.Size, cut: frozenset[int], heads: int, hidden: int) -> Tensor:
    """Returns the unpruned tensor with zeros for the pruned heads; a dimension may hold q, k and v, as in GPT-2."""
    for dim, size in enumerate(shape):
        if tensor.shape[dim] == size:
            continue
        groups = 3 if size == 3 * hidden else 1
        indices = torch.arange(size).view(groups, heads, -1)
        kept = indices[:, [head for head in range(heads) if head not in cut]].flatten()
        if len(kept) != tensor.shape[dim]:
            raise refuse("weights damaged")
        tensor = torch.zeros(*tensor.shape[:dim], size, *tensor.shape[dim + 1:], dtype=tensor.dtype).index_copy_(
            dim, kept, tensor)
    return tensor


def open_folder(name: str, folder: Path, root: Path | None = None) -> ForeignLab:
    """Opens the model in a folder."""
    check_folder(folder, root or folder)
    with _opening:
        reader = make_reader(name, folder)
        if not isinstance(reader, PictureReader):
            _ = reader.tokenizer  # the tokenizer is read first, because without it the weights need not be read
        try:
            return _opened(name, folder, reader)
        except (_NoHeadError, SeesFutureError):
            return _opened(name, folder, TextReader(name, folder, reader.config, reader.longest, reader.trained_length))


class _NoHeadError(Exception):
    """The weights of a language model's head are missing, so the model is a bare encoder or decoder."""


def _opened(name: str, folder: Path, reader: TextReader) -> ForeignLab:
    _check_described(reader, folder)
    model = _load(reader, folder)
    sites, kinds, body = compare(model, reader, kinds_of(reader.config))
    pruned = frozenset((kinds[0].name, layer, head) for layer, heads in _pruned(reader, folder).items()
                       for head in heads)
    return ForeignLab(name, reader, model, sites, kinds, body, closed=pruned)


def _pruned(reader: TextReader, folder: Path) -> Pruned:
    """Returns the heads that are missing from the weights; none for an encoder-decoder."""
    kind, *others = kinds_of(reader.config)
    return {} if others else pruned_heads(folder, kind.layers, kind.heads)


def _check_described(reader: TextReader, folder: Path) -> None:
    """Raises ForeignError if config.json describes far more weights than the files have: the others would be random.

    A head without weights, and tied weights that are counted twice, are accepted.
    """
    try:
        with torch.device("meta"):
            model = _built(reader)
    except Exception:  # `_load` raises the same error with its reason
        return
    described = sum(parameter.numel() for parameter in model.parameters())
    stored = sum(elements(folder / file) for file in weights_of(folder))
    if described > 3 * stored + 10**7:
        raise refuse("weights described", described=described, held=stored)


def _load(reader: TextReader, folder: Path) -> nn.Module:
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    pruned = _pruned(reader, folder)
    try:
        model, info = _whole(reader, folder, pruned) if pruned else _class(reader).from_pretrained(
            folder, config=reader.config, dtype=torch.float32, use_safetensors=True, trust_remote_code=False,
            local_files_only=True, attn_implementation="eager", output_loading_info=True,
            ignore_mismatched_sizes=True)
    except Exception as error:  # the exceptions that foreign files cause in transformers are not meant for visitors
        if "attn_implementation" in str(error) or "attention implementation" in str(error):
            raise refuse("own attention", kind=reader.config.model_type) from error
        if isinstance(error, ForeignError):
            raise
        if isinstance(error, ImportError):
            raise refuse("package", why=why(error)) from error
        if isinstance(error, OSError | SafetensorError):
            raise refuse("weights damaged") from error
        raise refuse("config damaged", why=with_field(reader.config.to_dict(), why(error))) from error
    finally:
        logging.set_verbosity(level)
    _check_weights(reader, model, info)
    for module in list(model.modules()):
        if hasattr(module, "set_attention_type"):  # otherwise BigBird switches to full attention at a short text
            module.set_attention_type("original_full")
    return model.eval().requires_grad_(False)


def _whole(reader: TextReader, folder: Path, pruned: Pruned) -> tuple[Any, Any]:
    """Returns the model of a pruned checkpoint, with zeros for the heads that are missing from its weights."""
    with torch.device("meta"):
        model = _built(reader)
    files = [folder / file for file in weights_of(folder)]
    weights = whole_weights(files, model, pruned, kinds_of(reader.config)[0].heads)
    reader.config.architectures = reader.config.architectures or [type(model).__name__]
    loaded = type(model).from_pretrained(None, config=reader.config, state_dict=weights, dtype=torch.float32,
                                         attn_implementation="eager", output_loading_info=True)
    return loaded[0], loaded[1]


def _class(reader: TextReader) -> Any:
    """Returns the class that loads the model: the automatic class, or the one that config.json names."""
    auto = getattr(transformers, reader.auto)
    name = (reader.config.architectures or [""])[0]
    named = getattr(transformers, name, None)
    is_bare = type(reader) is TextReader and name.endswith("Model") and "LMHead" not in name
    is_known = type(reader.config) in getattr(auto, "_model_mapping", {type(reader.config)})
    return named if (is_bare or not is_known) and hasattr(named, "_from_config") else auto


def _built(reader: TextReader) -> Any:
    kind = _class(reader)
    return kind._from_config(reader.config) if hasattr(kind, "_from_config") else kind.from_config(reader.config)


def _check_weights(reader: TextReader, model: nn.Module, info: Any) -> None:
    """Raises ForeignError for weights of another shape, unused weights in the model's modules, and missing weights."""
    for first, held, described in sorted(info["mismatched_keys"], key=str):
        raise refuse("config unfit", first=first, held=tuple(held), described=tuple(described))
    # modules and lists of modules, without the name of the body in front, which some files leave out
    body = getattr(model, "base_model", model)
    modules = {_ending(model, name) for name, module in model.named_modules() if name and module is not body}
    unused = sorted(key for key in info["unexpected_keys"] if not NEEDLESS.search(key) and (
        _ending(model, key.rpartition(".")[0]) in modules or
        _ending(model, re.split(r"\.\d+\.", key)[0]) in modules and re.search(r"\.\d+\.", key)))
    if unused:
        raise refuse("weights unused", count=len(unused), first=unused[0])
    missing = sorted(key for key in info["missing_keys"] if not any(part in key for part in HARMLESS))
    if not missing:
        return
    if isinstance(reader, CausalReader) and all(key.startswith(HEADS) for key in missing):
        raise _NoHeadError
    raise refuse("weights missing", count=len(missing), first=missing[0])


def _ending(model: Any, name: str) -> str:
    return name.removeprefix(f"{model.base_model_prefix}.")
