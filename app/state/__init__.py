"""A visitor's state: an immutable value (lab_state), its link (link), undo (history) and the visit (visit, session)."""
