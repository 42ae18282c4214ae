"""A changed text: a second text, from which a head can take its value, and hidden words of a masked model."""

import itertools
import re
import unicodedata
from collections.abc import Collection
from typing import Any

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.state import events
from app.state.lab_state import LAST
from app.state.session import history, is_index
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models import HeadPlan, catalogue
from models.analysis.answer.head_attribution import HeadPatching, patching_of
from models.errors import InputError
from models.plan import OUTPUT, PATTERN
from models.tasks.base import Reader
from models.tasks.masked import MASK

VALUES = {OUTPUT: N_("output"), PATTERN: N_("pattern")}
OTHERS = 4  # number of other heads
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
ANSWERS = 4  # number of tokens for the second text
KEY = "word.hide"
MOST_WORDS = 80  # largest number of words with a button; the other words can be hidden by typing brackets

# Combining accents and vowel signs, which `\w` does not match. _WORD also contains the joiners between these signs.
_MARKS = "".join(sign for sign in map(chr, range(0x300, 0x11FFF)) if unicodedata.category(sign).startswith("M"))
_WORD = re.compile(rf"\[[^\[\]]+\]|[\w{_MARKS}\u200c\u200d’'-]+")


def second_text(view: View) -> parts.Part:
    """Returns the field of the second text; while it is the text itself, also what to do, and the pairs of examples."""
    source = view.state.source
    pairs = () if source else PAIRS.get(view.lab.task.name, ())
    return parts.row(*([] if source else [parts.note(_("Second text: replace a word."))]),
                     parts.field(_("Second text"), source or view.reading.shown, act={"type": "source"}, field="text"),
                     *(parts.button(f"{text} → {other}", {"type": "pair", "text": text, "source": other})
                       for text, other in pairs))


def carry(view: View, tool: Tool) -> Content:
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
    others = [each for each in known if each[0] != view.head][:OTHERS]
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


def swap_word(view: View, tool: Tool) -> Content:
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
                      before=float(old.distribution[token])) for token in map(int, new.top(ANSWERS))]
    return parts.composed(head, parts.bars(rows, sans=False, first=True))


def hide(view: View, tool: Tool) -> Content:
    """Returns the words, hidden ones pressed."""
    return parts.composed(
        parts.title(_("What if it is hidden?"), _("press a word to hide it")),
        parts.row(*(parts.button(word, {"type": "act", "tool": KEY, "word": index}, pressed=is_hidden)
                    for index, (_start, _stop, word, is_hidden) in enumerate(
                        words(view.state.text, view.lab.task.controls)))),
        parts.note(_("Brackets hide a word; [MASK] is an unknown word.")))


def on_hide(event: dict[str, Any]) -> None:
    state = history().present
    task = catalogue.find(state.model).task
    every = words(state.text, task.controls)
    if task.hides and is_index(event.get("word"), len(every)):
        hidden = {index for index, word in enumerate(every) if word[3]} ^ {event["word"]}
        events.set_text(with_hidden(state.text, hidden, task.controls),
                        prediction=new_prediction(task, state.text, hidden))


def words(text: str, controls: Collection[str] = ()) -> list[tuple[int, int, str, bool]]:
    """Returns (start, stop, word, True if hidden) of each word; `[MASK]` and the model's `controls` hide none."""
    known = (m for m in _WORD.finditer(text) if m[0] != MASK and m[0] not in controls)
    return [(m.start(), m.end(), m[0].strip("[]"), m[0].startswith("["))
            for m in itertools.islice(known, MOST_WORDS)]


def with_hidden(text: str, chosen: Collection[int], controls: Collection[str] = ()) -> str:
    """Returns the text with exactly the chosen words in brackets; `chosen`: indices into the result of `words`."""
    parts, last = [], 0
    for index, (start, stop, word, _hidden) in enumerate(words(text, controls)):
        parts += [text[last:start], f"[{word}]" if index in chosen else word]
        last = stop
    return "".join([*parts, text[last:]])


def new_prediction(reader: Reader, text: str, chosen: Collection[int]) -> int:
    """Returns the index of the prediction of the newly hidden word; LAST if no word is newly hidden."""
    new = [i for i, (*_at, hidden) in enumerate(words(text, reader.controls))
           if i in chosen and not hidden]
    if not new:
        return LAST
    changed = with_hidden(text, chosen, reader.controls)
    try:
        return len(reader.read(changed[:words(changed, reader.controls)[new[0]][0]]).predict_at)
    except InputError:  # nothing precedes the word
        return 0


TOOLS = [
    Tool("head.carry", N_("What does it carry?"), N_("activation patching"), carry, tip="two-prompts",
         fits=lambda view: view.output is not None and not view.lab.task.sees),
    Tool("word.swapw", N_("What if it were another?"), N_("two prompts"), swap_word, tip="two-prompts",
         fits=lambda view: view.output is not None and not view.lab.task.sees),
    Tool(KEY, N_("What if it is hidden?"), N_("masking"), hide, tip="hidden", act=on_hide,
         fits=lambda view: view.lab.task.hides)]
