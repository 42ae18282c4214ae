"""The Lab: one picture of the model at work, tools for heads, layers, words and the answer."""
