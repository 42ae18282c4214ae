"""Everything that a visitor can set: the value (lab_state), its link (link), undo (history), the session (session)."""
