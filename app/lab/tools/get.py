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


TOOLS = [Tool(f"{thing}.get", N_("Download"), N_("PNG, SVG, CSV, NPZ, Python"), content)
         for thing in ("head", "layer", "answer")]
