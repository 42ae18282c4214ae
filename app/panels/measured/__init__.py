"""Panels of stored measurements over a corpus, and their counterparts on the typed text."""
