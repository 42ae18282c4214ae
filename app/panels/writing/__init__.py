"""Panels about generated text: continuation, sampling settings, limited memory, translation."""
