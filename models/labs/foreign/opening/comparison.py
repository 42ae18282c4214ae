"""Checks, before a model is opened, that the maps that we show are the maps with which the model computes.

The model runs with the eager attention of transformers and with our attention function, on a short text and on the
longest text that pages show. The long text reveals attention windows, tables that grow with the text, and rules that
apply from some length on. For the short text, the maps of each layer are compared. For the long text, the last hidden
states are compared, which depend on every layer. At the end, the model runs on the short text once more, and the maps
must be the same bit for bit.

A module with a state from earlier texts is isolated: each of its calls runs on a copy of the module. For example, the
rotary tables of dynamic NTK and LongRoPE depend on the longest text so far. Without the copy, the same link could show
different maps later, and the threads of two visitors would interfere with each other.
"""

import contextlib
import copy
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers.utils import logging

from models.kind import Kind
from models.labs.foreign.reading.readers import CausalReader, MaskedReader, Seq2SeqReader, TextReader
from models.labs.foreign.reading.vision import PictureReader
from models.labs.foreign.refusals import ForeignError, refuse, version, why
from models.labs.foreign.running import interception, positions
from models.labs.foreign.running.adapters import adapt, reports_windows
from models.labs.foreign.running.attention import ALSO_EAGER, NAME, ORIGINAL, ForwardPass, LayerRecord, during
from models.labs.foreign.running.writing import MAX_WRITTEN
from models.messages import N_
from models.nets.attention.base import NO_INTERVENTION

# The last name marks a model whose hooks for hidden states are installed; without the mark transformers installs them
# again.
_KEPT = ("_buffers", "_modules", "_parameters", "_non_persistent_buffers_set", "_output_capturing_hooks_installed")
SHORT, SHORT_TARGET = 7, 4  # numbers of tokens of the short text and of its decoder tokens
SINKS = N_("Softmax with a sink"), "A = softmax([q kᵀ · scale + bias, sink]) without the sink's column"
TOLERANCE = 1e-4  # tolerance relative to the largest value
EAGER = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions",
         "self": "attentions"}  # block -> name in transformers' outputs


def restore(before: Mapping[nn.Module, tuple[dict[str, Tensor | None], dict[str, Any]]]) -> list[nn.Module]:
    """Restores the buffers and attributes of modules, and returns the changed modules."""
    changed = []
    for module, (buffers, attributes) in before.items():
        now = _attributes(module)
        if _same_buffers(buffers, module._buffers) and now.keys() == attributes.keys() and all(
                now[name] is attributes[name] for name in now):
            continue
        changed.append(module)
        for name in now.keys() - attributes.keys():
            del module.__dict__[name]
        module.__dict__.update(attributes)
        module._buffers.clear()
        module._buffers.update(buffers)
    return changed


