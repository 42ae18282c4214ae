"""Event handlers: each turns a visitor's event into a new History."""
