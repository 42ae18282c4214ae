"""Which heads feed it? The change of the selected head's contribution if an earlier head is pruned alone."""

from typing import Any

from app.content import parts
from app.content.tool import Tool
from app.lab.view import Kept, View
from app.panels.measured import measures
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models.analysis.answer.formation import formation_of
from models.messages import message
from models.plan import Address

LEAST = 0.02  # logits below which a change is not shown
MOST, EDGES = 5, 3  # numbers of changes as bars and as edges in the picture
SIZE = 300  # bytes of a change in the cache, about


def content(view: View, tool: Tool) -> Content:
    """Returns the earlier heads with the largest measured changes; one forward pass per earlier head."""
    before, after = view.formations
    assert view.output is not None
    kind, layer, head = view.head
    token = view.tokens[1]
    if kind not in after.writes.heads:
        raise ValueError(message("it does not write to the answer's position"))
    given = float(after.contributions(token, before.writes)[0][kind][layer, head])
    earlier = [address for address in view.kind.addresses if address[1] < layer]
    changes = view.remembered("feeds", (view.after.prompt, view.plan, view.head, view.output.position, token),
                              lambda: Kept(_changes(view, token, earlier, given), SIZE * len(earlier)),
                              len(earlier)).value if earlier else []
    shown = sorted((change for change in changes if abs(change["value"]) >= LEAST),
                   key=lambda change: -abs(change["value"]))[:MOST]
    title = parts.title(_("Which heads feed {head}?", head=parts.short(view.head)), parts.said(
        _("measured: what it adds to {word}"), word=parts.word(
            spelt([view.output.names[token]])[0])))
    if not shown:
        return parts.composed(title, parts.note(
            _("None changes this by more than 0.02 logits.") if earlier else
            _("In the first layer it reads the words themselves.")))
    rows = [parts.bar(_("without {head}", head=parts.short(address)), change["value"], parts.to_head(address))
            for change in shown for address in [(change["kind"], change["layer"], change["head"])]]
    return parts.composed(title, parts.bars(rows, max(0.2, abs(shown[0]["value"])), "signed"), parts.note(
        _("Of {own} logits, one pruning at a time. Dashed edges: the three largest.",
          own=number(given, "+.2f"))), overlay={"feeds": shown[:EDGES]})


def _changes(view: View, token: int, earlier: list[Address], given: float) -> list[dict[str, Any]]:
    kind, layer, head = view.head
    assert view.output is not None
    before, result = view.formations[0], []
    for address in earlier:
        plan = view.plan.with_heads([address], gate=0.0)
        without = formation_of(view.lab, view.after.prompt, plan, view.output.position)
        value = float(without.contributions(token, before.writes)[0][kind][layer, head])
        result.append({"kind": address[0], "layer": address[1], "head": address[2], "value": value - given})
    return result


TOOLS = [Tool("head.feeds", N_("Which heads feed it?"), N_("by pruning"), content, tip="prune",
              fits=lambda view: view.output is not None and view.kind.query_row == view.output.row
              and measures.is_quick(view.lab, view.before.prompt))]
