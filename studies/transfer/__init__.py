"""Transfer of pretrained encoders to other tasks (Synthesizer, tables 4 and 5)."""
