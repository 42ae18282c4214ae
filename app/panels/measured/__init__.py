"""Panels that show measurements over a corpus, which are stored, and the same measures on the input text."""
