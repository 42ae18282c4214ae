"""Files of the repository: data sets, checkpoints, damaged files, file locks."""
