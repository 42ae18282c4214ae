"""Studies over a corpus: one module per study, each with a measure and a command."""
