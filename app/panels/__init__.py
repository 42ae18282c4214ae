"""Panels: the parts that pages consist of."""
