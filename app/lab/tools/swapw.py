"""What if it were another? The answer of the unmodified model to a second text."""

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.lab.tools.carry import second_text
from app.lab.view import View
from app.texts import N_, _, spelt
from components.mounting import Content
from models import HeadPlan

ROWS = 4


def content(view: View, tool: Tool) -> Content:
    """Returns the most probable tokens for the second text, with their probabilities for this text."""
    head = [parts.title(_("What if it were another?"), _("the second text's answer; black line: this one's")),
            second_text(view)]
    if not view.state.source:
        return parts.composed(head)
    try:
        prompt = compute.read(view.lab, view.state.source)
        after, _plan = compute.traces_of(view.lab, prompt, HeadPlan())
    except ValueError as error:
        return parts.composed(head, parts.note(_(str(error))))
    if not after.outputs or view.base is None:
        return parts.composed(head)
    new, old = compute.shown_output(after.outputs, view.index), view.base
    rows = [parts.bar(parts.word(spelt([new.names[token]])[0]), new.distribution[token],
                      before=float(old.distribution[token])) for token in map(int, new.top(ROWS))]
    return parts.composed(head, parts.bars(rows, sans=False, first=True))


TOOLS = [Tool("word.swapw", N_("What if it were another?"), N_("two prompts"), content, tip="two-prompts",
              fits=lambda view: view.output is not None and not view.lab.task.sees)]
