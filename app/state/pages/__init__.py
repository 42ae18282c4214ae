"""View state of single pages: selection, pruning, constants, heads, search."""
