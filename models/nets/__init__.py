"""The networks: attention types, the Transformer, the encoder-decoder, constant matrices."""
