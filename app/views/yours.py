"""The page Models: our models, and a model of `transformers` from the Hub or, on one's own machine, from a folder."""

from pathlib import Path
from typing import Any

import streamlit as st

import models
from app.markdown import literal
from app.panels.choice import shelf
from app.panels.measured import constants
from app.panels.page import frame, progress
from app.server import limits
from app.server.jobs import Cancelled, Job, Progress
from app.state import session, visitor_models
from app.state.handlers import events
from app.state.lab_state import LAB
from app.texts import N_, _, sentence
from models import Lab
from models.kind import TARGET, TEXT
from models.labs.foreign import ForeignError, is_foreign
from models.labs.foreign.errors import HUB
from models.labs.foreign.opening import hub
from models.messages import message

ROWS = {TEXT: N_("text"), TARGET: N_("what is written")}
SUGGESTED = hub.HOSTED.allowed  # small, well-known models; a host opens no others
# groups of suggested models: (type of model, what can be observed, names of the models)
GROUPS = (
    (N_("Language models"), N_("They predict the next token."),
     ("openai-community/gpt2", "distilbert/distilgpt2", "EleutherAI/pythia-70m", "EleutherAI/pythia-160m",
      "HuggingFaceTB/SmolLM2-135M")),
    (N_("Masked language models"), N_("They predict a word in [brackets]."),
     ("google-bert/bert-base-uncased", "distilbert/distilbert-base-uncased", "FacebookAI/roberta-base",
      "albert/albert-base-v2", "google/electra-small-generator", "microsoft/mpnet-base")),
    (N_("Sentence models"), N_("A vector, or the sentiment, of a sentence."),
     ("sentence-transformers/all-MiniLM-L6-v2", "distilbert/distilbert-base-uncased-finetuned-sst-2-english")),
    (N_("Encoder-decoder and vision models"),
     N_("T5 rewrites a text. ViT classifies a picture."),
     ("google-t5/t5-small", "google/vit-base-patch16-224")))
_TYPED = "typed folder"  # key of the path that was opened last
SHORT = {"distilbert/distilbert-base-uncased-finetuned-sst-2-english": "distilbert-sst-2"}


def page() -> None:
    frame.in_one_column(_draw)


def _draw() -> None:
    st.markdown("## " + _("Choose a model"))
    st.markdown(_("Rows are attention types, columns tasks. Press a dot to open its model."))
    shelf.draw()
    with st.container(key="yours"):  # style.css stacks the parts on a narrow screen
        forms, about = st.columns([58, 42], gap="large")
    with forms:
        st.markdown(_("#### A model of yours"))
        lab = _forms()
    with about, st.container(border=True):
        _about()
    if lab is None and visitor_models.job() is None:
        _suggested()


def _suggested() -> None:
    """Displays the suggested models by type; a click writes the name of a model into the field above."""
    st.markdown(_("#### Models to begin with"))
    with st.container(key="suggested"):  # style.css sets as many in a row as fit
        for number, (title, line, names) in enumerate(GROUPS):
            with st.container(border=True, height="stretch", key=f"suggested-{number}"):
                st.markdown(f"##### {_(title)}")
                st.markdown(_(line))
                with st.container(horizontal=True, gap="small"):
                    for name in names:
                        st.button(SHORT.get(name, name.partition("/")[2]), key=f"take {name}", on_click=_take,
                                  args=(name,), help=name)


def _take(name: str) -> None:
    st.session_state[session.HUB_ID] = name
    _look()


def _about() -> None:
    st.markdown(_("Open a model of `transformers`, like BERT, GPT-2, Llama, Qwen3, T5, Marian or ViT. Only "
                  "safetensors are read; a model's code is never run."))


