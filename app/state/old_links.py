"""Translates links of the pages that the Lab replaced: Explore, Compare, Heads, Pruning, Constant and Length."""

import re
from collections.abc import Mapping

from app.state.lab_view import LabView
from models.messages import cut, message

LAB = "lab"
# the end of `tokens` named query and key of a score
_SCORE = re.compile(r"(.*)-(\d{0,3})\.(\d{0,3})([qdp]?)", re.ASCII)
_SPLITS = {"": "", "q": "query", "d": "dims", "p": "place"}
FIRST = "explore"  # links of this page named no page
# page -> the tool of the Lab that replaced it; the paths of these pages still open the app
PAGES = {FIRST: "head.looks", "compare": "all.second", "heads": "head.corpus", "pruning": "all.order",
         "constant": "all.papa", "length": "all.length"}
# field of such a link -> (its valid values, the tool of a value, the settings that the groups of the pattern are)
_FIELDS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "view": ("used|live|constant|difference|change|mask", {"mask": "layer.forget"}, ()),
    "as": ("words|matrix", {}, ()),
    "mean": ("head|layer|all", {"layer": "layer.mean", "all": "all.mean"}, ()),
    "shade": ("root|linear", {}, ()),
    "n": (r"\d{1,4}", {}, ()),
    "part": ("map|prediction|entropy", {"entropy": "layer.entropy"}, ()),
    "term": ("(out|sub|pos)", dict.fromkeys(("out", "sub", "pos"), "layer.alike"), ("alike.term",)),
    "show": (r"(confidence|relevance|loss|open)\.(confidence|relevance|loss|open)\.(corpus|text)(?:\.([\w +-]{1,40}))?",
             {}, ("corpus.x", "corpus.y", "corpus.source", "find.role")),
    "fix": (r"[0-9]\.(\w{1,20})(?:\.[\w.-]{1,80})?", {}, ("papa.task",)),
    "order": (r"(learned|alone|confidence|text|random|)\.(\w{1,20})", {}, ("order.order", "order.scope")),
    "find": ("(previous|same|first|induction|)", dict.fromkeys(("previous", "same", "first", "induction"), "all.find"),
             ("find.role",)),
    "open": ("|".join(sections := {
        "": "", "head": "head.looks", "zoom": "head.looks", "entropy": "layer.entropy", "gates": "layer.gates",
        "elsewhere": "head.corpus", "card": "all.card", "writers": "answer.who", "why": "head.why",
        "needs": "all.fewest", "pair": "head.carry", "memory": "all.memory", "layers": "answer.lens"}), sections, ())}


def translated(params: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Returns the fields as the Lab's links have them, and a message for each value that could not be translated."""
    page = params.get("page", FIRST)
    old = {key: params[key] for key in _FIELDS if key in params}
    rest = {key: text for key, text in params.items() if key not in old}
    if page in PAGES and "page" in params:
        rest["page"] = LAB
    if page not in PAGES or "lab" in params or "lesson" in params or not (old or "page" in params):
        return rest, []
    view, problems = LabView(tool=PAGES[page]), list[str]()
    for key, text in old.items():
        valid, tools, settings = _FIELDS[key]
        match = re.fullmatch(valid, text, re.ASCII)
        if match is None:
            problems.append(message("The link has an unknown setting, “{text}”.", text=cut(text)))
            continue
        tool = tools.get(text, "all.find" if match.lastindex == 4 else "")
        view = LabView(tool or view.tool, settings=view.settings)
        for name, value in zip(settings, match.groups(), strict=True):
            view = view.with_setting(name, value or "")
    if match := _SCORE.fullmatch(rest.get("tokens", "")):
        rest["tokens"] = match[1]
        view = LabView(view.tool, int(match[2]) if match[2] else view.look, settings=view.settings)
        view = view.with_setting("why.key", match[3]).with_setting("why.split", _SPLITS[match[4]])
    # a page without settings opens as it is, for Explore alone is a special address (app/state/link.py)
    return {**rest, "page": LAB, **({} if view == LabView() else {"lab": str(view)})}, problems
