"""Mean losses per text of a released model, on validation or test texts."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Transformer
from models.tasks.base import Batch, Corpus, Pairs
from models.tasks.masked import MASK_ID, MaskedCorpus
from models.tasks.pairs import PairCorpus, as_batch, first_of_each
from models.tasks.stories import StoriesCorpus

TOKENS = 8192  # default total number of tokens of a sample of texts
AT_ONCE = 2048  # number of tokens per forward pass


@torch.inference_mode()
def losses(model: Transformer | Seq2Seq, batches: Sequence[Batch]) -> tuple[Tensor, Tensor]:
    """Returns the mean loss and the number of predictions of each text. Texts without a prediction are left out."""
    sums, counts = [], []
    for batch in batches:
        hidden = model(batch.texts, batch.tokens) if isinstance(batch, Pairs) else model(batch.tokens)
        predicted = batch.targets >= 0
        each = torch.zeros(batch.targets.shape, dtype=torch.float64)
        each[predicted] = functional.cross_entropy(model.logits(hidden[predicted]), batch.targets[predicted],
                                                   reduction="none").double()
        sums.append(each.sum(1))
        counts.append(predicted.sum(1))
    total, count = torch.cat(sums), torch.cat(counts)
    return (total / count.clamp_min(1))[count > 0], count[count > 0]


def mean(values: Tensor, counts: Tensor) -> float:
    """Returns the mean loss over all predictions in nats."""
    return float((values * counts).sum() / counts.sum())


def validation_texts(corpus: Corpus, tokens: int = TOKENS) -> list[Batch]:
    """Returns about `tokens` tokens of validation texts: the same fraction of every validation batch."""
    batches = corpus.validation()
    share = max(1, round(sum(batch.tokens.numel() for batch in batches) / tokens))
    return [_every(batch, share) for batch in batches]


def test_texts(corpus: Corpus, tokens: int = TOKENS) -> list[Batch]:
    """Returns about `tokens` tokens of test texts, evenly spread over all of them."""
    if isinstance(corpus, PairCorpus):
        buckets = corpus.buckets(first_of_each(corpus.pairs("test")))
        batches: list[Batch] = [as_batch(part, shape[0]) for shape, bucket in zip(corpus.shapes, buckets, strict=True)
                                for part in bucket.split(corpus.pairs_per_batch(shape)) if len(part)]
        share = max(1, round(sum(int((batch.targets >= 0).sum()) for batch in batches) / tokens))
        return [_every(batch, share) for batch in batches]
    if isinstance(corpus, MaskedCorpus):
        rows, hidden = corpus.held_out(corpus.trained_length), corpus.hidden(corpus.trained_length, 0)
        whole = Batch(rows.masked_fill(hidden, MASK_ID), rows.masked_fill(~hidden, -1))
    elif isinstance(corpus, StoriesCorpus):
        targets = corpus.windows(corpus.trained_length)
        whole = Batch(functional.pad(targets, (1, -1), value=0), targets)
    else:
        raise TypeError(f"{corpus.reader.name}: it has no held-out texts")
    chosen = torch.linspace(0, len(whole.tokens) - 1, min(len(whole.tokens), tokens // corpus.trained_length)).long()
    size = max(1, AT_ONCE // corpus.trained_length)
    return [Batch(whole.tokens[part], whole.targets[part]) for part in chosen.split(size)]


def _every(batch: Batch, share: int) -> Batch:
    """Returns one text of every `share`."""
    if isinstance(batch, Pairs):
        return Pairs(batch.tokens[::share], batch.targets[::share], batch.texts[::share])
    return Batch(batch.tokens[::share], batch.targets[::share])
