"""Pruning of heads: gates that are learned (Hard Concrete), and the removal of closed heads from a network."""
