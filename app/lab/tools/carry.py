"""What does it carry? Each head alone takes its output or its pattern from a second text."""

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models.analysis.answer.head_patching import HeadPatching, patching_of
from models.plan import OUTPUT, PATTERN

VALUES = {OUTPUT: N_("output"), PATTERN: N_("pattern")}
ROWS = 4  # number of other heads
# Pairs of prompts with the same number of tokens and different predictions, by model family.
PAIRS = {
    "assignment": (("x=7; y=2; x=?", "x=3; y=2; x=?"),),
    "stories": (("The girl was sad because", "The boy was sad because"),
                ("Lily went to the park with her mom. Then Lily lost",
                 "Tom went to the park with his mom. Then Tom lost")),
    "masked": (("The girl lost [her] toy in the park.", "The boy lost [his] toy in the park."),
               ("Lily was happy because [she] had a new toy.", "Tom was happy because [he] had a new toy.")),
    "translation": (("The cat is sleeping.", "The dog is sleeping."), ("I see a man.", "I see a woman.")),
    "summary": (("The student pilot lost control of the airplane.", "The private pilot lost control of the airplane."),
                ("The airplane struck a deer during the landing roll at night.",
                 "The airplane struck a tree during the landing roll at night.")),
    "dialogue": (("I have a dog.", "I have a cat."),),
}


def second_text(view: View) -> parts.Part:
    """Returns the field of the second text; while it is the text itself, also what to do, and the pairs of examples."""
    source = view.state.source
    pairs = () if source else PAIRS.get(view.lab.task.name, ())
    return parts.row(*([] if source else [parts.note(_("Second text: replace a word."))]),
                     parts.field(_("Second text"), source or view.reading.shown, act={"type": "source"}, field="text"),
                     *(parts.button(f"{text} → {other}", {"type": "pair", "text": text, "source": other})
                       for text, other in pairs))


def content(view: View, tool: Tool) -> Content:
    """Returns the effect of patching each head alone, and a button that patches the selected head."""
    what = view.state.explanation.what
    choice = parts.choice(_("Patched value"), {key: _(text) for key, text in VALUES.items()}, what,
                          act={"type": "choose", "name": "what"})
    title = parts.title(_("What does it carry?"), _("one head at a time"), choice)
    if not view.state.source:
        return parts.composed(title, second_text(view))
    try:
        prompt = view.before.prompt.with_source(compute.read(view.lab, view.state.source))
        assert view.output is not None
        position, heads = view.output.position, sum(kind.layers * kind.heads for kind in view.lab.kinds)
        patching: HeadPatching = view.remembered("patching", (prompt, what, position), lambda: patching_of(
            view.lab, prompt, what, position=position), 2 + heads // 8)
    except ValueError as error:
        return parts.composed(title, second_text(view), parts.note(_(str(error))))
    token, against = spelt([view.lab.task.labels[i] for i in (patching.token, patching.against)])
    known = [(address, share) for address, share in patching.ranked if share == share]
    own = [each for each in known if each[0] == view.head]
    others = [each for each in known if each[0] != view.head][:ROWS]
    rows = [parts.bar(parts.short(address), share, parts.to_head(address), text=f"{number(share, '.0%')}")
            for address, share in [*own, *others]]
    kind, layer, head = view.head
    patched = bool(view.state.plan.state(*view.head).patch)
    act = {"type": "patch", "kind": kind, "layer": layer, "head": head, "on": not patched}
    return parts.composed(
        title, second_text(view), parts.bars(rows, first=bool(own)), parts.note(parts.said(
            _("Logit of {token} minus {other}: {before} here (0%), {source} in the second text (100%)."),
            token=parts.word(token), other=parts.word(against), before={"signed": patching.before},
            source={"signed": patching.source})),
        parts.button(_("Keep this head's value from the second text"), act, pressed=patched))


TOOLS = [Tool("head.carry", N_("What does it carry?"), N_("activation patching"), content, tip="two-prompts",
              fits=lambda view: view.output is not None and not view.lab.task.sees)]
