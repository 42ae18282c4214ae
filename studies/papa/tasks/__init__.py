"""The labelled tasks of the PAPA study: corpora, token ids, scores."""
