"""Opening a model: from a folder to a ForeignLab, refused with the reason where that cannot be.

What cannot be known from a config is measured: the model runs once as it is (eager, with its attentions) and once
through our attention function. Every layer must have called it, and both must say the same; so linear attention, sinks,
remote inventions and whatever comes next are refused rather than shown wrongly.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers.utils import logging

from models.kind import Kind
from models.labs.foreign.errors import ForeignError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.facts import kinds_of, make_reader
from models.labs.foreign.opening.files import check_folder
from models.labs.foreign.reading.readers import Seq2SeqReader, TextReader
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.running.attention import NAME, ForwardPass, LayerRecord, during
from models.messages import told
from models.nets.attention.base import UNTOUCHED

CHECKED, WRITTEN = 7, 4  # tokens of the text and of the decoder's row that a model is tried with
HARMLESS = ("pooler", "position_ids", "token_type_ids")  # what a file may lack: nothing that is shown reads it


def open_folder(name: str, folder: Path, root: Path | None = None) -> ForeignLab:
    """The model in a folder.

    Args:
        root: the folder that no file of it may lie outside of; by default the model's own.

    Raises:
        ForeignError: it cannot be opened; the message says why.
    """
    check_folder(folder, root or folder)
    with _opening:
        reader = make_reader(name, folder)
        kinds = kinds_of(reader.config)
        if not isinstance(reader, PictureReader):
            _ = reader.tokenizer  # without one, weights need not be read
        model = _read(reader, folder)
        return ForeignLab(name, reader, model, _surveyed(model, reader, kinds), kinds)


_opening = threading.Lock()  # transformers exchanges functions of torch's while it makes a model


def _read(reader: TextReader, folder: Path) -> nn.Module:
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model, info = getattr(transformers, reader.auto).from_pretrained(
            folder, config=reader.config, dtype=torch.float32, use_safetensors=True, trust_remote_code=False,
            local_files_only=True, attn_implementation="eager", output_loading_info=True)
    except Exception as error:  # a stranger's files; what they make transformers raise is not for people
        if "attn_implementation" in str(error) or "attention implementation" in str(error):
            raise ForeignError(told("the attention of {model_type} is of a kind that cannot be shown",
                                    model_type=reader.config.model_type)) \
                from error
        raise ForeignError(told("its weights cannot be read: a file is damaged, or does not fit config.json")) \
            from error
    finally:
        logging.set_verbosity(level)
    missing = sorted(key for key in info["missing_keys"] if not any(part in key for part in HARMLESS))
    if missing:
        raise ForeignError(told("its files lack {count} of its weights, {first} among them", count=len(missing),
                                first=missing[0]))
    return model.eval().requires_grad_(False)


class _Survey(ForwardPass):
    """Notes who calls the attention function, and what for."""

    def __init__(self, sizes: Mapping[tuple[int, int], str]) -> None:
        self._sizes = sizes
        self.sites: dict[nn.Module, str] = {}
        self.weights: dict[str, list[Tensor]] = {}
        super().__init__(self.sites, lambda *_: UNTOUCHED, None, self._note)

    def _note(self, kind: str, layer: int, step: LayerRecord) -> None:
        self.weights.setdefault(kind, []).append(step.live)

    def finish(self, module: nn.Module, scores: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        n, m = scores.shape[-2:]
        if (n, m) not in self._sizes:
            raise ForeignError(told("a layer of it looks from {n} tokens at {m}, which is not what was read", n=n, m=m))
        self.sites[module] = self._sizes[n, m]
        return super().finish(module, scores, value)


@torch.inference_mode()
def _surveyed(model: nn.Module, reader: TextReader, kinds: tuple[Kind, ...]) -> dict[nn.Module, str]:
    """Attention module -> kind; raises ForeignError unless what is shown would be what the model does."""
    inputs, sizes = _inputs(reader)
    try:
        plain = model(**inputs, output_attentions=True)
    except Exception as error:  # an odd config shows itself here, as anything at all
        raise ForeignError(told("it does not run as transformers has it ({kind})",
                                kind=type(error).__name__)) from error
    _listen(model, reader)
    survey = _Survey(sizes)
    with during(survey):
        ours = model(**inputs)
    named = reader.config.model_type
    if not survey.sites:
        raise ForeignError(told("the attention of {named} does not run through transformers' AttentionInterface",
                                named=named))
    for kind in kinds:
        found = survey.weights.get(kind.name, [])
        if len(found) != kind.layers:
            raise ForeignError(told("only {count} of the {layers} layers of {named} have softmax attention; linear "
                                    "attention and other kinds cannot be shown", count=len(found), layers=kind.layers,
                                    named=named))
        if any(len(weights) != kind.heads for weights in found):
            raise ForeignError(told("not every layer of {named} has {heads} heads", named=named, heads=kind.heads))
        if kind.causal != all(not weights.triu(1).any() for weights in found):
            raise ForeignError(told("{named} sees other tokens than its config says", named=named))
        expected = plain[{"encoder": "encoder_attentions", "decoder": "decoder_attentions",
                          "cross": "cross_attentions", "self": "attentions"}[kind.name]]
        _compare(named, torch.stack(found), torch.stack([weights[0] for weights in expected]))
    answer = "logits" if "logits" in plain else "last_hidden_state"
    _compare(named, ours[answer], plain[answer])
    return survey.sites


def _inputs(reader: TextReader) -> tuple[dict[str, Any], dict[tuple[int, int], str]]:
    """What a model is tried with, and the kind that each size of its maps tells."""
    if isinstance(reader, PictureReader):
        n = reader.limit
        return {"pixel_values": torch.randn(1, 3, *reader.size, generator=torch.Generator().manual_seed(0))}, \
            {(n, n): "self"}
    ids = torch.arange(3, 3 + CHECKED)[None] % reader.config.vocab_size
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if not isinstance(reader, Seq2SeqReader):
        return given, {(CHECKED, CHECKED): "self"}
    return {**given, "decoder_input_ids": ids[:, :WRITTEN], "use_cache": False}, \
        {(CHECKED, CHECKED): "encoder", (WRITTEN, WRITTEN): "decoder", (WRITTEN, CHECKED): "cross"}


def _listen(model: Any, reader: TextReader) -> None:
    """From here on the model's layers call our function."""
    from models.labs.foreign.running.adapters import adapt

    if adapt(model):
        return
    try:
        model.set_attn_implementation(NAME)
    except Exception as error:  # transformers checks what a model supports, and says so in many ways
        raise ForeignError(told("the attention of {model_type} cannot be exchanged",
                                model_type=reader.config.model_type)) from error


def _compare(named: str, ours: Tensor, its: Tensor) -> None:
    scale = float(its.abs().max().clamp_min(1e-3))
    if ours.shape != its.shape or not float((ours - its).abs().max()) <= 1e-4 * scale:
        raise ForeignError(told("the attention of {named} does more than a softmax of q·k; its maps cannot be shown",
                                named=named))


