"""Event handlers: each handler changes the visitor's History according to an event."""
