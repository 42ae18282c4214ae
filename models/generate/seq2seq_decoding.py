"""Generation by encoder-decoders: beam search with a key-value cache per decoder layer.

With the cache, only one row of each layer is computed per token. Selective attention has no cache here, because the
mask F (accumulated votes) depends on all earlier queries; each step is a full pass.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.generate import beam as beams
from models.generate.beam import Hypothesis
from models.generate.decoding import rows_of
from models.kind import CROSS, DECODER
from models.nets.attention.base import Intervention, Keys
from models.nets.attention.cache import Cache
from models.nets.config import END, PADDING, START
from models.nets.seq2seq import Interventions, Records, Seq2Seq


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
    return [hypotheses[0] for hypotheses in beams.search(writer.step, longest, beam, START, END)]
