"""Measured curves by the length of the text (studies/corpus/lengths.py): loss, accuracy, entropy and normaliser."""

import math
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from app.content.tools import POLICIES
from app.panels.choosing import model_label
from app.server import caches
from app.texts import N_, _
from studies import seeds, store


@dataclass(frozen=True)
class Quantity:
    """The quantity that a chart shows."""

    key: str  # key of the quantity in the results of studies.corpus.lengths.measure and facts
    # title and unit: texts for the visitor, not translated yet
    title: str
    unit: str
    percent: bool = False  # True if the values are fractions that are shown in percent


ENTROPY = Quantity("entropy", N_("Entropy of a row, mean of all heads"), N_("nats"))
QUANTITIES = (Quantity("loss", N_("Loss"), N_("nats")), Quantity("accuracy", N_("Accuracy"), N_("share of right "
                                                                                                "answers"), True),
              ENTROPY, Quantity("log_normaliser", N_("Normaliser of a row, mean of all heads"), N_("ln Z")))
TRAINED = "trained"


@dataclass(frozen=True, eq=False)
class Curve:
    """One model with one inference setting."""

    model: str  # name of the model
    policy: str  # one of POLICIES
    by_length: dict[int, dict[str, Any]]  # number of tokens -> result of studies.corpus.lengths.measure
    # (quantity, number of tokens) -> standard error due to the sampling of texts, combined with the standard deviation
    # over seeds if there are several
    spread: dict[tuple[str, int], float]

    @property
    def label(self) -> str:
        if self.policy == TRAINED:
            return model_label(self.model)
        return _("{model}, {reading}", model=model_label(self.model), reading=_(POLICIES[self.policy]))

    def value(self, length: int, quantity: str) -> float | None:
        """Returns a quantity at a length, averaged over layers and heads if necessary; None if it was not measured."""
        measured = self.by_length.get(length, {}).get(quantity)
        if isinstance(measured, list):
            return fmean(value for layer in measured for value in layer)
        return measured


def curves_of(name: str) -> tuple[Curve, ...]:
    """Returns the measured curves of a model, the trained setting first; empty if the model was not measured."""
    return _curves(name, store.stamp(name, "length", seeds.SEEDS / f"{name}.json"))


@caches.remembered()
def _curves(name: str, stamp: tuple[int, ...]) -> tuple[Curve, ...]:
    stored = store.read(name, "length")
    if stored is None:
        return ()
    return tuple(Curve(name, policy, {int(n): values for n, values in by_length.items()},
                       _spreads(name, policy, by_length))
                 for policy, by_length in stored["readings"].items())


def _spreads(name: str, policy: str, by_length: dict[str, dict[str, Any]]) -> dict[tuple[str, int], float]:
    """Returns (quantity, tokens) -> known uncertainty, due to texts and, for the trained setting, to seeds."""
    metrics = list(seeds.read_seeds(name).values()) if policy == "trained" else []
    result = {}
    for quantity in ("loss", "accuracy"):
        for n, values in by_length.items():
            events = str((int(n) - 1) // 2)  # lengths of assignments are events of two tokens, without BOS
            of_seeds = [value for metric in metrics for key, at in ((f"{quantity}_by_length", n),
                                                                    (f"{quantity}_by_events", events))
                        if (value := metric.get(key, {}).get(at)) is not None]
            chance = math.hypot(stdev(of_seeds) if len(of_seeds) > 1 else 0.0, values.get(f"{quantity}_error", 0.0))
            if chance:
                result[quantity, int(n)] = chance
    return result
