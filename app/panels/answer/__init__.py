"""The sections that explain the prediction: by layer, contributions to a logit, two prompts, parts of a score."""
