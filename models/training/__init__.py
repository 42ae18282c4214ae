"""Training: recipes, trainer, optimisers, learned gates, cards, evaluation."""
