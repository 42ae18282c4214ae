"""The page Models: our models, and a model of `transformers` from the Hub or, on one's own machine, from a folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

import models
from app.markdown import literal
from app.panels import choosing, frame
from app.server import limits
from app.server.jobs import Cancelled, Job, Progress
from app.state import events, session, visit
from app.state.lab_state import LAB, LabState
from app.texts import N_, _, sentence
from components.mounting import Part
from models import Lab
from models.kind import TARGET, TEXT
from models.labs.foreign import ForeignError, is_foreign
from models.labs.foreign.opening import hub
from models.labs.foreign.refusals import HUB
from models.messages import message
from models.storage.checkpoint import CheckpointError
from models.storage.datasets import DATA
from models.tasks.stories import read_stories

ROWS = {TEXT: N_("text"), TARGET: N_("what is written")}
# suggested models by type
GROUPS = (
    (N_("Language models"),
     ("openai-community/gpt2", "distilbert/distilgpt2", "EleutherAI/pythia-70m", "EleutherAI/pythia-160m",
      "HuggingFaceTB/SmolLM2-135M")),
    (N_("Masked language models"),
     ("google-bert/bert-base-uncased", "distilbert/distilbert-base-uncased", "FacebookAI/roberta-base",
      "albert/albert-base-v2", "google/electra-small-generator", "microsoft/mpnet-base")),
    (N_("Sentence models"),
     ("sentence-transformers/all-MiniLM-L6-v2", "distilbert/distilbert-base-uncased-finetuned-sst-2-english")),
    (N_("Encoder-decoder and vision models"),
     ("google-t5/t5-small", "google/vit-base-patch16-224")))
# sources of the texts for constant matrices
OURS, PASTED, UPLOADED = N_("Short stories of this site"), N_("Pasted text"), N_("A text file")
MOST_TEXTS = 128
MOST_BYTES = 2 * 2**20  # largest number of bytes of an uploaded text
_TYPED = "typed model"  # key of the text that was submitted last
NOTHING = "", "", False  # no model of the Hub, no message about it, nothing to load


def page() -> None:
    _handle()
    frame.draw(_parts)
    job, lab = visit.current().job, _lab()
    if job is not None or lab is not None:
        with st.container(key="place"):
            if job is not None:
                frame.draw_progress(job, _ended)
            elif lab is not None:
                _opened(visit.with_constants(lab))


def _handle() -> None:
    """Handles an event here and not in its handler: the Hub takes seconds, and a job belongs to Streamlit's session."""
    now = visit.current()
    event, now.request = now.request, {}
    if now.job is None:
        match event.get("type"):
            case "find":
                _open(event["text"])
            case "load" if st.session_state.get(session.LOOKED, NOTHING)[2]:
                _load(HUB + st.session_state[session.LOOKED][0])


def _lab() -> Lab | None:
    """Returns the open model; None for a model that this project released."""
    present = session.history().present.model
    return models.cached(present) if is_foreign(present) else None


def _parts(state: LabState, problems: Sequence[str]) -> list[Part]:
    # the model of a link is offered first, unless it is a folder
    requested = session.history().wanted.get("model", "")
    typed, hosted = st.session_state.get(_TYPED, ""), hub.access().hosted
    _repo, found, can_load = st.session_state.get(session.LOOKED, NOTHING)
    problem, busy = st.session_state.get(session.JOB_PROBLEM, ""), visit.current().job is not None
    return [Part("models", "models", choosing.table() | {
        "problems": [sentence(each) for each in problems], "busy": busy,
        "about": _("Open a model of transformers, like BERT, GPT-2, Llama, Qwen3, T5, Marian or ViT. Only "
                   "safetensors are read; a model's code is never run."),
        "label": _("Name or address on the Hub") if hosted else _("Name or address on the Hub, or a folder"),
        "help": _("This host opens the models below") if hosted else
        _("A folder with config.json, model.safetensors and tokenizer.json"),
        "example": GROUPS[0][1][0], "typed": typed, "size": _(found) if can_load and not busy else "",
        "offered": requested.removeprefix(HUB) if requested.startswith(HUB) else typed,  # first text of the field
        "errors": [sentence(each) for each in (problem, "" if can_load else found) if each and not busy],
        "groups": [] if busy or _lab() else [(_(title), names) for title, names in GROUPS]},
        on_event=choosing.on_models)]


def _open(typed: str) -> None:
    """Opens the folder whose path was typed, or shows the size of the model on the Hub."""
    st.session_state[_TYPED] = typed
    st.session_state[session.JOB_PROBLEM] = "" if typed else message("Type a name")
    st.session_state[session.LOOKED] = NOTHING
    if typed and not hub.access().hosted and models.labs.foreign.is_path(typed):
        visit.current().job = Job(message("Opening {name}", name=Path(typed).name),
                                  lambda tell, cancelled: models.load_folder(typed, cancelled)).start()
    elif typed:
        _look(typed)


