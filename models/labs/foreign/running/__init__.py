"""One forward pass of a Hugging Face model: attention function, adapters, records, constants."""
