"""The page Findings: what papers state, what our models show, and a verdict on each statement."""
