"""Speed, as ratios measured in one run. `python -m benchmarks` runs all; see README.md in this folder."""
