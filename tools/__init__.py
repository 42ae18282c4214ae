"""Developers' commands: catalogues of texts, tables in the README."""
