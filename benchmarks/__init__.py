"""Benchmarks; each result is a ratio of two times from one run. `python -m benchmarks` runs all; see README.md."""
