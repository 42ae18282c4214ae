"""Measurements over corpora: each study has a measure, a file of numbers, and a command."""
