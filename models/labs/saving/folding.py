"""Saves an imported model: each gate is multiplied into the columns of W_O that read the head.

W_O is found in one pass, by comparing the inputs of the linear maps with the outputs of the heads, so that no
architecture needs separate code. A TorchFunctionMode, which is active in the running thread only, records the pass.

Pruned heads are removed from the weights, if the architecture allows fewer heads. In transformers, all layers of a
model have the same number of heads. Therefore the same number of heads is removed from every layer: the smallest number
of pruned heads of a layer. The other pruned heads keep their zeros in W_O. The config must have a separate field for
the width of a head (`head_dim`, `d_kv`). In BERT and GPT-2 this width is always hidden_size / heads, so their heads
cannot be removed.
"""

from __future__ import annotations

import copy
import itertools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers.utils import logging

from models.errors import StructureError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening import comparison
from models.labs.foreign.opening.facts import HEAD_COUNTS
from models.labs.foreign.refusals import ForeignError
from models.labs.foreign.running.attention import ForwardPass, during
from models.labs.foreign.running.interception import PRODUCTS
from models.labs.saving.own_model import SavedModel
from models.messages import message
from models.nets.attention.base import Intervention
from models.plan import HeadPlan

WIDTHS = ("head_dim", "d_kv")  # config fields that contain the width of a head
BIAS = "relative_attention_bias"  # T5's table of (buckets, heads), which all layers of a stack share
Gates = Mapping[tuple[str, int], Tensor]  # (block, layer) -> (H,) the gates of its heads
COPIED = {".json", ".txt", ".model", ".spm", ".jinja"}  # endings of a tokenizer's and a picture processor's files
NOT_COPIED = {"config.json", "generation_config.json", "model.safetensors.index.json", "adapter_config.json"}


@dataclass(frozen=True)
class Site:
    """One attention layer."""

    # kind and layer: attention block and number of the layer
    kind: str
    layer: int
    module: nn.Module  # the attention module
    output: str  # name of W_O in the state dict
    dim: int  # dimension of W_O that reads the heads
    width: int  # D of each head's output


