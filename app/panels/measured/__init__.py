"""Panels of stored measurements over a corpus, and the same measures on the input text."""
