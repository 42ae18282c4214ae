"""Measures whether the heads that activation patching finds are necessary for the answer.

    python -m studies.corpus.patching assignment-softmax translation-softmax [--texts T]

A pair has two prompts with the same number of tokens, which differ in one token and have different answers. For
variable assignment, the last value of the queried variable differs. For translation, the second prompt is a held-out
sentence in which one word of SWAPPED is replaced.

1. Naming. On T pairs, each head alone takes its output from the second prompt. Heads that restore at least the fraction
   NAMED of the logit difference, on average, are named.
2. Removal. On T other pairs the named heads are pruned (gate 0). As a control, the same number of random other heads is
   pruned, DRAWS times. The result is the fraction of pairs whose top-1 answer to the first prompt does not change.

The limits were set before any number was known: `necessary` is `yes` if less than half of the answers stay the same
without the named heads, and more than half stay the same in every draw of random heads. The first comparison is a
one-sided test at 5%, which was added on 27 November 2026; if it decides neither way, `necessary` is `not decided`.
`error` is the standard error of a fraction over the pairs.

Writes studies/measurements/NAME.patching.json.
"""

import argparse
import math
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from models.analysis.answer.head_attribution import HeadPatching, patching_of
from models.catalogue import names
from models.lab import Lab
from models.loading import load
from models.plan import Address, HeadPlan
from models.prompt import Prompt
from models.tasks.assignment import LETTERS, VALUES
from models.tasks.base import Task
from models.tasks.pairs import PairCorpus, first_of_each
from studies.command import Option, study

CRITICAL = 1.645  # quantile of the normal distribution for a one-sided test at 5%
TEXTS, DRAWS = 200, 20
NAMED = 0.05  # smallest mean fraction of the logit difference that a named head restores
EVENTS, VARIABLES = 8, 4  # numbers of events and variables of a text, without the query
SEED = 11
SWAPPED = (("he", "she"), ("He", "She"), ("my", "your"), ("My", "Your"), ("him", "her"), ("dog", "cat"),
           ("man", "woman"), ("boy", "girl"), ("mother", "father"), ("today", "tomorrow"), ("two", "three"),
           ("red", "blue"), ("car", "house"), ("Tom", "Mary"), ("always", "never"), ("big", "small"))


def assignment_pairs(seed: int) -> Iterator[tuple[str, str]]:
    """Yields endless random pairs of texts about variables, like `x=7; y=2; x=?` and `x=3; y=2; x=?`."""
    generator = random.Random(seed)
    while True:
        letters = generator.sample(LETTERS, VARIABLES)
        events = [(generator.choice(letters), generator.randrange(VALUES)) for _ in range(EVENTS)]
        variable = generator.choice(events)[0]
        last = max(i for i, (letter, _) in enumerate(events) if letter == variable)
        value = generator.choice([value for value in range(VALUES) if value != events[last][1]])
        others = [*events[:last], (variable, value), *events[last + 1:]]
        first, second = ("; ".join([*(f"{letter}={digit}" for letter, digit in row), f"{variable}=?"])
                         for row in (events, others))
        yield first, second


def sentence_pairs(sentences: Iterable[str], seed: int) -> Iterator[tuple[str, str]]:
    """Yields pairs of sentences that differ in one word of SWAPPED, in random order."""
    other = {word: partner for pair in SWAPPED for word, partner in (pair, pair[::-1])}
    pairs = []
    for sentence in sentences:
        matches = [match for match in re.finditer(r"\w+", sentence) if match[0] in other]
        if len(matches) == 1:
            (match,) = matches
            pairs.append((sentence, sentence[:match.start()] + other[match[0]] + sentence[match.end():]))
    random.Random(seed).shuffle(pairs)
    yield from pairs


def measured_pairs(lab: Lab, pairs: Iterator[tuple[str, str]], count: int) -> Iterator[tuple[Prompt, HeadPatching]]:
    """Yields the first `count` pairs with two answers, and the effect of each head alone."""
    usable = 0
    for text, second in pairs:
        if usable == count:
            return
        try:
            prompt = lab.anchored(lab.read(text).with_source(lab.read(second)))
            patching = patching_of(lab, prompt)
        except ValueError:  # the prompts have the same answer, or different numbers of tokens
            continue
        usable += 1
        yield prompt, patching


def named(results: Sequence[HeadPatching], least: float = NAMED) -> list[tuple[Address, float]]:
    """Returns (address, mean restored fraction) of the heads with at least `least`, the largest first."""
    shares: dict[Address, list[float]] = defaultdict(list)
    for result in results:
        for address, share in result.ranked:
            shares[address].append(share)
    means = sorted(((address, fmean(values)) for address, values in shares.items()), key=lambda item: -item[1])
    return [(address, share) for address, share in means if share >= least]


def stays(lab: Lab, prompt: Prompt, result: HeadPatching, plan: HeadPlan) -> bool:
    """Returns True if the top-1 answer to the prompt is the same under the plan."""
    outputs = lab.run(prompt, [plan])[0].outputs
    output = next(one for one in outputs if one.position == result.position) if result.position >= 0 else outputs[-1]
    return int(output.top()[0]) == result.against


def _pairs(lab: Lab, task: Task) -> Iterator[tuple[str, str]]:
    if isinstance(task.corpus, PairCorpus):
        sentences = [text for split in ("test", "validation") for text, _ in first_of_each(task.corpus.pairs(split))]
        return sentence_pairs(dict.fromkeys(sentences), SEED)
    return assignment_pairs(SEED)


def necessary(without: float, random_shares: Sequence[float], pairs: int) -> str:
    """Returns `yes`, `no` or `not decided`; see the module's docstring."""
    half = CRITICAL * math.sqrt(without * (1 - without) / pairs)
    if without - half > 0.5 or min(random_shares) <= 0.5:
        return "no"
    return "yes" if without + half < 0.5 else "not decided"


def measure(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the measurement of a model; see the module's docstring."""
    pairs = list(measured_pairs(lab, _pairs(lab, task), 2 * arguments.texts))
    if len(pairs) < 2 * arguments.texts:
        raise ValueError(f"{lab.name}: {len(pairs)} pairs have two answers, not {2 * arguments.texts}")
    heads = named([result for _, result in pairs[:arguments.texts]])
    tested = pairs[arguments.texts:]
    others = [address for kind in lab.kinds for address in kind.addresses if address not in dict(heads)]
    generator = random.Random(SEED)
    count = min(len(heads), len(others))
    draws = [generator.sample(others, count) for _ in range(DRAWS)]

    def share(addresses: Sequence[Address]) -> float:
        plan = HeadPlan().with_heads(addresses, gate=0.0)
        return fmean(stays(lab, prompt, result, plan) for prompt, result in tested)

    without, random_shares = share([address for address, _ in heads]), [share(draw) for draw in draws]
    return {"texts": arguments.texts, "least": NAMED, "named": [[*address, round(value, 4)] for address,
                                                                value in heads],
            "heads": len(heads) + len(others), "unmodified": share(()), "without_named": without,
            "error": round(math.sqrt(without * (1 - without) / len(tested)), 4),
            "without_random": [round(value, 4) for value in random_shares],
            "without_random_mean": round(fmean(random_shares), 4),
            "necessary": necessary(without, random_shares, len(tested))}


if __name__ == "__main__":
    study("patching", __doc__, [name for name in names() if name.startswith(("assignment-", "translation-"))], load,
          measure, [Option("texts", TEXTS, "pairs for naming, and as many for removal")])
