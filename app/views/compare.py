"""Compare: up to four models on one text, with one selection and one plan."""

from app import compare

compare.page()
