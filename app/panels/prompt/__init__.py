"""Panels about the prompt: heads, effect, gates, continuation, minimal heads, export."""
