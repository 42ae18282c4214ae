"""The page Training: settings of a small training, its picture, its curve and the table of recorded trainings."""

from typing import Any

from numpy import ndarray

from components.mounting import Content, OnEvent, component


@component("training")
def training(*, key: str, header: dict[str, Any], arrays: dict[str, ndarray], on_event: OnEvent) -> Content:
    """Displays the page Training. app/training/page.py describes `header` and `arrays`.

    Args:
        key: key of the mount.
        header: JSON values.
        arrays: `patterns` (moments, layers · heads · cells of the lower triangle), round(255 sqrt(w)) in uint8.
        on_event: called with events of app/training/events.py, which the browser sends and which must be checked.
    """
    return header, arrays
