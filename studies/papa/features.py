"""Texts as token ids of one model, constant attention matrices (PAPA, section 3.1), and cached states of all layers.

    C[i, j] = sum over texts of A[i, j] / number of texts with both positions i, j       0 if there is none

The matrices are on a grid of GRID positions that mean the same in every text (HasStates.grid_positions). For a text of
n tokens they are cut to the text's positions, and each row is divided by its sum. A is the attention pattern of the
released weights: 8-bit integers with a scale per row, as every model of ours is loaded.
"""

import functools
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.analysis.roles import aligned, tokens_of
from models.capabilities import HasStates, Touch, Watch
from models.errors import InputError
from models.lab import Lab
from models.nets.attention.base import Intervention
from models.nets.mean_patterns import cut_to, seen
from models.plan import HeadPlan
from studies.papa.corpora import Example

GRID = 64  # largest number of tokens of a text, and the size of the constant matrices
TOKENS = 2048  # number of tokens per batch of a forward pass
Batch = Sequence[tuple[Tensor, Tensor]]  # for each length: (B,) indices of texts, and their (B, n) ids
InterventionsByLength = Callable[[int], Touch]  # tokens per text -> the `touch` argument of HasStates.states
LIMIT = 2 * 2**30  # limit of the cache in bytes
CLAMP = 60_000.0  # values are clamped to this, because float16 ends at 65,504


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts that one model can read."""

    ids: tuple[tuple[int, ...], ...]  # token ids of each text
    words: tuple[tuple[int, ...], ...]  # for each text and each word, the index of the token that represents the word
    examples: tuple[Example, ...]  # the labelled texts, in the same order
    omitted: int  # number of texts that are longer than the grid, or whose words do not match the model's tokens

    @functools.cached_property
    def starts(self) -> Tensor:
        """(texts + 1,) offset of each text in the concatenation of all token sequences."""
        return torch.tensor([0, *map(len, self.ids)]).cumsum(0)

    def by_length(self, chosen: Iterable[int]) -> list[tuple[Tensor, Tensor]]:
        """Groups texts by their number of tokens, the shortest first, so that no pass needs padding."""
        groups: dict[int, list[int]] = defaultdict(list)
        for text in chosen:
            groups[len(self.ids[text])].append(text)
        return [(torch.tensor(group), torch.tensor([self.ids[text] for text in group]))
                for _n, group in sorted(groups.items())]

    def passes(self, tokens: int = TOKENS) -> Iterator[tuple[Tensor, Tensor]]:
        """Yields all texts in batches of one length: (B,) indices and (B, n) ids with B * n <= tokens."""
        for chosen, ids in self.by_length(range(len(self.ids))):
            yield from zip(chosen.split(max(1, tokens // ids.shape[1])),
                           ids.split(max(1, tokens // ids.shape[1])), strict=True)

    def shuffled(self, size: int, random: torch.Generator) -> Iterator[Batch]:
        """Yields all texts in random batches for training, regardless of their lengths."""
        for chosen in torch.randperm(len(self.ids), generator=random).split(size):
            yield self.by_length(chosen.tolist())

    def rows_of(self, texts: Tensor, n: int) -> Tensor:
        """Returns (B, n) token indices, in the concatenation of all texts, of texts with n tokens each."""
        return self.starts[texts].unsqueeze(1) + torch.arange(n)


def texts_of(lab: Lab, examples: Sequence[Example]) -> Texts:
    """Returns the examples that the model can read."""
    ids, words, readable = [], [], []
    for example in examples:
        encoded = encode(lab, example)
        if encoded is not None:
            ids.append(encoded[0])
            words.append(encoded[1])
            readable.append(example)
    if not readable:
        raise ValueError(f"{lab.name} can read none of these texts")
    return Texts(tuple(ids), tuple(words), tuple(readable), len(examples) - len(readable))


def encode(lab: Lab, example: Example) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Returns the token ids of a text, and for each word the index of the token that represents the word."""
    try:
        prompt = lab.read(example.text, GRID)
    except InputError:
        return None
    alignment = aligned(prompt.tokens, numpy.array(lab.task.is_text(prompt.ids)), example.text)
    if prompt.omitted or alignment is None:
        return None
    tokens = tokens_of(example.words, alignment[0])
    if not all(tokens):
        return None
    which = -1 if lab.kinds[0].causal else 0
    return prompt.ids, tuple(int(alignment[1][word[which]]) for word in tokens)


