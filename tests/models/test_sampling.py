"""Sampling and beam search against references: sorted probabilities, an exhaustive search, a greedy loop."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from models.generate.decoding import GREEDY, MAX_SEED, Sampling, generator, nucleus
from models.generate.seq2seq_decoding import between_steps, search
from models.loading import own

LOGITS = st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=40)


def naive_nucleus(p: list[float], top_p: float) -> set[int]:
    """Returns the most probable tokens, added one by one until the sum of their probabilities reaches `top_p`."""
    chosen: set[int] = set()
    for token in sorted(range(len(p)), key=lambda i: (-p[i], i)):
        chosen.add(token)
        if math.fsum(p[i] for i in chosen) >= top_p:
            break
    return chosen


@given(LOGITS, st.floats(0.05, 0.999))
def test_top_p_keeps_what_a_naive_reference_keeps(logits: list[float], top_p: float):
    log_p = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    p = log_p.exp().tolist()
    kept = {i for i, value in enumerate(nucleus(log_p, top_p).tolist()) if value > -math.inf}
    expected = naive_nucleus(p, top_p)
    # if a sum equals top_p up to rounding, a nucleus with one token more or less is right too
    sums = torch.tensor(sorted(p, reverse=True)).cumsum(0)
    if (sums - top_p).abs().min() > 1e-9:
        assert kept == expected
    assert len(kept) >= 1 and all(p[i] >= max([p[j] for j in range(len(p)) if j not in kept], default=0) for i in kept)


def test_tokens_come_as_often_as_they_are_probable():
    """Pearson's chi-square of the four tokens in the nucleus is below the 0.1% threshold."""
    sampling, logits = Sampling(0.7, 0.95, 3), torch.tensor([2.0, 1.5, 1.0, 0.5, 0.0, -3.0])
    p = (logits / 0.7).softmax(-1)
    inside = naive_nucleus(p.tolist(), 0.95)
    assert 5 not in inside and len(inside) == 4
    p = torch.tensor([float(p[i]) if i in inside else 0.0 for i in range(6)])
    p /= p.sum()
    counts = torch.bincount(torch.tensor([sampling.choose(logits, place) for place in range(4000)]), minlength=6)
    expected = 4000 * p
    assert counts[4:].sum() == 0
    assert float(((counts - expected)[:4] ** 2 / expected[:4]).sum()) < 16.3  # threshold for three degrees of freedom


@settings(max_examples=40)
@given(LOGITS, st.integers(0, MAX_SEED), st.integers(0, 500))
def test_a_low_temperature_is_greedy(logits: list[float], seed: int, place: int):
    values = torch.tensor(logits)
    ordered = values.sort(descending=True).values
    if len(values) == 1 or ordered[0] - ordered[1] > 0.01:
        assert Sampling(1e-4, 1.0, seed).choose(values, place) == int(values.argmax())
    assert Sampling(0, 1.0, seed).choose(values, place) == int(values.argmax())


def test_a_seed_decides_and_another_decides_otherwise():
    lab = own("stories-softmax")
    prompt = lab.read("Once upon a time")
    first, again, other = ("".join(lab.generate(prompt, count=20, sampling=Sampling(0.9, 0.95, seed)))
                           for seed in (5, 5, 6))
    assert first == again != other
    assert "".join(lab.generate(prompt, count=20)) == "".join(lab.generate(prompt, count=20, sampling=GREEDY))
    assert first != "".join(lab.generate(prompt, count=20))


def test_two_plans_differ_by_the_plan_and_not_by_luck():
    """Both use the same random numbers; two seeds differ far more."""
    logits = 2 * torch.randn(300, 50, generator=generator(1))
    changed = logits + 0.05 * torch.randn(300, 50, generator=generator(2))
    distance = 0.5 * (logits.softmax(-1) - changed.softmax(-1)).abs().sum(-1).mean()  # total variation distance

    def drawn(of: torch.Tensor, seed: int) -> torch.Tensor:
        return torch.tensor([Sampling(1.0, 1.0, seed).choose(row, place) for place, row in enumerate(of)])

    by_plan = float((drawn(logits, 1) != drawn(changed, 1)).float().mean())
    by_luck = float((drawn(logits, 1) != drawn(logits, 2)).float().mean())
    assert by_plan <= 4 * float(distance) < 0.2 < 0.5 < by_luck


def test_with_all_its_memory_it_writes_the_same():
    lab = own("stories-selective")
    prompt = lab.read("Once upon a time")
    sampled = Sampling(1.0, 0.9, 11)
    within = [step.token for step in lab.write_within(prompt, (99,) * 4, count=15, sampling=sampled) if step.is_new]
    assert within == list(lab.generate(prompt, count=15, sampling=sampled))


def test_probabilities_of_zero_and_a_temperature_of_minus_zero():
    for logits in (torch.zeros(7), torch.tensor([-math.inf, 0.0, -math.inf]), torch.full((3,), -1e9)):
        token = Sampling(1.0, 0.5, 0).choose(logits, 0)
        assert math.isfinite(float(functional.log_softmax(logits, -1)[token]))
    assert str(Sampling(-0.0)) == str(Sampling(0.0)) and Sampling.parse(str(Sampling(-0.0))).is_greedy


@given(st.floats(0, 2), st.floats(0.05, 1), st.integers(0, MAX_SEED))
def test_sampling_settings_survive_their_text_form(temperature: float, top_p: float, seed: int):
    sampling = Sampling(temperature, top_p, seed)
    assert abs(sampling.temperature - temperature) <= 0.0051 >= abs(sampling.top_p - top_p)
    assert Sampling.parse(str(sampling)) == sampling


@pytest.mark.parametrize("text", ["", "1", "0.8-0.95", "3-0.9-1", "0.8-0-1", "0.8-1.5-1", "0.8-0.95-10000", "-1-0.9-1",
                                  "nan-0.9-1", "0.8-0.95-1-", "\u0661-0.9-1", "0.801-0.9-1", "1e0-0.9-1"])
def test_a_text_that_is_no_sampling_setting_is_refused(text: str):
    with pytest.raises(ValueError, match="sampl|expected"):
        Sampling.parse(text)


START, END, V = 0, 1, 4


class Toy:
    """A language of V tokens: the next one depends on all before, by random tables of the seed."""

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
