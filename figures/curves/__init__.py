"""Charts of lines and points, built from `figures.lines`. Their functions are public names of `figures`."""
