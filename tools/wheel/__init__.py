"""Builds the wheel of the distribution attention-lab: `python -m build`."""
