"""The claims of our sources, our numbers beside theirs, and a verdict that a rule computes.

    python -m models.studies.claims         # prints the verdicts from what is measured
    python -m models.studies.claims all     # measures again what no card has, then prints them

One file a claim; verdict.py has the rules, evidence.py reads what was measured, measure.py measures.
"""

from dataclasses import replace

from models.studies.claims import method
from models.studies.claims.evidence import Evidence
from models.studies.claims.sources import disagreement, gated, heads, normalisation, papa, selective, synthesizer
from models.studies.claims.statement import Chart, Claim, Statement
from models.studies.claims.verdict import FAILS, HOLDS, OPEN, PART, UNSURE, Verdict

__all__ = ["FAILS", "HOLDS", "MODULES", "OPEN", "PART", "UNSURE", "Chart", "Claim", "Evidence", "Statement", "Verdict",
           "claim", "claims"]

MODULES = {"synthesizer": synthesizer, "selective": selective, "normalisation": normalisation,
           "papa": papa, "heads": heads, "disagreement": disagreement,
           "gated": gated}  # by Claim.key


def claims(evidence: Evidence | None = None) -> list[Claim]:
    """All claims with their present verdicts; `evidence` is the repository's by default."""
    evidence = evidence or Evidence()
    return [claim(key, evidence) for key in MODULES]


def claim(key: str, evidence: Evidence) -> Claim:
    """One of MODULES. Raises whatever reading numbers of another shape than they were written in does."""
    found = MODULES[key].claim(evidence)
    return replace(found, trainings=method.trainings(evidence, found.models),
                   curves=method.curves(evidence, found.models),
                   waiting=tuple(name for name in found.models if evidence.waits(name)))
