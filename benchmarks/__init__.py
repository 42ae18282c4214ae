"""Benchmarks; each result is the ratio of two durations from one run. `python -m benchmarks` runs all; see README.md.
"""
