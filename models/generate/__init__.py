"""Text generation: cached decoding, beam search, sampling."""
