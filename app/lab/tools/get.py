"""Download: the picture, the numbers and the Python code of the present state."""

from numpy import ndarray

from app.content.picture import selected_map
from app.content.tool import Tool
from app.content.tools.mean import mean_map
from app.lab import saved_model
from app.lab.view import View
from app.texts import N_, _
from components.mounting import Content
from models import HeadPlan


def code_of(name: str, plan: HeadPlan, text: str, target: str = "") -> str:
    """Returns Python code that runs a model on a text under a plan."""
    given = f", target={target!r}" if target else ""
    return "\n".join(("import attention_lab as al", "", f"lab = al.load({name!r})",
                      f"plan = al.HeadPlan.parse({str(plan)!r})", f"trace = al.run(lab, {text!r}, plan{given})", ""))


def content(view: View, tool: Tool) -> Content:
    """Returns the code that computes the same state in Python, and the files that the server makes."""
    reason = saved_model.refusal(view.lab, view.state.plan)
    charts = {"head.html": _("Pattern with zoom (HTML)")} if tool.thing == "head" else {}
    if tool.thing == "layer" and view.kind.attention.selects:
        charts = {"mask.html": _("Mask F in 3-D (HTML)")}
    files = {**charts, "all.npz": _("All heads (NPZ)"), "all.json": _("All heads (JSON)"),
             "all.csv": _("All heads (CSV)"),
             **({"all.zip": _("Model for transformers (ZIP)")} if reason == "" else {})}
    return {"code": code_of(view.lab.name, view.plan, view.reading.shown, view.state.target), "files": files,
            "refused": _("This model cannot be saved for transformers: {reason}", reason=reason) if reason else ""}, \
        _map(view, tool)


def _map(view: View, tool: Tool) -> dict[str, ndarray]:
    """Returns the whole pattern, which the browser saves as a picture or as numbers."""
    if tool.thing == "head":
        weights = selected_map(view, "used")
        return {} if weights is None else {"map.used": weights}
    return {"map.mean": mean_map(view, [view.state.selection.layer])} if tool.thing == "layer" else {}


PATTERN = N_("pictures, numbers, model")
TOOLS = [Tool("head.get", N_("Download"), PATTERN, content), Tool("layer.get", N_("Download"), PATTERN, content),
         Tool("answer.get", N_("Download"), N_("numbers, model"), content)]
