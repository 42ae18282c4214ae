"""Where a model's answer comes from: predictions by layer, attribution to heads, and patching from a second prompt."""
