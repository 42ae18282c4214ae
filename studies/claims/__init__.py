"""The statements of our sources, their numbers and ours, and a verdict on each statement that a rule computes.

    python -m studies.claims             # judges all statements and prints the verdicts
    python -m studies.claims --write     # judges them and writes verdicts.json, which pages and documents read
    python -m studies.claims all         # measures again the numbers that no card has, then prints the verdicts

One file per claim in sources/; verdict.py has the rules, evidence.py reads the measurements, measure.py measures.
"""

from studies.claims.statement import (
    BUILT,
    FADES,
    FAILS,
    HOLDS,
    KEYS,
    MISSING,
    ONCE,
    OPEN,
    SMALL,
    WORDS,
    Chart,
    Claim,
    Statement,
    Verdict,
)
from studies.claims.verdict_file import read

__all__ = ["BUILT", "FADES", "FAILS", "HOLDS", "KEYS", "MISSING", "ONCE", "OPEN", "SMALL", "WORDS", "Chart",
           "Claim", "Statement", "Verdict", "read"]
