"""Tool: a question about a head, a layer, all heads, a word or the answer, with the content that answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from app.content.view import View
from app.texts import _
from components.mounting import Content

V = TypeVar("V", bound=View)
Settings = Mapping[str, tuple[str, ...]]  # name of a setting -> its values, the default first


@dataclass(frozen=True, eq=False)
class Tool(Generic[V]):
    """A tool. Its drawing is components/lab/tools/NAME.js; a payload with `parts` (app/content/parts.py) needs none."""

    key: str  # thing and name, like `head.looks`
    question: str  # the tool's name, a question of at most six words
    term: str  # the technical name
    # (view, tool) -> header and arrays; raises ValueError with the reason if the model does not allow it
    content: Callable[[V, Tool], Content]
    # returns False for a model or a text to which the question does not apply
    fits: Callable[[V], bool] = lambda view: True
    # name -> values, the default first; a link contains `NAME.SETTING`
    settings: Settings = field(default_factory=dict)
    # handles the events of the tool's own controls, {type: 'act', tool: key, ...}, whose values are untrusted
    act: Callable[[dict[str, Any]], None] | None = None
    tip: str = ""  # the term's entry in the glossary

    @property
    def thing(self) -> str:
        """head, layer, all, word or answer."""
        return self.key.split(".")[0]

    @property
    def name(self) -> str:
        """The name of the drawing's module."""
        return self.key.split(".")[1]

    @property
    def entry(self) -> dict[str, Any]:
        """The tool's line in the inspector and in the list of all tools."""
        return {"key": self.key, "thing": self.thing, "question": _(self.question), "term": _(self.term),
                "tip": self.tip}

    def setting(self, view: V, name: str) -> str:
        """Returns the setting's value in the link; the default if the link has none or an unknown one."""
        chosen, values = view.state.lab.setting(f"{self.name}.{name}"), self.settings[name]
        return chosen if chosen in values else values[0]