def _look(typed: str) -> None:
    """Requests a model's size from the Hub and stores the response, because a request takes seconds."""
    repo = hub.unquoted(typed).removeprefix(HUB)
    try:
        limits.spend(limits.DOWNLOADS)
    except limits.LimitError as error:
        st.session_state[session.LOOKED] = (repo, str(error), False)
        return
    st.session_state[session.LOOKED] = (repo, *_size(HUB + repo))


def _size(name: str) -> tuple[str, bool]:
    """Returns (download size and memory in words, or the reason for a refusal; True if the model can be opened)."""
    try:
        estimate = hub.estimate(name)
        return message("{download:,.0f} MB to download, {memory:,.0f} MB of memory.",
                       download=estimate.download / 1e6, memory=estimate.memory / 1e6), True
    except hub.UnreachableError as error:
        if hub.here(name) is not None:
            return message("The Hub cannot be reached; load the local copy."), True
        return message("{error}.", error=str(error)), False
    except ForeignError as error:
        return message("{error}.", error=str(error)), False


def _load(name: str) -> None:
    def work(tell: Progress, cancelled: Cancelled) -> Lab:
        return models.labs.foreign.load(name, tell, cancelled)
    try:
        limits.spend(limits.DOWNLOADS)
    except limits.LimitError as error:
        st.session_state[session.JOB_PROBLEM] = str(error)
        return
    st.session_state[session.JOB_PROBLEM] = ""
    visit.current().job = Job(message("Loading {name}", name=name.removeprefix(HUB)), work).start()


def _ended(job: Job[Any]) -> None:
    """Handles the end of a load, or of the computation of constant matrices."""
    visit.current().job = None
    st.session_state[session.JOB_PROBLEM] = job.problem
    if isinstance(job.result, Lab):
        if job.result.constant is not None:
            visit.keep_constants(job.result)
        else:
            events.open_model(job.result.name)


def _opened(lab: Lab) -> None:
    """Displays the open model: its architecture, and the constant matrices that can be computed for it."""
    with st.container(border=True):
        st.markdown(f"**{literal(lab.name)}** · {literal(_(lab.task.title))}")
        st.table([{_("attention"): _(kind.title), _("layers"): kind.layers, _("heads"): kind.heads,
                   _("direction"): f"{_(ROWS[kind.query_row])} → {_(ROWS[kind.key_row])}",
                   _("causal"): _("yes") if kind.causal else _("no")}
                  for kind in lab.kinds], hide_index=True)
        st.markdown(_("{size:,.0f} MB in memory; a text may have {limit} tokens.", size=lab.nbytes / 1e6,
                      limit=lab.limit))
        st.button(_("Open in the lab"), key="open in the lab", type="primary", on_click=events.go_to, args=(LAB,))
    _constants(lab)


def _constants(lab: Lab) -> None:
    """Displays the choice of texts, and the button that makes constant matrices: each head's mean pattern (PAPA)."""
    st.markdown(_("#### Constant heads"))
    if lab.constant is None:
        st.markdown(_("A constant head's pattern is its mean over many texts. Choose them; the result is kept until "
                      "your visit ends."))
    else:
        st.markdown(_("The matrices are ready for *Constant*."))
    source = st.segmented_control(_("Texts"), [OURS, PASTED, UPLOADED], default=OURS, key=session.SOURCE, required=True,
                                  format_func=_)
    text = ""
    if source == PASTED:
        text = st.text_area(_("One text per paragraph"), key=session.PASTED, height=160, max_chars=MOST_BYTES)
    elif source == UPLOADED:
        file = st.file_uploader(_("A text file, one text per paragraph"), type=["txt"], key=session.UPLOADED)
        text = "" if file is None else file.getvalue()[:MOST_BYTES].decode("utf-8", "replace")
    st.button(_("Make constant matrices"), key="make constants", on_click=_make_constants,
              args=(lab.name, source, text), disabled=source != OURS and not text.strip())


def _make_constants(model: str, source: str, text: str) -> None:
    """Starts the job. Takes the model's name instead of the model, because Streamlit stores button arguments."""
    # imported here, because they import torch and transformers, which are needed only for an open model
    from models.labs.foreign.lab import ForeignLab
    from models.labs.foreign.running.constants import mean_weights, passages

    def work(tell: Progress, cancelled: Cancelled) -> Lab:
        if not isinstance(lab, ForeignLab) or lab.task.sees:
            raise ForeignError(message("Only for models that read text"))
        texts = read_stories(DATA, "train")[:MOST_TEXTS] if source == OURS else passages(text, MOST_TEXTS)
        return lab.with_constant(mean_weights(lab, texts, progress=tell, cancelled=cancelled))

    try:
        lab = visit.opened(model)
        limits.spend(limits.PASSES, MOST_TEXTS)
    except (limits.LimitError, CheckpointError, ForeignError) as error:
        st.session_state[session.JOB_PROBLEM] = str(error)
        return
    st.session_state[session.JOB_PROBLEM] = ""
    visit.current().job = Job(message("Making constant matrices, texts"), work).start()
