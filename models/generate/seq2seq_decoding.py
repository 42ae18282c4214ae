"""Generation by encoder-decoders: beam search with a key-value cache per decoder layer.

    score(y) = ln P(y | x) / |y|,   |y| includes `end`      the mean over tokens, so that short texts are not preferred

At each step, every candidate of a text is continued by every token. The best `beam` continuations become the next
candidates; continuations that end in `end` are finished hypotheses. The search for a text is done if it has `beam`
finished hypotheses and no candidate has a better mean than the best of them, or if it has its largest length. With
`beam` = 1, this is greedy search. The function `step` computes the log-probabilities of the next token, for any model.

With the cache, only one row of each layer is computed per token. Selective attention has no cache here, because the
mask F (accumulated votes) depends on all earlier queries; each step is a full pass.
"""

import itertools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.generate.decoding import rows_of
from models.kind import CROSS, DECODER
from models.nets.attention.base import Intervention, Keys
from models.nets.attention.cache import Cache
from models.nets.config import END, PADDING, START
from models.nets.seq2seq import Interventions, Records, Seq2Seq

Step = Callable[[Tensor, Tensor], Tensor]
# Called before each step, so that an app can run shorter requests first. It may raise an error, which ends the search.
between_steps: ContextVar[Callable[[], None]] = ContextVar("between_steps", default=lambda: None)


@dataclass(frozen=True)
class Hypothesis:
    """A generated text: ids without `start`, with `end` if generated, and its log-probability in nats."""

    ids: tuple[int, ...]
    log_probability: float

    @property
    def score(self) -> float:
        """The mean log-probability per token."""
        return self.log_probability / max(1, len(self.ids))


def search(step: Step, longest: Sequence[int], beam: int, start: int, end: int) -> list[list[Hypothesis]]:
    """Returns the finished hypotheses of each text, the best first; the unfinished candidates if none was finished.

    `step` maps the last ids (R,) of R candidates, and the indices (R,) of the previous step's candidates that they
    continue, to log-probabilities (R, V). In the first call there is one candidate per text, with the indices 0, 1, ...
    `longest` counts `end`.
    """
    finished: list[list[Hypothesis]] = [[] for _ in longest]
    alive = list(range(len(longest)))  # indices of the texts that are not done
    written: list[list[tuple[tuple[int, ...], float]]] = [[((), 0.0)] for _ in longest]  # the candidates of each text
    parents, length = list(range(len(alive))), 0
    pause = between_steps.get()
    while alive:
        pause()
        length += 1
        rows = [written[text] for text in alive]
        last = torch.tensor([ids[-1] if ids else start for row in rows for ids, _ in row])
        log_probabilities = step(last, torch.tensor(parents))
        sums = torch.tensor([total for row in rows for _, total in row], dtype=torch.float64)
        totals = sums.unsqueeze(1) + log_probabilities.double()
        # The best 2 · beam tokens of each candidate contain the best 2 · beam of the text; up to half may be `end`.
        best, tokens = totals.topk(min(2 * beam, totals.shape[1]))
        best_list, token_list = best.tolist(), tokens.tolist()
        going, parents, offset = [], [], 0
        for text, row in zip(alive, rows, strict=True):
            options = sorted(((total, number, token) for number in range(len(row))
                              for total, token in zip(best_list[offset + number], token_list[offset + number],
                                                      strict=True)), key=lambda option: -option[0])
            kept: list[tuple[tuple[int, ...], float]] = []
            origins: list[int] = []
            for rank, (total, number, token) in enumerate(options):
                ids = (*row[number][0], token)
                if token == end:
                    if rank < beam:
                        finished[text].append(Hypothesis(ids, total))
                elif len(kept) < beam:
                    kept.append((ids, total))
                    origins.append(offset + number)
            offset += len(row)
            if length == longest[text] or not kept or _is_done(finished[text], kept[0][1] / length, beam):
                if not finished[text]:
                    finished[text] = [Hypothesis(*candidate) for candidate in kept]
                continue
            written[text] = kept
            going.append(text)
            parents += origins
        alive = going
    return [sorted(hypotheses, key=lambda hypothesis: -hypothesis.score) for hypotheses in finished]


def _is_done(finished: list[Hypothesis], best_mean: float, beam: int) -> bool:
    if beam == 1:
        return bool(finished)
    return len(finished) >= beam and max(hypothesis.score for hypothesis in finished) >= best_mean


