"""How does the text go on? A continuation by the unmodified model and, after a change, by the changed model."""

from __future__ import annotations

from itertools import islice

from app.lab.tool import Tool
from app.lab.view import Kept, View
from app.texts import N_
from components.mounting import Content
from models import HeadPlan
from models.generate.sampling import Sampling
from models.messages import message

COUNT = 24  # number of new tokens
SIZE = 1000  # bytes of a continuation in the cache, about
LIKELIEST, DRAWN = "likeliest", "drawn"


def content(view: View, tool: Tool) -> Content:
    """Returns the continuations."""
    prompt, lab = view.reading.prompt, view.lab
    count = min(COUNT, lab.limit - len(prompt.ids))
    if count < 1:
        raise ValueError(message("The text already has the {limit} tokens that this model reads at most",
                                 limit=lab.limit))
    way, seed = tool.setting(view, "way"), view.state.lab.setting("cont.seed", "1")
    seed = seed if seed.isdecimal() and len(seed) <= 4 else "1"
    sampling = Sampling(0.0) if way == LIKELIEST else Sampling(seed=int(seed))

    def text_of(plan: HeadPlan) -> str:
        return view.remembered("continuation", (prompt, plan, count, str(sampling)), lambda: Kept("".join(
            islice(lab.generate(prompt, plan, count, sampling), count)), SIZE), count // 4).value

    texts = {"before": text_of(HeadPlan())} | ({"after": text_of(view.plan)} if view.changed else {})
    return {"way": way, "seed": int(seed), "end": view.reading.shown[-60:], **texts}, {}


TOOLS = [Tool("answer.cont", N_("How does the text go on?"), N_("generation"), content,
              fits=lambda view: view.lab.task.writes, settings={"way": (LIKELIEST, DRAWN)})]
