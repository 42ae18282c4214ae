"""Released probes: per task the constant matrices, and one probe per number of constant heads.

    studies/probes/NAME/TASK.safetensors

`compare` applies them to an input text, and measures each head's distance from its constant pattern C:

    total variation of a row = 1/2 * sum over keys of |A - C|        0 if A is the constant, at most 1

They are the probes of the first seed, in the learned order. Weight matrices
are 8-bit integers with a scale per row, like the weights of the released models; constant matrices are float16.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from numpy import ndarray
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.capabilities import HasStates
from models.lab import Lab
from models.plan import Address, HeadPlan
from models.storage.checkpoint import dequantise, quantise
from studies.papa import probes
from studies.papa.corpora import CORPORA, Example
from studies.papa.features import GRID, ConstantMatrices, encode
from studies.papa.probes import Probe
from studies.papa.results import head_counts
from studies.papa.study import TaskStudy

PROBES = Path(__file__).parents[1] / "probes"
_WORD = re.compile(r"\[MASK\]|\w+(?:[-'’.]\w+)*|[^\w\s]")
_BRACKETED = re.compile(r"\[(?!MASK\])([^\[\]]*)\]")


def write(name: str, folder: Path, studies: Iterable[TaskStudy]) -> None:
    """Writes the file of each task that has probes for the unmodified model and for constant heads."""
    for study in studies:
        counts = head_counts(len(study.lab.kinds[0].addresses))
        paths = {count: path for count in counts if (path := folder / f"{study.key}.{count}.safetensors").exists()}
        if len(paths) < 2:
            continue
        constant = load_file(folder / f"{study.key}.constant.safetensors")["constant"]
        tensors: dict[str, Tensor] = {"constant": constant.half()}
        for count, path in paths.items():
            # the feature moments stay in float32, because they differ too much within a row for one scale
            probe = load_file(path)
            weights = quantise({key: tensor for key, tensor in probe.items()
                                if key in ("first.weight", "second.weight")})
            tensors |= {f"{count}.{key}": tensor if tensor.dtype == torch.int8 else tensor.half()
                        for key, tensor in (probe | weights).items()}
        (PROBES / name).mkdir(parents=True, exist_ok=True)
        save_file(tensors, path_of(name, study.key))


def path_of(name: str, task: str) -> Path:
    """Returns the path of a task's file."""
    return PROBES / name / f"{task}.safetensors"


def read(name: str, task: str) -> tuple[Tensor, dict[int, probes.Probe]] | None:
    """Returns (L, H, GRID, GRID) constant matrices, and the probe of each number of constant heads."""
    try:
        tensors = load_file(path_of(name, task))
    except FileNotFoundError:
        return None
    constant = tensors.pop("constant").float()
    by_count: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        count, _, rest = key.partition(".")
        by_count.setdefault(int(count), {})[rest] = tensor
    return constant, {count: probes.from_tensors(dequantise(packed)) for count, packed in by_count.items()}


@dataclass(frozen=True)
class LabelChange:
    """The labels of one word, or of the text, without and with constant heads."""

    word: str  # the word as the visitor typed it; the whole text if the text has one label
    before: tuple[str, float]  # most probable label and its probability, for the unmodified model
    after: tuple[str, float]  # most probable label and its probability, for the model with constant heads

    @property
    def is_changed(self) -> bool:
        """True if the two labels differ."""
        return self.before[0] != self.after[0]


@dataclass(frozen=True, eq=False)
class PromptResult:
    """The result of an input text."""

    distances: ndarray  # (L, H) total variation between attention pattern and constant, mean over queries
    changes: tuple[LabelChange, ...]  # one LabelChange per word, or a single one for the text

    @property
    def nbytes(self) -> int:
        """Approximate memory in bytes."""
        return self.distances.nbytes + 200 * len(self.changes)


def example_of(text: str) -> Example:
    """Returns a typed text with its words. Square brackets, which hide a word from a masked model, are removed."""
    text = _BRACKETED.sub(r"\1", text).strip()
    return Example(text, tuple(match.span() for match in _WORD.finditer(text)), ())


def is_readable(lab: Lab, text: str) -> bool:
    """Returns True if `compare` returns a result for this text: it has words, which match the tokens, and it fits."""
    example = example_of(text)
    return bool(example.words) and encode(lab, example) is not None


@torch.inference_mode()
def compare(lab: Lab, text: str, task: str, labels: tuple[str, ...], constant: Tensor, probes: dict[int, Probe],
            order: list[Address], count: int) -> PromptResult | None:
    """Runs a typed text through the unmodified model and through the model with constant heads."""
    example = example_of(text)
    encoded = encode(lab, example)
    if encoded is None or not example.words:  # as in `is_readable`
        return None
    ids, words = encoded
    n, constants = len(ids), ConstantMatrices(lab, constant)
    patterns: dict[int, Tensor] = {}
    plan = HeadPlan().with_heads(order[:count], constant=True)
    batch = torch.tensor([ids])
    before = HasStates.of(lab).states(batch, watch=lambda kind, layer, weights: patterns.update({layer: weights[0]}))
    after = HasStates.of(lab).states(batch, constants.interventions(plan, n))
    matrices = constants.at_length(n)
    distances = torch.stack([(patterns[layer] - matrices[layer]).abs().sum(-1).mean(-1) / 2
                             for layer in sorted(patterns)])
    by_word = CORPORA[task].by_word
    probabilities = [_probabilities(lab, probes[constant_heads], states, words, by_word)
                     for constant_heads, states in ((0, before), (count, after))]
    named = [example.text[start:stop] for start, stop in example.words] if by_word else [example.text]
    changes = tuple(LabelChange(word, *((labels[int(rows[i].argmax())], float(rows[i].max()))
                                        for rows in probabilities))
                    for i, word in enumerate(named))
    return PromptResult(distances.numpy(), changes)


def _probabilities(lab: Lab, probe: Probe, states: list[Tensor], words: tuple[int, ...], by_word: bool) -> Tensor:
    """Returns (words, labels) or (1, labels) probabilities."""
    values = torch.stack(states, 2)[0]  # shape (n, L + 1, C)
    if by_word:
        values = values[list(words)]
    positions = torch.tensor([HasStates.of(lab).grid_positions(states[0].shape[1], GRID)])
    return probe(probe.standardise(values), positions).softmax(-1)
