"""The sections about the answer: predictions by layer, who wrote it, and two prompts."""
