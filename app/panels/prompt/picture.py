"""The picture that is the input of a vision model: upload field, and the attention of one query over the picture."""

from __future__ import annotations

import io
from pathlib import Path

import numpy
import streamlit as st
from numpy import ndarray
from PIL import Image
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.markdown import plain
from app.state import session, visitor_models
from app.texts import _
from components.colours import COLOURS
from models import Lab
from models.capabilities import ReadsPictures
from models.messages import message
from models.prompt import Prompt

EXAMPLE = Path(__file__).parents[3] / "assets" / "picture.png"


def read(lab: Lab, of: str = "") -> Prompt:
    """Returns the visitor's picture, or the example, as a prompt.

    Args:
        lab: the vision model.
        of: name of the model for which the picture was chosen; default: this model.

    Returns:
        The prompt.

    Raises:
        InputError: the file is no valid picture, or the picture is too large.
    """
    return ReadsPictures.of(lab).read_picture(visitor_models.picture(of or lab.name) or EXAMPLE.read_bytes())


def choose(lab: Lab) -> None:
    """Displays the upload field. Links do not contain the picture; a link opens the example picture.

    Args:
        lab: the vision model.
    """
    st.file_uploader(_("A picture (JPEG or PNG); without one, the example is shown"),
                     type=["png", "jpg", "jpeg", "webp"], key=session.PICTURE, on_change=_on_picture, args=(lab.name,))
    if st.session_state.get(session.PICTURE_PROBLEM):
        st.error(plain(_(st.session_state[session.PICTURE_PROBLEM])))


def _on_picture(model: str) -> None:
    file = session.widget(session.PICTURE, UploadedFile)
    data = None if file is None else file.getvalue()
    if data is not None and len(data) > visitor_models.MOST_PICTURE:
        st.session_state[session.PICTURE_PROBLEM] = message("The picture has {size:,.0f} MB; at most 8 are read.",
                                                            size=len(data) / 1e6)
        data = None
    else:
        st.session_state[session.PICTURE_PROBLEM] = ""
    visitor_models.set_picture(model, data)


def overlay(prompt: Prompt, weights: ndarray) -> None:
    """Displays the attention of one query over the picture.

    Args:
        prompt: the picture.
        weights: (N, N) attention pattern of the head, under the plan.
    """
    names = list(prompt.tokens)
    query = st.select_slider(_("Query"), range(len(names)), key=session.QUERY, format_func=names.__getitem__)
    row = weights[min(query, len(weights) - 1)]
    st.image(laid_over(prompt, row), width=300, caption=_("What {token} looks at; the brightest is {weight:.3f}",
                                                          token=names[query], weight=row[1:].max()))


def laid_over(prompt: Prompt, row: ndarray) -> Image.Image:
    """Returns the picture in grey, with each patch tinted by its attention weight.

    Args:
        prompt: a models.labs.foreign.reading.vision.PicturePrompt.
        row: (N,) attention weights of one query; the patch with the largest weight gets the strongest tint.

    Returns:
        The tinted picture.
    """
    seen = Image.open(io.BytesIO(prompt.seen)).convert("L").convert("RGB")  # type: ignore[attr-defined]
    patches = prompt.over_patches(row)  # type: ignore[attr-defined]
    share = numpy.sqrt(patches / max(float(patches.max()), 1e-9))
    mask = Image.fromarray((share * 200).astype(numpy.uint8)).resize(seen.size, Image.Resampling.NEAREST)
    tint = Image.new("RGB", seen.size, COLOURS["light"]["diverging"][-4])
    return Image.composite(tint, seen, mask)
