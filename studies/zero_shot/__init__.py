"""Tests that no model was trained for: pairs of sentences, and multiple choice."""
