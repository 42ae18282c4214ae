"""The page Findings: a strip of marks, the list of statements with small plots, and one opened statement."""

from typing import Any

from components.mounting import Content, OnEvent, component


@component("findings")
def findings(*, key: str, header: dict[str, Any], on_event: OnEvent) -> Content:
    """Displays the page Findings. app/findings/page.py describes `header`.

    Args:
        key: key of the mount.
        header: JSON values.
        on_event: called with events of app/findings/events.py, which the browser sends and which must be checked.
    """
    return header, {}