def _forward_of_copy(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Runs a module on a copy of its buffers and attributes; parameters are shared."""
    fresh = copy.copy(module)
    fresh.__dict__.pop("forward", None)
    fresh.__dict__[ORIGINAL] = module
    fresh.__dict__["_buffers"] = _buffers(module)
    return type(fresh).forward(fresh, *args, **kwargs)


def _buffers(module: nn.Module) -> dict[str, Tensor | None]:
    return {name: None if buffer is None else buffer.clone() for name, buffer in module._buffers.items()}


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name not in _KEPT}


def _same_buffers(old: dict[str, Tensor | None], new: dict[str, Tensor | None]) -> bool:
    return old.keys() == new.keys() and all(
        old[name] is new[name] or (isinstance(a := old[name], Tensor) and isinstance(b := new[name], Tensor)
                                   and torch.equal(a, b)) for name in old)


class SeesFutureError(ForeignError):
    """A model that was classified as a causal language model attends to later tokens."""


@dataclass(frozen=True)
class Probe:
    """Inputs with which a model is tested."""

    inputs: dict[str, Any]  # arguments of the model's forward
    sizes: Mapping[tuple[int, int], str]  # (queries, keys) of a map -> the attention block that has maps of this size


@torch.inference_mode()
def compare(model: Any, reader: TextReader,
            kinds: tuple[Kind, ...]) -> tuple[dict[nn.Module, str], tuple[Kind, ...], nn.Module | None]:
    """Replaces the model's attention by our attention function, and checks that both compute the same.

    Returns attention module -> its block; the blocks with measured numbers of layers and heads and measured causality;
    and the module that supports models.labs.foreign.running.positions, or None.
    """
    _check_parameters(model)
    kind = reader.config.model_type
    short, long = probe(reader, SHORT, SHORT_TARGET), longest_probe(reader)
    before = {module: (_buffers(module), _attributes(module)) for module in model.modules()}
    try:
        expected = model(**short.inputs, output_attentions=True)
        expected_long = None if long is None else answer_of(model.base_model(**long.inputs))
    except Exception as error:  # an unusual config can raise any exception here
        raise refuse("does not run", version=version(), why=why(error)) from error
    for module in restore(before):
        module.forward = functools.partial(_forward_of_copy, module)
    if answer_of(expected).isnan().any() or not answer_of(expected).isfinite().any(-1).all():
        raise refuse("computes no numbers")
    try:
        own = exchange_attention(model, short)
        survey, answer = _survey(model, short)
    except ForeignError:
        raise
    except Exception as error:  # code of a layer that no interception was written for
        raise refuse("own attention", kind=kind) from error
    if not survey.sites:
        raise refuse("own attention", kind=kind)
    if not own.scales:
        kinds = tuple(replace(block, attention=replace(block.attention, policies=("trained",))) for block in kinds)
    own_form = bool(own.heads) or reports_windows(model)
    measured = tuple(_measured(block, survey.maps.get(block.name, []), expected, kind, own_form) for block in kinds)
    if isinstance(reader, CausalReader) and not measured[0].causal:
        raise SeesFutureError(kind)
    check_close(kind, answer, answer_of(expected))
    if long is not None:
        with during(_Survey(long.sizes, kind)):
            check_close(kind, answer_of(model.base_model(**long.inputs)), expected_long)
    again, second = _survey(model, short)
    if not torch.equal(second, answer) or any(not torch.equal(a, b) for name, maps in survey.maps.items()
                                              for a, b in zip(maps, again.maps[name], strict=True)):
        raise refuse("history", kind=kind)
    return survey.sites, measured, _body(model, reader, short, survey.sites, answer)


def probe(reader: TextReader, length: int, target: int) -> Probe:
    """Returns a Probe with inputs of this length."""
    if isinstance(reader, PictureReader):
        pixels = torch.randn(1, 3, *reader.size, generator=torch.Generator().manual_seed(0))
        return Probe({"pixel_values": pixels}, {(reader.limit, reader.limit): "self"})
    ids = _ids(reader, reader.vocabulary, length)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **reader.settings}
    if not isinstance(reader, Seq2SeqReader):
        return Probe(inputs, {(length, length): "self"})
    row = _ids(reader, reader.target_vocabulary, target)
    return Probe({**inputs, "decoder_input_ids": row, "use_cache": False},
                 {(length, length): "encoder", (target, target): "decoder", (target, length): "cross"})


def longest_probe(reader: TextReader) -> Probe | None:
    """Returns a Probe as long as the longest text that pages show; None if there is no input longer than SHORT."""
    if isinstance(reader, PictureReader) or reader.limit <= SHORT:
        return None
    target = min(MAX_WRITTEN, reader.limit)
    return probe(reader, reader.limit, target - 1 if target == reader.limit else target)


def exchange_attention(model: Any, short: Probe) -> interception.Found:
    """Makes the layers call our attention function, or intercepts the softmax in their own code, permanently."""
    if not adapt(model):
        level = logging.get_verbosity()
        logging.set_verbosity_error()
        # transformers checks what a model supports and raises many types of errors; the layers of such a model have
        # their own attention code
        with contextlib.suppress(Exception):
            model.set_attn_implementation(NAME)
            for module in model.modules():
                if getattr(getattr(module, "config", None), "_attn_implementation", "") == NAME:
                    module.config._attn_implementation = ALSO_EAGER
        logging.set_verbosity(level)
    with during(_Survey(short.sizes, model.config.model_type)):
        own = interception.find(model, short.inputs)
    interception.intercept(own)
    return own


def check_close(kind: str, ours: Tensor, expected: Any) -> None:
    """Raises ForeignError unless `ours` and `expected` are equal within TOLERANCE; equal infinities are accepted."""
    if not isinstance(expected, Tensor) or ours.shape != expected.shape:
        raise refuse("more than softmax", kind=kind)
    if expected.isnan().any():
        raise refuse("computes no numbers")
    difference = (ours - expected).masked_fill(ours == expected, 0.0).abs().max()
    scale = expected.masked_fill(expected.isinf(), 0.0).abs().max().clamp_min(1e-3)
    if not float(difference) <= TOLERANCE * float(scale):
        raise refuse("more than softmax", kind=kind)


class _Survey(ForwardPass):
    """Records which modules call the attention function, and the maps of each block."""

    def __init__(self, sizes: Mapping[tuple[int, int], str], model_type: str) -> None:
        self._sizes, self._type = sizes, model_type
        self.sites: dict[nn.Module, str] = {}
        self.maps: dict[str, list[Tensor]] = {}
        super().__init__(self.sites, lambda *_: NO_INTERVENTION, None, self._note)

    def _note(self, kind: str, layer: int, record: LayerRecord) -> None:
        if record.live.shape[-1] <= SHORT or kind == "self" and len(self._sizes) == 1:
            self.maps.setdefault(kind, []).append(record.live)

    def finish(self, module: nn.Module, scores: Tensor, mix: Callable[[Tensor], Tensor],
               live: Tensor | None = None) -> tuple[Tensor, Tensor]:
        n, m = scores.shape[-2:]
        if (n, m) not in self._sizes:
            raise refuse("other keys", kind=self._type, queries=n, keys=m,
                         expected=", ".join(f"{queries} → {keys}" for queries, keys in self._sizes))
        self.sites[self.original(module)] = self._sizes[n, m]
        return super().finish(module, scores, mix, live)


def _survey(model: Any, tried: Probe) -> tuple[_Survey, Tensor]:
    """Runs one pass with our attention function; returns the survey of the pass and the model's output."""
    survey = _Survey(tried.sizes, model.config.model_type)
    with during(survey):
        return survey, answer_of(model(**tried.inputs))


def _measured(kind: Kind, maps: list[Tensor], expected: Any, model_type: str, own_form: bool) -> Kind:
    """Returns the block with measured layers, heads and causality; raises ForeignError if maps differ."""
    if not maps:
        raise refuse("no softmax layer", kind=model_type)
    heads = sorted({len(pattern) for pattern in maps})
    if len(heads) > 1:
        raise refuse("uneven heads", kind=model_type, heads=", ".join(map(str, heads)))
    # MiniMax also returns the states of its linear attention, which have another shape
    eager = [weights[0] for weights in expected.get(EAGER[kind.name]) or ()
             if isinstance(weights, Tensor) and weights.shape[-2:] == maps[0].shape[-2:]]
    if not own_form:
        if len(eager) != len(maps):
            raise refuse("more than softmax", kind=model_type)
        check_close(model_type, torch.stack(maps), torch.stack(eager))
    if any(float(pattern.sum(-1).min()) < 1 - 1e-3 for pattern in maps):
        kind = replace(kind, attention=replace(kind.attention, title=SINKS[0], formula=SINKS[1], is_distribution=False,
                                               has_sink=True))
    return replace(kind, layers=len(maps), heads=heads[0],
                   causal=kind.name != "cross" and all(not pattern.triu(1).any() for pattern in maps))


def _body(model: Any, reader: TextReader, tried: Probe, sites: Mapping[nn.Module, str],
          answer: Tensor) -> nn.Module | None:
    """Returns the body if the model's head, run at selected positions only, computes the same logits; else None."""
    if not isinstance(reader, CausalReader | MaskedReader | Seq2SeqReader):
        return None
    for body in positions.bodies_of(model):
        positions.listen(body)
        with during(ForwardPass(sites, lambda *_: NO_INTERVENTION)), \
                positions.at_positions(positions.BodyOutput([1, -1])), contextlib.suppress(ForeignError):
            check_close(model.config.model_type, model(**tried.inputs).logits, answer[:, [1, -1]])
            return body
    return None


def answer_of(result: Any) -> Tensor:
    """Returns the logits, or the last hidden states of a model without a head."""
    return next(result[name] for name in ("logits", "start_logits", "last_hidden_state") if name in result)


def _ids(reader: TextReader, vocabulary: int, length: int) -> Tensor:
    """Returns ids (1, length) spread over the vocabulary, without padding, which changes positions in some models."""
    ids = (torch.arange(length) * 7919 + 3) % vocabulary
    padding = getattr(reader.config, "pad_token_id", None)
    return ids[None] if padding is None else torch.where(ids == padding, (ids + 1) % vocabulary, ids)[None]


def _check_parameters(model: nn.Module) -> None:
    """Raises ForeignError if a parameter contains NaN or +inf; a bias of -inf, which excludes a token, is allowed."""
    for name, parameter in model.named_parameters():
        if parameter.isnan().any() or parameter.isposinf().any():
            raise refuse("not finite", first=name)
