"""Beam search equals an exhaustive search over a toy vocabulary, and greedy search equals a loop."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from models.generate.seq2seq_decoding import between_steps, search

START, END, V = 0, 1, 4


class Toy:
    """A language of V tokens in which the next token depends on all earlier ones, by random tables that the seed
    determines."""

    def __init__(self, seeds: list[int]) -> None:
        self.seeds, self.rows, self.steps = seeds, [(seed, ()) for seed in seeds], 0

    @staticmethod
    def following(seed: int, ids: tuple[int, ...]) -> Tensor:
        number = seed
        for i in ids:
            number = number * 31 + i + 1
        return (1.5 * torch.randn(V, generator=torch.Generator().manual_seed(number))).log_softmax(0)

    def step(self, ids: Tensor, parents: Tensor) -> Tensor:
        self.rows = [(self.rows[parent][0], (*self.rows[parent][1], token))
                     for parent, token in zip(parents.tolist(), ids.tolist(), strict=True)]
        self.steps += 1
        assert all(len(ids) == self.steps and ids[0] == START for _, ids in self.rows)
        return torch.stack([self.following(*row) for row in self.rows])


def log_probability(seed: int, ids: tuple[int, ...]) -> float:
    return math.fsum(float(Toy.following(seed, (START, *ids[:i]))[token]) for i, token in enumerate(ids))


def everything(longest: int) -> list[tuple[int, ...]]:
    """Returns every finished text of at most `longest` tokens."""
    others = [token for token in range(V) if token != END]
    return [(*ids, END) for n in range(longest) for ids in itertools.product(others, repeat=n)]


@pytest.mark.parametrize("seed", range(8))
def test_a_wide_beam_finds_what_exhaustive_search_finds(seed: int):
    """A beam that keeps every candidate finds the text with the best mean log-probability, and reports that value."""
    found = search(Toy([seed]).step, [4], V**4, START, END)[0]
    texts = everything(4)
    assert sorted(h.ids for h in found) == sorted(texts)
    best = max(texts, key=lambda ids: log_probability(seed, ids) / len(ids))
    assert found[0].ids == best
    assert found[0].log_probability == pytest.approx(log_probability(seed, best), abs=1e-5)
    assert found[0].score == pytest.approx(log_probability(seed, best) / len(best), abs=1e-5)


def test_a_narrow_beam_is_between():
    """A narrow beam is never better than exhaustive search and on average better than greedy search."""
    gains = []
    for seed in range(40):
        greedy, narrow = (search(Toy([seed]).step, [6], beam, START, END)[0][0] for beam in (1, 4))
        if greedy.ids[-1] == END:
            gains.append(narrow.score - greedy.score)
        assert narrow.score <= max(log_probability(seed, ids) / len(ids) for ids in everything(6)) + 1e-6
    assert len(gains) > 15 and sum(gains) / len(gains) > 0.02


@pytest.mark.parametrize("seed", range(5))
def test_one_candidate_is_greedy(seed: int):
    ids: tuple[int, ...] = ()
    while len(ids) < 6 and (not ids or ids[-1] != END):
        ids = (*ids, int(Toy.following(seed, (START, *ids)).argmax()))
    assert search(Toy([seed]).step, [6], 1, START, END)[0][0].ids == ids


def test_length_counts_by_the_mean():
    """A long text with a higher mean log-probability precedes a short text with a higher total log-probability."""
    table = {(): {END: 0.5, 2: 0.5}, (2,): {END: 0.2, 3: 0.8}, (2, 3): {END: 0.9, 2: 0.1}}

    class Fixed(Toy):
        @staticmethod
        def following(seed: int, ids: tuple[int, ...]) -> Tensor:
            return torch.tensor([table.get(ids[1:], {END: 1.0}).get(token, 1e-9) for token in range(V)]).log()

    found = search(Fixed([0]).step, [4], 4, START, END)[0]
    assert found[0].ids == (2, 3, END)
    assert found[0].log_probability == pytest.approx(math.log(0.5 * 0.8 * 0.9), rel=1e-4)
    assert max(found, key=lambda h: h.log_probability).ids == (END,)


def test_texts_beside_each_other():
    """Each text of a batch gets the result that it gets alone, although texts end at different steps and limits."""
    seeds, longest = list(range(10)), [2, 3, 4, 5, 6, 7, 8, 3, 4, 5]
    together = search(Toy(seeds).step, longest, 3, START, END)
    for seed, most, found in zip(seeds, longest, together, strict=True):
        alone = search(Toy([seed]).step, [most], 3, START, END)[0]
        assert [h.ids for h in found] == [h.ids for h in alone]
        assert all(len(h.ids) <= most for h in found)
    assert len({len(found[0].ids) for found in together}) > 2


def test_what_never_ends_is_cut():
    class Endless(Toy):
        @staticmethod
        def following(seed: int, ids: tuple[int, ...]) -> Tensor:
            return torch.tensor([-9.0, -math.inf, -0.1, -3.0])

    assert search(Endless([0]).step, [5], 2, START, END)[0][0].ids == (2,) * 5


def test_a_pause_before_each_step_can_end_the_search():
    toy, pauses = Toy([3]), []

    def pause() -> None:
        pauses.append(toy.steps)
        if len(pauses) == 3:
            raise InterruptedError

    token = between_steps.set(pause)
    try:
        with pytest.raises(InterruptedError):
            search(toy.step, [9], 4, START, END)
    finally:
        between_steps.reset(token)
    assert pauses == [0, 1, 2]
