"""Panels about the prompt: heads, effect, gates, minimal heads, export."""
