"""Download: the picture, the numbers and the Python code of the present state."""

from __future__ import annotations

from app.lab.tool import Tool
from app.lab.view import View
from app.panels.prompt import saved_model
from app.texts import N_, _
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """Returns the code that computes the same state in Python, and the files that the server makes."""
    code = ["import attention_lab as al", "", f"lab = al.load({view.lab.name!r})",
            f"plan = al.HeadPlan.parse({str(view.plan)!r})", f"trace = al.run(lab, {view.reading.shown!r}, plan)"]
    reason = saved_model.refusal(view.lab, view.state.plan)
    files = {"npz": _("All heads (NPZ)"), "json": _("All heads (JSON)"), "csv": _("All heads (CSV)"),
             **({"zip": _("Model for transformers (ZIP)")} if reason == "" else {})}
    return {"code": "\n".join(code) + "\n", "files": files,
            "refused": _("This model cannot be saved for transformers: {reason}", reason=reason) if reason else ""}, {}


PATTERN = N_("pictures, numbers, model")
TOOLS = [Tool("head.get", N_("Download"), PATTERN, content), Tool("layer.get", N_("Download"), PATTERN, content),
         Tool("answer.get", N_("Download"), N_("numbers, model"), content)]
