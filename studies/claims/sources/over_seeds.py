"""The test of a difference over seeds, or over texts as long as too few models are trained."""

from collections.abc import Sequence

from numpy import ndarray

from studies import per_text
from studies.claims.evidence import Evidence
from studies.claims.verdict import FEWEST, Check, Samples, below, below_in_texts, deciding


def below_over_seeds(evidence: Evidence, what: str, between: Samples, behind: Sequence[float] | ndarray | None,
                     *sides: tuple[str, per_text.Reader]) -> Check:
    """Tests whether the mean difference of two models is below 0."""
    if is_repeated(between):
        return below(what, between, texts=evidence.text_error(between, *sides))
    return below_in_texts(what, behind)


def is_repeated(between: Samples) -> bool:
    """Returns True if there are FEWEST trainings or more with the deciding number of steps."""
    return len(between.get(deciding(between), {})) >= FEWEST
