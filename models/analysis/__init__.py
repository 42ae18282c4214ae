"""Measures of heads on one prompt: relevance, roles, minimal heads, groups, similarity."""
