"""How was it trained? The model card: architecture, cost of attention, scores, training, data and licence."""

from __future__ import annotations

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.choice import card
from app.texts import N_, _
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """Returns the card."""
    stored = card.card_of(view.lab.name)
    facts, training, attention = stored["model"], stored["training"], stored["attention"]
    costs = card.costs(stored)
    data = "; ".join(_(source["name"]) for source in stored["data"])
    return parts.composed(
        parts.title(stored["name"], f"{_(attention['title'])} · {attention['source']}"),
        {"part": "code", "text": _(attention["formula"])},
        parts.note(_("{parameters:,} parameters, {layers} layers of {heads} heads, "
                     "width {width}, vocabulary of {vocabulary:,} tokens, texts of at "
                     "most {longest} tokens.", parameters=facts["parameters"],
                     layers=facts["layers"], heads=facts["heads"], width=facts["width"],
                     vocabulary=facts["vocabulary"], longest=facts["longest_text"])),
        parts.note(_("On held-out data: {numbers}.", numbers=_(card.headline(stored)))),
        parts.table(list(costs[0]), [list(row.values()) for row in costs], look=""),
        parts.note(_("{steps:,} steps of {tokens:,} tokens, seed {seed}, {minutes} minutes on one core.",
                     steps=training["steps"], tokens=training["tokens_per_step"], seed=training["seed"],
                     minutes=training["minutes"])),
        {"part": "code", "text": training["command"]},
        parts.note(_("Data: {data}. Licence: {licence}.", data=data, licence=stored["licence"])))


TOOLS = [Tool("all.card", N_("How was it trained?"), N_("model card"), content,
              fits=lambda view: bool(view.lab.card))]