def longest_of(tokens: int, limit: int) -> int:
    """Returns the largest number of tokens to generate for a text of `tokens` tokens, `end` included."""
    return min(2 * tokens + 8, limit)


class Writer:
    """Reads the candidates of T padded texts (T, M), one token of each at a time; its method is the `step` of beam
    search.

    `interventions` are one per layer of each block, those of the decoder for as many queries as will be read. Patched
    heads take their values from `sources` (T, M); the decoder reads the same candidates for both. Without `cached`,
    each token needs a full pass, which is slower and gives the same result.
    """

    @torch.inference_mode()
    def __init__(self, model: Seq2Seq, texts: Tensor, interventions: Interventions | None = None,
                 cached: bool = True, sources: Tensor | None = None) -> None:
        self.model, self.read = model, 0
        self.source = None if sources is None else Writer(model, sources, cached=cached)
        self._records: Records | None = None  # if this is the `source` of another Writer: records of the last pass
        self.memory = model.encode(texts, interventions)
        self.cached = cached and not model.decoder[0].attention.selects
        self._prefixes = torch.zeros(len(texts), 0, dtype=torch.int64)
        self._interventions = {kind: list(interventions[kind]) for kind in (DECODER, CROSS)
                               if interventions and kind in interventions}
        self._caches = [(Cache(), Cache()) for _ in model.decoder]  # caches of self-attention and of cross-attention

    @torch.inference_mode()
    def step(self, ids: Tensor, parents: Tensor) -> Tensor:
        """Returns log-probabilities (R, V) of the next token for ids (R,) that continue the candidates `parents`."""
        is_same = len(parents) == len(self._prefixes) and bool((parents == torch.arange(len(parents))).all())
        if not is_same:
            self._reorder(parents)
        self._prefixes = torch.cat((self._prefixes, ids.unsqueeze(1)), 1)
        if self.source is not None:
            self.source._records = {DECODER: [], CROSS: []}
            self.source.step(ids, parents)
        if self.cached:
            caches = [(Keys(first=self.read, cache=own), replace(self.memory, cache=seen))
                      for own, seen in self._caches]
            hidden = self.model.decode(ids.unsqueeze(1), self.memory, self._now(self.read, 1), self._records,
                                       caches)[:, 0]
        else:
            hidden = self.model.decode(self._prefixes, self.memory, self._now(0, self.read + 1), self._records)[:, -1]
        self.read += 1
        return self.model.logits(hidden).log_softmax(-1)

    def _reorder(self, parents: Tensor) -> None:
        self._prefixes = self._prefixes[parents]
        for cache in itertools.chain(*self._caches):
            cache.select(parents)
        memory, hidden = (None if part is None else part[parents] for part in (self.memory.memory, self.memory.hidden))
        self.memory = Keys(memory, hidden)

    def _now(self, first: int, count: int) -> Interventions:
        """Returns the decoder's interventions on `count` queries from `first` on."""
        return {kind: [self._patched(rows_of(intervention, first, count), kind, layer)
                       for layer, intervention in enumerate(layers)]
                for kind, layers in self._interventions.items()}

    def _patched(self, intervention: Intervention, kind: str, layer: int) -> Intervention:
        """Returns the intervention with the second prompts' values for the same queries."""
        if intervention.patch is None or self.source is None or self.source._records is None:
            return intervention
        return replace(intervention, patch=intervention.patch.with_values(
            self.source._records[kind][layer].patch_values))


@torch.inference_mode()
def write(model: Seq2Seq, texts: Sequence[Sequence[int]], beam: int, interventions: Interventions | None = None,
          limit: int | None = None, cached: bool = True,
          sources: Sequence[Sequence[int]] | None = None) -> list[Hypothesis]:
    """Returns the best hypothesis of each text; greedy search for `beam` 1.

    `interventions` of the decoder are for `limit` queries (default: the longest training target). `sources` are the ids
    of the second prompts, which are as long as the texts.
    """
    padded, second = (None if rows is None else pad_sequence([torch.tensor(row) for row in rows], batch_first=True,
                                                             padding_value=PADDING) for rows in (texts, sources))
    assert padded is not None
    longest = [longest_of(len(text), limit or model.config.longest_target) for text in texts]
    writer = Writer(model, padded, interventions, cached, second)
    return [hypotheses[0] for hypotheses in search(writer.step, longest, beam, START, END)]
