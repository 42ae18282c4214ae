"""Commands for developers: translation catalogues, generated documentation, lock file, import graph, wheel."""
