"""Choosing models, and what a chosen model's card shows."""
