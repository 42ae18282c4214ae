"""Parts that every page shares: frame, header, text box, progress, lesson."""
