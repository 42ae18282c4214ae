"""The origin of a model's answer: predictions by layer, attribution to heads, and patching from a second prompt."""
