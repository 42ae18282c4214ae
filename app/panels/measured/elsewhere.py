"""The selected head on held-out texts, measured by studies/corpus/examples.py: texts, tokens, and its roles."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.markdown import literal
from app.panels.answer.writers import head_name
from app.panels.measured import measures, roles
from app.panels.prompt.heads import selected
from app.state.handlers import events
from app.state.lab_state import LabState
from app.texts import _, spelt, tip
from models import Lab
from studies import store

KIND = "examples"


def is_offered(lab: Lab) -> bool:
    """Returns True if the examples were measured for the model's present weights."""
    return bool(lab.card) and store.read_undamaged(lab.name, KIND) is not None


def draw(lab: Lab, state: LabState) -> None:
    """Displays the examples of the selected head. A click on a text opens it as the input text."""
    stored = store.read(lab.name, KIND)
    if stored is None:
        st.caption(_("Examples were not measured for this model."))
        return
    kind, layer, head = selected(lab, state)
    examples = stored["heads"][kind.name][layer][head]
    st.markdown(_("Examples for **{head}**: {n} held-out texts are sorted into ten groups of equal size, and one text "
                  "of each group is shown. Click a text to open it.", n=stored["count"],
                  head=head_name(lab, kind.name, layer, head)))
    by_confidence, by_entropy, tokens, of_roles = st.tabs(
        [_("By confidence"), _("By entropy"), _("Tokens"), _("Roles")])
    with by_confidence:
        st.caption(_("Mean largest weight of a query, from the least to the most confident tenth of the texts."),
                   help=tip("confidence"))
        _texts(stored["texts"], examples, "confidence", "{:.0%}")
    with by_entropy:
        st.caption(_("Mean entropy of a row in nats, from the lowest to the highest tenth of the texts."),
                   help=tip("entropy"))
        _texts(stored["texts"], examples, "entropy", "{:.2f}")
    with tokens:
        st.caption(_("The tokens with the largest share of the head's weight over all {n} texts. The last column "
                     "divides this share by the share under uniform attention.", n=stored["count"]))
        st.table([{_("Token"): _visible(lab, token), _("Share of the weight"): f"{share:.1%}",
                   _("Times uniform"): f"{times:.1f}"}
                  for token, share, times in zip(examples["keys"], examples["shares"], examples["times"], strict=True)])
    with of_roles:
        roles.of_head(lab, measures.over_a_corpus(lab), (kind.name, layer, head))


def _texts(texts: list[str], examples: dict[str, Any], order: str, form: str) -> None:
    for number, (i, value) in enumerate(zip(examples[order], examples[f"{order}_values"], strict=True)):
        st.button(f"**{form.format(value)}** {literal(texts[i])}", key=f"example by {order} {number}", type="tertiary",
                  on_click=events.set_text, args=(texts[i],))


def _visible(lab: Lab, token: int) -> str:
    (word,) = spelt([lab.task.labels[token]])
    return word.strip() or repr(word)
