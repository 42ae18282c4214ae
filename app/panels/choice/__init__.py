"""The choice of models, and the panel that shows a model card."""
