"""Downloads of the present state: pictures, numbers, Python code, interactive charts, the model for transformers."""

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from numpy import ndarray

import figures
from app import exports
from app.content.effect import usable
from app.content.picture import selected_map
from app.content.tool import Tool
from app.content.tools import mean_map
from app.lab.view import View
from app.texts import N_, _, spelt
from components.mounting import Content
from models import HeadPlan, Lab
from models.errors import StructureError
from models.labs import saving
from models.labs.foreign import is_foreign
from models.labs.foreign.opening import hub
from models.trace import Trace

MB = 1_000_000
PATTERN = N_("pictures, numbers, model")
LARGEST, LARGEST_HOSTED = 2_000 * MB, 200 * MB  # most bytes of a download


def code_of(name: str, plan: HeadPlan, text: str, target: str = "") -> str:
    """Returns Python code that runs a model on a text under a plan."""
    given = f", target={target!r}" if target else ""
    return "\n".join(("import attention_lab as al", "", f"lab = al.load({name!r})",
                      f"plan = al.HeadPlan.parse({str(plan)!r})", f"trace = al.run(lab, {text!r}, plan{given})", ""))


def get(view: View, tool: Tool) -> Content:
    """Returns the code that computes the same state in Python, and the files that the server makes."""
    reason = refusal(view.lab, view.state.plan)
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


def of_head(view: View, link: str) -> tuple[str, bytes]:
    """Returns name and content of a file with the selected head's pattern, with zoom and values at the pointer."""
    kind, layer, head = view.head
    queries, keys = (spelt(view.after.rows[row]) for row in (view.kind.query_row, view.kind.key_row))
    chart = figures.attention_pattern(view.layer().weights[head], queries, keys, _("key token"), _("query token"),
                                      _("attention weight"))
    title = _("{model}, layer {layer}, head {head}", model=view.lab.name, layer=layer + 1, head=head + 1)
    return _file(view, chart, title, f"{kind}-{layer + 1}-{head + 1}", link)


def of_mask(view: View, link: str) -> tuple[str, bytes]:
    """Returns the name and the content of a file with the mask F of the selected layer as a surface."""
    mask = view.after.mask if isinstance(view.after, Trace) else None
    if mask is None or not view.kind.attention.selects:
        raise ValueError(N_("This text has no mask F."))
    layer = view.state.selection.layer
    chart = figures.mask_surface(mask[layer], spelt(view.after.rows[view.kind.key_row]), _("token"), _("query step"),
                                 _("accumulated F, in units of the scores"))
    title = _("{model}, layer {layer}: mask F", model=view.lab.name, layer=layer + 1)
    return _file(view, chart, title, f"mask-{layer + 1}", link)


def _file(view: View, chart: Any, title: str, what: str, link: str) -> tuple[str, bytes]:
    name = exports.file_name(view.lab.name, what, "html")
    with tempfile.TemporaryDirectory() as folder:
        path = figures.save(chart, Path(folder) / name, title, [view.reading.shown[:200], f"{view.plan}"], link)
        return name, path.read_bytes()


def refusal(lab: Lab, plan: HeadPlan) -> str | None:
    """Returns why the model under the plan cannot be downloaded, empty if it can; None for our own models if hosted."""
    if hub.access().hosted and not is_foreign(lab.name):
        return None
    largest = LARGEST_HOSTED if hub.access().hosted else LARGEST
    if lab.nbytes > largest:
        return _("it has {size:,.0f} MB (at most {most:,.0f} MB here). In Python, use attention_lab.save_pretrained.",
                 size=lab.nbytes / MB, most=largest / MB)
    try:
        if is_foreign(lab.name):
            saving.check_plan(lab, usable(lab, plan))
        else:
            saving.check(lab, usable(lab, plan))
    except StructureError as error:
        return _(str(error)) + "."
    return ""


def check(lab: Lab, plan: HeadPlan) -> None:
    """Raises StructureError if the model under the plan cannot be saved, after one short pass."""
    saving.check(lab, usable(lab, plan))


def zipped(lab: Lab, plan: HeadPlan) -> bytes:
    """Returns the folder of the saved model as a ZIP file, without compression, because weights do not compress."""
    file = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        saving.save_pretrained(lab, folder, usable(lab, plan))
        with zipfile.ZipFile(file, "w") as archive:
            for path in sorted(Path(folder).iterdir()):
                archive.write(path, path.name)
    return file.getvalue()


TOOLS = [
    Tool("head.get", N_("Download"), PATTERN, get), Tool("layer.get", N_("Download"), PATTERN, get),
    Tool("answer.get", N_("Download"), N_("numbers, model"), get)]
