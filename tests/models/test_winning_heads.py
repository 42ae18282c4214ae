"""The smallest sets of heads whose removal makes another token win, against an exhaustive search."""

import itertools

import pytest
import torch
from torch import Tensor

from models.analysis.answer import winning_heads
from models.analysis.gated_predictions import Gating, Question
from models.errors import CancelledError
from models.kind import Kind, Traits


def random_toy(seed: int, count: int = 9) -> Gating:
    """Returns a model of one layer and four tokens, whose heads have effects of different size, some only in pairs."""
    random = torch.Generator().manual_seed(seed)
    first, second = (torch.randn(count, 4, generator=random) for _ in range(2))

    def under(gates: dict[str, Tensor], asked: tuple[int, ...]) -> Tensor:
        rows = gates["self"][:, 0]
        return torch.stack([rows @ first + torch.relu(rows @ second - 0.5)] * len(asked), 1).log_softmax(-1)
    return Gating([Kind("self", 1, count, Traits("Softmax"))], under, Question((0,), (0,), True))


@pytest.mark.parametrize("seed", range(6))
def test_as_few_as_an_exhaustive_search(seed: int):
    """If a set of at most two heads wins, the search finds a smallest winning set; else it has at most one head more.
    The margin of the result is that of the gated predictions, and a token that wins already needs no head."""
    gating = random_toy(seed)
    sets = torch.tensor(list(itertools.product([False, True], repeat=9)))
    log_probabilities = gating.in_parts(gating.log_probabilities, 1 - sets.float())[:, 0]
    for token in range(4):
        others = log_probabilities.clone()
        others[:, token] = -torch.inf
        wins = log_probabilities[:, token] > others.max(-1).values
        fewest = int(sets[wins].sum(1).min()) if wins.any() else None
        found = winning_heads.search(gating, token)
        if fewest is None:
            assert found.fewest is None and found.best[found.nearest][0] <= 0
            continue
        assert found.fewest is not None and fewest <= found.fewest <= (fewest if fewest <= 2 else fewest + 1)
        margin, changed = found.best[found.fewest]
        row = (sets == changed).all(1)
        assert int(changed.sum()) == found.fewest
        assert margin == pytest.approx(float((log_probabilities[row, token] - others[row].max(-1).values)[0]), abs=1e-5)


def test_cancel():
    with pytest.raises(CancelledError):
        winning_heads.search(random_toy(0), 3, cancelled=lambda: True)
