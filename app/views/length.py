"""Length: what a longer text does to entropy, normalisers, accuracy and loss."""

from app import length

length.page()
