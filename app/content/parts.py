"""Parts of a tool's payload, which components/lab/tools/composed.js draws.

A text is a string, `word(token)`, `strong(text)`, `{"share": p}`, `{"signed": value}`, a list of these, or `said(...)`.
An act is an event that a press sends, or `to_head(kind, layer, head)`. Tokens and texts of visitors are always data.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.texts import N_, _
from models.plan import Address

BLOCKS = {"encoder": N_("enc."), "decoder": N_("dec."), "cross": N_("cross")}

Text = Any
Part = dict[str, Any]
Act = Mapping[str, Any]


def word(token: str, **look: str) -> Part:
    """Returns a token as text."""
    return {"word": token, **look}


def strong(text: Text) -> Part:
    return {"strong": text}


def said(text: str, **slots: Text) -> Part:
    """Returns a translated sentence whose {names} are filled with texts."""
    return {"text": text, "slots": slots}


def press(text: Text, act: Act) -> Part:
    """Returns a text that can be pressed."""
    return {"text": text, "act": dict(act)}


def to_head(address: Address) -> Part:
    """Returns the act that selects a head."""
    return {"head": list(address)}


def short(address: Address) -> str:
    """Returns the short name of a head: L3·H5, with the block where a model has several."""
    name = f"L{address[1] + 1}·H{address[2] + 1}"
    return f"{_(BLOCKS[address[0]])} {name}" if address[0] in BLOCKS else name


def title(text: Text, small: Text = "", *more: Part) -> Part:
    return {"part": "title", "text": text, "small": small, "more": list(more)}


def note(text: Text) -> Part:
    return {"part": "note", "text": text}


def row(*parts: Part, look: str = "controls") -> Part:
    return {"part": "row", "parts": list(parts), "look": look}


def bar(name: Text, value: float, act: Act | None = None, **more: Any) -> Part:
    """Returns a row of `bars`; `text` replaces the formatted value, `before` is a tick."""
    return {"name": name, "value": float(value), **({"act": dict(act)} if act else {}), **more}


def bars(rows: Sequence[Part], most: float = 1.0, form: str = "share", sans: bool = True, **more: Any) -> Part:
    """Returns bars; `most` is the value of a full bar, `form` is share, signed or count."""
    return {"part": "bars", "rows": list(rows), "most": most, "form": form, "sans": sans, **more}


def table(columns: Sequence[Text], rows: Iterable[Sequence[Text]], look: str = "of-words") -> Part:
    return {"part": "table", "columns": list(columns), "rows": [list(cells) for cells in rows], "look": look}


def choice(label: str, options: Mapping[str, str], value: str, *, name: str = "", act: Act | None = None,
           field: str = "value", many: bool = False) -> Part:
    """Returns a choice of key -> label, which changes the setting `name` of the tool or sends `act` with `field`."""
    return {"part": "choice", "label": label, "options": [list(pair) for pair in options.items()], "value": value,
            "name": name, "field": field, "many": many, **({"act": dict(act)} if act else {})}


def button(text: str, act: Act, pressed: bool | None = None, off: bool = False) -> Part:
    return {"part": "button", "text": text, "act": dict(act), "off": off,
            **({} if pressed is None else {"pressed": pressed})}


def field(label: str, value: Any, *, name: str = "", act: Act | None = None, field: str = "value",
          kind: str = "text", **more: Any) -> Part:
    """Returns an input, which changes the setting `name` of the tool or sends `act` with `field`."""
    return {"part": "field", "label": label, "value": value, "name": name, "field": field, "kind": kind,
            **({"act": dict(act)} if act else {}), **more}


def texts(rows: Iterable[tuple[Text, Text, Act]]) -> Part:
    """Returns texts that can be pressed, each after a short lead."""
    return {"part": "texts", "rows": [{"lead": lead, "text": text, "act": dict(act)} for lead, text, act in rows]}


def written(start: str, pieces: Sequence[tuple[str, str]]) -> Part:
    """Returns a written text after the end of a prompt: pieces of (`new`, `kept` or `gone`, text)."""
    return {"part": "written", "start": start, "pieces": [list(piece) for piece in pieces]}


def lines(label: str, curves: Sequence[tuple[str, str, Sequence[Sequence[float | None]]]], x_name: str,
          **more: Any) -> list[Part]:
    """Returns the key and the chart of curves (key, label, points); the chart joins the points by increasing x."""
    content = [{"key": key, "label": name, "points": sorted([point[0], point[1]] for point in points)}
               for key, name, points in curves]
    chart = {"part": "lines", "label": label, "curves": content, "xName": x_name, **more}
    return [{"part": "key", "curves": content}, chart] if len(content) > 1 else [chart]


def grid(kind: str, values: Any, most: float, digits: int = 1) -> Part:
    """Returns numbers (L, H) of the heads of a block."""
    return {"part": "grid", "kind": kind, "values": [[round(float(value), 5) for value in heads] for heads in values],
            "most": max(float(most), 1e-9), "digits": digits}


def composed(*parts: Part | list[Part], **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the content of a tool that consists of parts; `more` are other fields, like overlay and again."""
    flat = [each for part in parts for each in (part if isinstance(part, list) else [part])]
    return {"parts": flat, **more}, {}