def _forms() -> Lab | None:
    """Displays the forms that open a model; returns the open model."""
    hosted = hub.access().hosted
    job = visitor_models.job()
    if job is not None:
        progress.draw(job, _ended)
        return None
    _from_hub(hosted)
    if not hosted:
        _from_folder()
    if st.session_state.get(session.JOB_PROBLEM):
        st.error(literal(sentence(st.session_state[session.JOB_PROBLEM])))
    present = session.history().present.model
    lab = models.cached(present) if is_foreign(present) else None
    if lab is not None:
        _opened(visitor_models.with_constants(lab))
    return lab


def _from_hub(hosted: bool) -> None:
    # the model of a link is offered first, unless it is a folder
    requested = session.history().wanted.get("model", "")
    wanted = requested.removeprefix(HUB) if requested.startswith(HUB) else ""
    options = list(dict.fromkeys([*([wanted] if wanted else []), *SUGGESTED]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(_("On the Hub"), options, index=0 if wanted else None, key=session.HUB_ID,
                              accept_new_options=not hosted, placeholder=_("organisation/name"),
                              help=_("This host opens these models") if hosted else _("Type any id, or choose one"))
        st.button(_("Check size"), key="look", disabled=not chosen, on_click=_look,
                  help=_("Shows the size first"))
    repo, message, can_load = st.session_state.get(session.LOOKED, ("", "", False))
    if not repo or repo != chosen:
        return
    if not can_load:
        st.error(literal(sentence(message)))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(_("Load"), key="load", type="primary", on_click=_start, args=(HUB + repo.removeprefix(HUB),))
        st.markdown(_(message))


def _look() -> None:
    """Requests a model's size from the Hub and stores the response, because a request takes seconds."""
    repo = session.widget(session.HUB_ID, str, "")
    st.session_state[session.JOB_PROBLEM] = ""  # removes the message of an earlier attempt
    try:
        limits.spend(limits.DOWNLOADS)
    except limits.LimitError as error:
        st.session_state[session.LOOKED] = (repo, str(error), False)
        return
    st.session_state[session.LOOKED] = (repo, *_size(HUB + repo.removeprefix(HUB).strip()))


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


def _from_folder() -> None:
    # Streamlit drops the text of a field that was not shown while the folder was opened
    st.session_state.setdefault(session.FOLDER, st.session_state.get(_TYPED, ""))
    with st.form("open a folder", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(_("A folder on this machine"), key=session.FOLDER, placeholder="/home/me/models/mine",
                      help=_("With config.json, model.safetensors and tokenizer.json"))
        # Enter also submits the form
        st.form_submit_button(_("Open folder"), key="open folder", on_click=_start_folder)


def _start(name: str) -> None:
    def work(tell: Progress, cancelled: Cancelled) -> Lab:
        return models.labs.foreign.load(name, tell, cancelled)
    try:
        limits.spend(limits.DOWNLOADS)
    except limits.LimitError as error:
        st.session_state[session.JOB_PROBLEM] = str(error)
        return
    st.session_state[session.JOB_PROBLEM] = ""
    visitor_models.set_job(Job(message("Loading {name}", name=name.removeprefix(HUB)), work).start())


def _start_folder() -> None:
    typed = session.widget(session.FOLDER, str, "")
    folder = Path(typed.strip())
    st.session_state[session.JOB_PROBLEM], st.session_state[session.LOOKED] = "", ("", "", False)
    if not typed.strip():
        st.session_state[session.JOB_PROBLEM] = message("Type the path of a folder")
        return
    st.session_state[_TYPED] = typed
    visitor_models.set_job(Job(message("Opening {name}", name=folder.name),
                               lambda tell, cancelled: models.load_folder(folder, cancelled)).start())


def _ended(job: Job[Any]) -> None:
    """Handles the end of a load, or of the computation of constant matrices."""
    visitor_models.set_job(None)
    st.session_state[session.JOB_PROBLEM] = job.problem
    if isinstance(job.result, Lab):
        if job.result.constant is not None:
            visitor_models.keep_constants(job.result)
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
    constants.draw(lab)
