"""Lesson files and the conditions of their steps."""
