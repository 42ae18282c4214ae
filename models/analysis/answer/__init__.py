"""The origin of a model's prediction: predictions by layer, attribution to heads, patching from a second prompt."""
