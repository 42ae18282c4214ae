"""Download: the picture, the numbers and the Python code of the present state."""

from __future__ import annotations

from app.lab.tool import Tool
from app.lab.view import View
from app.texts import N_
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """Returns the code that computes the same state in Python."""
    code = ["import attention_lab as al", "", f"lab = al.load({view.lab.name!r})",
            f"plan = al.HeadPlan.parse({str(view.plan)!r})", f"trace = al.run(lab, {view.reading.shown!r}, plan)"]
    return {"code": "\n".join(code) + "\n"}, {}


PATTERN = N_("PNG, SVG, CSV, Python")
TOOLS = [Tool("head.get", N_("Download"), PATTERN, content), Tool("layer.get", N_("Download"), PATTERN, content),
         Tool("answer.get", N_("Download"), N_("CSV, Python"), content)]
