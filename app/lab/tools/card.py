"""How was it trained? The model card on one sheet: architecture, cost of attention, scores, training, data, licence."""

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels import choosing
from app.texts import N_, _
from components.mounting import Content

# entries of a card's cost -> sentence
COSTS = (("score_parameters", N_("{n:,} parameters, {ratio:.2f} of softmax")),
         ("score_multiplications", N_("{n:,} multiplications per text, {ratio:.2f} of softmax")))


def content(view: View, tool: Tool) -> Content:
    """Returns the card."""
    stored = choosing.card_of(view.lab.name)
    facts, training, cost, curve = stored["model"], stored["training"], stored["cost"], stored.get("curve")
    attention = stored["attention"]
    # a checkpoint has no minutes
    spent = {"steps": training["steps"], "tokens": training["tokens_per_step"], "seed": training["seed"],
             "minutes": training["minutes"]}
    rows: list[tuple[str, parts.Text]] = [
        (_("size"), _("{parameters:,} parameters, {layers} layers of {heads} heads, width {width}",
                      parameters=facts["parameters"], layers=facts["layers"], heads=facts["heads"],
                      width=facts["width"])),
        (_("tokens"), _("vocabulary of {vocabulary:,}, at most {longest} in a text", vocabulary=facts["vocabulary"],
                        longest=facts["longest_text"])),
        *((_("computing scores"), _(text, n=cost[key], ratio=cost[key] / cost[f"softmax_{key}"]))
          for key, text in COSTS),
        (_("held-out data"), _(choosing.headline(stored))),
        *((_("seed {n}", n=seed), _(choosing.headline(stored, metric)))
          for seed, metric in stored.get("other_seeds", {}).items()),
        (_("training"), _("{steps:,} steps of {tokens:,} tokens, seed {seed}", **spent) if spent["minutes"] is None else
         _("{steps:,} steps of {tokens:,} tokens, seed {seed}, {minutes} minutes on one core", **spent)),
        *((_("data"), f"{_(source['name'])} · {source['licence']}") for source in stored["data"]),
        (_("licence"), stored["licence"])]
    difference = stored.get("variant", {}).get("line", "")
    points = list(zip(curve["step"], curve["validation_loss"], strict=True)) if curve else []
    loss = [parts.note(_("validation loss")),
            *parts.lines(_("validation loss"), [("loss", "", points)], _("steps"))] if points else []
    return parts.composed(
        parts.title(stored["name"], f"{_(attention['title'])} · {attention['source']}"),
        *([parts.note(_(difference))] if difference else []),
        {"part": "code", "text": _(attention["formula"])}, parts.table(["", ""], [
            ("" if before and before[0] == name else name, text) for before, (name, text) in zip(
                [None, *rows], rows, strict=False)], look="sheet"), loss,
        {"part": "code", "text": training["command"]})


TOOLS = [Tool("all.card", N_("How was it trained?"), N_("model card"), content,
              fits=lambda view: bool(view.lab.card))]
