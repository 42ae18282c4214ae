"""Adapters that implement the Lab protocol: our stacks, our encoder-decoders, Hugging Face models."""
