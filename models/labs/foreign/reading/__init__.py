"""Inputs and outputs of Hugging Face models: tokenizers, pictures, heads on top of a model."""
