"""Opening a Hugging Face model: download, allowed files, configuration facts, checks."""