def cut(config: Any, state: Mapping[str, Tensor], sites: Sequence[Site],
        gates: Mapping[tuple[str, int], Tensor]) -> tuple[Any, dict[str, Tensor], int] | None:
    """Returns a smaller config, weights and number of removed heads, for the caller to compare; or None."""
    smaller = copy.deepcopy(config)
    text = smaller.get_text_config()
    count = next((name for name in HEAD_COUNTS if getattr(text, name, None)), None)
    width = next((name for name in WIDTHS if name in text.to_dict()), None)  # Falcon's is computed
    heads = {len(gate) for gate in gates.values()}
    if count is None or width is None or len(heads) > 1 or len({site.output for site in sites}) < len(sites):
        return None
    (number,) = heads
    groups = getattr(text, "num_key_value_heads", None) or number
    kept = _kept(sites, gates, groups, any(BIAS in name for name in state))
    left, left_groups = len(kept[0]), len({int(head) // (number // groups) for head in kept[0]})
    if left == number:
        return None
    setattr(text, count, left)
    setattr(text, width, getattr(text, width) or text.hidden_size // number)
    if getattr(text, "num_key_value_heads", None):
        text.num_key_value_heads = left_groups
    weights = dict(state)
    for site, heads_left in zip(sites, kept, strict=True):
        _cut_site(weights, site, heads_left, number, groups)
    return smaller, weights, (number - left) * len(sites)


def _kept(sites: Sequence[Site], gates: Mapping[tuple[str, int], Tensor], groups: int,
          shares_bias: bool) -> list[Tensor]:
    """Returns the kept heads of each layer, equally many in every layer and for every key-value head."""
    tied: dict[Any, Tensor] = {}  # layers that must keep the same heads -> True for each open head, (G, H/G)
    keys = [site.kind if shares_bias and site.kind != "cross" else (site.kind, site.layer) for site in sites]
    for key, site in zip(keys, sites, strict=True):
        is_open = (gates[site.kind, site.layer] > 0).view(groups, -1)
        tied[key] = tied[key] | is_open if key in tied else is_open
    most_groups = max(1, *(int(mask.any(1).sum()) for mask in tied.values()))
    most = max(1, *(int(mask.sum(1).max()) for mask in tied.values()))
    chosen = {}
    for key, is_open in tied.items():
        group = _first(is_open.any(1), most_groups)
        chosen[key] = torch.cat([int(g) * is_open.shape[1] + _first(is_open[g], most) for g in group])
    return [chosen[key] for key in keys]


def _first(wanted: Tensor, count: int) -> Tensor:
    """Returns `count` sorted indices: those where `wanted` is True, completed by the first other indices."""
    return torch.argsort(~wanted, stable=True)[:count].sort().values


def _cut_site(weights: dict[str, Tensor], site: Site, kept: Tensor, heads: int, groups: int) -> None:
    """Removes the rows and columns of all heads but `kept` from the weights of one attention layer."""
    by_pointer = {tensor.data_ptr(): name for name, tensor in weights.items()}
    shared = torch.unique_consecutive(kept // (heads // groups))
    for name, parameter in site.module.named_parameters():
        named = by_pointer.get(parameter.data_ptr())
        if named is None or named.rpartition(".")[0] == site.output.rpartition(".")[0]:  # W_O and its bias
            continue
        if BIAS in name:
            weights[named] = weights[named][:, kept]
            continue
        for count, left in ((heads, kept), (groups, shared)):
            # queries, keys and values are rows of their matrices; a sink is one number per head
            if parameter.shape[0] in (count * site.width, *([count] if name == "sinks" else [])):
                weights[named] = weights[named].unflatten(0, (count, -1))[left].flatten(0, 1)
                break
    weights[site.output] = weights[site.output].unflatten(site.dim, (heads, -1)).index_select(
        site.dim, kept).flatten(site.dim, site.dim + 1)


@dataclass(frozen=True)
class _Product:
    """One product with a weight: the weight, the input (N, inner), and the dimension of the weight for `inner`."""

    weight: Tensor
    given: Tensor
    dim: int


class _Products(TorchFunctionMode):
    """Appends each product with a weight to `events`, in order."""

    def __init__(self, events: list[Any]) -> None:
        super().__init__()
        self._events = events

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func is functional.linear:
            self._note(args[0], args[1] if len(args) > 1 else kwargs["weight"], 1)
        elif func is torch.addmm:  # Conv1D of GPT-2: the weight is (inner, outer)
            self._note(args[1], args[2], 0)
        elif func in PRODUCTS and args[1].ndim == 2:  # Falcon: x @ weight.T
            self._note(args[0], args[1].T, 1)
        return func(*args, **kwargs)

    def _note(self, given: Tensor, weight: Tensor, dim: int) -> None:
        self._events.append(_Product(weight, given.reshape(-1, given.shape[-1]), dim))


class _Pass(ForwardPass):
    """A pass that also records which module computes the heads of each layer."""

    def __init__(self, lab: ForeignLab, gates: Gates, events: list[Any]) -> None:
        super().__init__(lab.sites, lambda kind, layer, *_: Intervention(gate=gates[kind, layer][:, None, None]),
                         sink=lambda kind, layer, record: events.append((kind, layer, record, self._module)))

    def finish(self, module: nn.Module, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        self._module = self.original(module)
        return super().finish(module, *args, **kwargs)


@dataclass(frozen=True)
class Folded:
    """The weights of a model with the gates of a plan in W_O."""

    state: dict[str, Tensor]  # name -> weight
    sites: list[Site]  # all attention layers
    gates: Gates  # (block, layer) -> gates (H,)
    # inputs and expected: a short input, and the model's output for this input under the plan
    inputs: Mapping[str, Any]
    expected: Tensor


@torch.inference_mode()
def fold(lab: ForeignLab, plan: HeadPlan) -> Folded:
    """Returns the weights of the model under a plan of gates."""
    gates = {(kind, layer): torch.tensor([0.0 if (kind, layer, head) in lab.closed else
                                          plan.state(kind, layer, head).gate for head in range(heads)])
             for kind, (layers, heads) in lab.shape.items() for layer in range(layers)}
    inputs = comparison.probe(lab.task, comparison.SHORT, comparison.SHORT_TARGET).inputs
    events: list[Any] = []
    with during(_Pass(lab, gates, events)), _Products(events):
        expected = comparison.answer_of(lab.model(**inputs))
    state = dict(lab.model.state_dict())
    sites = list(_sites(events, state))
    _fold(state, sites, gates)
    return Folded(state, sites, gates, inputs, expected)


@torch.inference_mode()
def save(lab: ForeignLab, folder: Path, plan: HeadPlan) -> SavedModel:
    """Writes the model under a plan of gates; see save_pretrained."""
    folded = fold(lab, plan)
    config = copy.deepcopy(lab.model.config)
    model, removed = None, 0
    smaller = cut(config, folded.state, folded.sites, folded.gates)
    if smaller is not None:
        model, removed = _checked(lab, *smaller[:2], folded), smaller[2]
    if model is None:
        model, removed = _checked(lab, config, folded.state, folded), 0
    if model is None:
        raise StructureError(message("several linear maps of this model read the heads' outputs"))
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    written = {path.name for path in folder.iterdir()}
    for path in lab.task.folder.iterdir():
        if path.suffix in COPIED and path.name not in NOT_COPIED | written and path.is_file():
            shutil.copyfile(path, folder / path.name)
    return SavedModel(folder, tuple(address for address, head in plan.heads.items() if head.gate < 1), removed)


def _sites(events: list[Any], state: Mapping[str, Tensor]) -> Iterator[Site]:
    """Yields the attention layers of a recorded pass with their W_O."""
    names = {(tensor.data_ptr(), tensor.shape): name for name, tensor in reversed([*state.items()])}
    for i, event in enumerate(events):
        if isinstance(event, _Product):
            continue
        kind, layer, record, module = event
        joined = record.outputs.transpose(0, 1).flatten(1)  # the outputs of all heads, one after another: (N, H·D)
        size = joined.shape[-1]
        until_next = itertools.takewhile(lambda event: isinstance(event, _Product), events[i + 1:])
        maps = [row for row in until_next if row.given.shape[-1] >= size]
        exact = [row for row in maps if row.given.shape[0] == len(joined) and torch.equal(row.given[:, :size], joined)]
        # there may be a gate or a norm between the heads and W_O; the comparison at the end finds any difference
        match = next(iter(exact or [row for row in maps if row.given.shape[-1] == size]), None)
        name = None if match is None else names.get((match.weight.data_ptr(), match.weight.shape))
        if match is None or name is None:
            raise StructureError(message("no linear map of this model reads only the heads' outputs"))
        yield Site(kind, layer, module, name, match.dim, record.outputs.shape[-1])


def _fold(state: dict[str, Tensor], sites: list[Site], gates: Gates) -> None:
    """Multiplies the gates into W_O and stores the new weights in `state`."""
    seen: dict[str, Tensor] = {}
    for site in sites:
        gate = gates[site.kind, site.layer]
        if site.output in seen:
            if not torch.equal(seen[site.output], gate):
                raise StructureError(message("all layers share weights, so a head needs one gate"))
            continue
        seen[site.output] = gate
        if bool((gate == 1).all()):
            continue
        weight = state[site.output].clone()
        inner = weight.narrow(site.dim, 0, len(gate) * site.width).unflatten(site.dim, (len(gate), site.width))
        inner.mul_(gate[:, None, None] if site.dim == 0 else gate[:, None])
        for name, tensor in list(state.items()):  # tied weights have several names
            if tensor.data_ptr() == state[site.output].data_ptr() and name != site.output:
                state[name] = weight
        state[site.output] = weight


def _checked(lab: ForeignLab, config: Any, state: dict[str, Tensor], folded: Folded) -> Any | None:
    """Returns a model of plain transformers with these weights; None if its results differ from the expected ones."""
    config.architectures = [type(lab.model).__name__]
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        model = type(lab.model).from_pretrained(None, config=config, state_dict=state, dtype=torch.float32,
                                                attn_implementation="eager").eval()
        if getattr(lab.model, "generation_config", None) is not None:
            model.generation_config = copy.deepcopy(lab.model.generation_config)
        comparison.check_close(config.model_type, comparison.answer_of(model(**folded.inputs)), folded.expected)
    except ForeignError:
        return None
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):  # a config that the architecture refuses
        return None
    finally:
        logging.set_verbosity(level)
    return model
