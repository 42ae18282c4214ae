"""Panels that show measured results over a corpus."""
