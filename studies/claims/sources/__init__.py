"""The statements of each source and the rules that judge them, one module per claim."""
