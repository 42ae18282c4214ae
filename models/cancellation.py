"""What stops work that takes seconds, where nobody waits for it any longer."""


class CancelledError(Exception):
    """The person who waited does not wait any longer; nothing half done is kept."""
