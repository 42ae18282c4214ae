"""Judges every statement of the sources from cards, seeds and measurements.

This module is separate from the package's `__init__`, because it imports all measures and takes seconds. Pages read the
verdicts that `python -m studies.claims --write` stored.
"""

from dataclasses import replace
from importlib import import_module

from studies.claims import KEYS, method
from studies.claims.contrast import corrected
from studies.claims.evidence import Evidence
from studies.claims.statement import Claim

MODULES = {key: import_module(f"{__package__}.sources.{key}") for key in KEYS}


def judge(evidence: Evidence | None = None) -> list[Claim]:
    """Returns all claims with their verdicts, in the order of KEYS."""
    evidence = evidence or Evidence()
    claims = [judge_claim(key, evidence) for key in MODULES]
    verdicts = iter(corrected([statement.verdict for claim in claims for statement in claim.statements]))
    return [replace(claim, statements=[replace(statement, verdict=next(verdicts)) for statement in claim.statements])
            for claim in claims]


def judge_claim(key: str, evidence: Evidence) -> Claim:
    """Returns the claim of this key with its verdicts, not yet corrected for all statements."""
    claim = MODULES[key].claim(evidence)
    return replace(claim, trainings=method.trainings(evidence, claim.models),
                   curves=method.curves(evidence, claim.models), rates=method.sweep(claim.family),
                   waiting=tuple(name for name in claim.models if evidence.waits(name)))
