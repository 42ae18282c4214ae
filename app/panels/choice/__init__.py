"""The choice of models, and the panel of a model's card."""