class MeanAttention:
    """The running mean of attention patterns over texts, on the grid."""

    def __init__(self, lab: Lab) -> None:
        """Starts with no text; `lab` is the model whose patterns are added."""
        kind = lab.kinds[0]
        self._lab = lab
        self._sums = torch.zeros(kind.layers, kind.heads, GRID, GRID)
        self._counts = torch.zeros(GRID, GRID)

    def add(self, kind: str, layer: int, weights: Tensor) -> None:
        """Adds the patterns of one batch and layer; this is the `watch` argument of HasStates.states."""
        if not weights.isfinite().all():
            raise ValueError(f"the attention pattern of layer {layer + 1} contains NaN or infinity: "
                             "the model's weights are damaged")
        n = weights.shape[-1]
        positions = torch.tensor(HasStates.of(self._lab).grid_positions(n, GRID))
        self._sums[layer][:, positions[:, None], positions] += weights.sum(0)
        if layer == 0:
            self._counts[positions[:, None], positions] += len(weights) * seen(n, n, self._lab.kinds[0].causal)

    @property
    def matrices(self) -> Tensor:
        """(L, H, GRID, GRID) means over the texts added so far."""
        return self._sums / self._counts.clamp_min(1)


class ConstantMatrices:
    """Constant matrices on the grid, cut to the lengths of texts."""

    def __init__(self, lab: Lab, matrices: Tensor) -> None:
        """Keeps the matrices."""
        self._lab, self._matrices = lab, matrices
        self._by_length: dict[int, Tensor] = {}

    def at_length(self, n: int) -> Tensor:
        """Returns (L, H, n, n) matrices whose rows sum to 1; see models.nets.mean_patterns.cut_to."""
        if n not in self._by_length:
            positions = torch.tensor(HasStates.of(self._lab).grid_positions(n, GRID))
            self._by_length[n] = cut_to(self._matrices, positions, positions, self._lab.kinds[0].causal)
        return self._by_length[n]

    def interventions(self, plan: HeadPlan, n: int) -> Touch:
        """Returns the plan's constant heads and gates as the `touch` of HasStates.states, for texts of n tokens."""
        matrices, kind = self.at_length(n), self._lab.kinds[0]
        states = [[plan.state(kind.name, layer, head) for head in range(kind.heads)] for layer in range(kind.layers)]
        constant = torch.tensor([[state.constant for state in row] for row in states])[..., None, None]
        gates = torch.tensor([[state.gate for state in row] for row in states])[..., None, None]

        def touch(name: str, layer: int) -> Intervention:
            return Intervention(is_constant=constant[layer] if constant[layer].any() else None,
                                constant=matrices[layer],
                                gate=gates[layer] if float(gates[layer].min()) < 1 else None)

        return touch

    def mixed(self, dynamic: Tensor, n: int) -> Touch:
        """Returns the mixture of dynamic and constant patterns as the `touch` argument of HasStates.states:"""
        matrices, share = self.at_length(n), (1 - dynamic)[..., None, None]
        return lambda name, layer: Intervention(constant=matrices[layer], share=share[layer])


@torch.inference_mode()
def features(lab: Lab, texts: Texts, interventions: InterventionsByLength | None = None,
             watch: Watch | None = None) -> Tensor:
    """Returns (tokens, L + 1, C) float16 hidden states: all tokens of all texts, concatenated."""
    values = torch.empty(0)
    for chosen, ids in texts.passes():
        n = ids.shape[1]
        touch = {"touch": interventions(n)} if interventions else {}
        states = HasStates.of(lab).states(ids, watch=watch, **touch)
        if not len(values):
            values = torch.empty(int(texts.starts[-1]), len(states), states[0].shape[-1], dtype=torch.float16)
        rows = texts.rows_of(chosen, n)
        for layer, state in enumerate(states):
            values[rows, layer] = state.clamp(-CLAMP, CLAMP).half()
    return values


class Cache:
    """Features on disk by key; the least recently used files are deleted first."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        """Uses a folder, which is created when needed, up to `limit` bytes."""
        self._folder, self._limit = folder, limit

    def get(self, key: str, make: Callable[[], Tensor]) -> Tensor:
        """Returns the features stored under the key; if there are none, computes them with `make` and stores them."""
        path = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.safetensors"
        with suppress(OSError, SafetensorError, KeyError):
            values = load_file(path)["features"]
            path.touch()
            return values
        values = make()
        self._store(path, values)
        return values

    def _store(self, path: Path, values: Tensor) -> None:
        if values.nbytes > self._limit:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        files = sorted(self._folder.glob("*.safetensors"), key=lambda file: file.stat().st_mtime_ns)
        sizes = [file.stat().st_size for file in files]
        while files and sum(sizes) + values.nbytes > self._limit:
            files.pop(0).unlink()
            sizes.pop(0)
        partial = path.with_suffix(".part")
        save_file({"features": values}, partial)
        partial.replace(path)


def feature_moments(values: Tensor, part: int = 4096) -> tuple[Tensor, Tensor]:
    """Returns the mean and the standard deviation of each feature."""
    total = sum(chunk.double().sum(0) for chunk in values.split(part)) / len(values)
    spread = sum((chunk.double() - total).square().sum(0) for chunk in values.split(part)) / max(1, len(values) - 1)
    assert isinstance(total, Tensor) and isinstance(spread, Tensor)
    return total.float(), spread.clamp_min(1e-8).sqrt().float()
