"""The Lab: the picture of the model at work, the text field, the answer and the inspector, as one component."""

from typing import Any

from numpy import ndarray

from components.mounting import Content, OnEvent, component


@component("lab")
def lab(*, key: str, header: dict[str, Any], arrays: dict[str, ndarray], on_event: OnEvent) -> Content:
    """Displays the Lab. app/content/picture.py and app/lab/page.py describe `header` and `arrays`.

    Args:
        key: key of the mount.
        header: JSON values.
        arrays: attention weights as round(255 sqrt(w)) in uint8, contributions in float32.
        on_event: called with events of app/lab/events.py, which the browser sends and which must be checked.
    """
    return header, arrays
