"""Settings of single pages, as fields of LabState: selection, pruning, constants, heads, search."""
