"""The page Training: the visitor trains a small model and sees its heads form."""
