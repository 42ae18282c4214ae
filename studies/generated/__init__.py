"""Studies of generated texts: a value for each translation and each summary of the test set."""
