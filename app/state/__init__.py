"""A visitor's state: an immutable value (lab_state), links (link), undo (history) and the session (visit, session)."""
