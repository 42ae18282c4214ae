"""Exports the model under the plan: a ZIP file of a folder that from_pretrained of transformers can load."""

import io
import tempfile
import zipfile
from pathlib import Path

from app.content.heads import usable
from app.texts import _
from models import HeadPlan, Lab
from models.errors import StructureError
from models.labs import saving
from models.labs.foreign import is_foreign
from models.labs.foreign.opening import hub

MB = 1_000_000
LARGEST, LARGEST_HOSTED = 2_000 * MB, 200 * MB  # most bytes of a download


def refusal(lab: Lab, plan: HeadPlan) -> str | None:
    """Returns the reason why the model under the plan cannot be downloaded, a sentence; empty if it can.

    The result is None for our own models in hosted mode, where transformers would be imported only for this download.
    """
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
