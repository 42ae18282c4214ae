"""Benchmarks of response times in Chromium. The baseline is the floor (floor_app.py)."""
