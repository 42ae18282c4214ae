"""Results: the sources' claims, our numbers beside theirs, and a verdict for each."""

from app import results

results.page()
