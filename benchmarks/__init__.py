"""Benchmarks. Most results are ratios of two durations of the same run. `python -m benchmarks` runs all; see README.md.
"""
