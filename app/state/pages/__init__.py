"""Settings of single pages, as parts of LabState: selection, pruning, constants, heads, search."""
