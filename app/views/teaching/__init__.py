"""Pages for learning and teaching: the start page, the lessons, and the page for teachers."""
