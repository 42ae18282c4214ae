"""Finds interface strings in the code that are not marked for translation."""

import ast
import re
from collections.abc import Iterator, Mapping

# Streamlit call -> its arguments whose text a visitor sees, by position or name
SHOWN: dict[str, tuple[int | str, ...]] = dict.fromkeys(
    ("markdown", "caption", "text", "error", "info", "warning", "success", "title", "header", "subheader", "badge",
     "expander", "popover", "button", "download_button", "link_button", "checkbox", "toggle", "radio", "selectbox",
     "multiselect", "slider", "select_slider", "text_input", "text_area", "number_input", "file_uploader", "pills",
     "segmented_control", "metric", "spinner", "toast", "dialog", "write", "progress", "table", "tabs"),
    (0, "label", "body", "help", "placeholder", "text", "caption"))
SHOWN |= {"progress": (1, "text"), "altair_chart": ("alt",), "vega_lite_chart": ("alt",), "image": ("caption",),
          "notice": ("status", "messages"), "Job": (0,),
          "Tooltip": ("title",), "X": ("title",), "Y": ("title",), "Color": ("title",), "Legend": ("title",)}
ERRORS: dict[str, tuple[int | str, ...]] = dict.fromkeys(("InputError", "ForeignError", "CheckpointError"), (0,))
SHOWN |= ERRORS
LETTERS = re.compile(r"[^\W\d_]{2,}")


def in_python(source: str, shown: Mapping[str, tuple[int | str, ...]] = SHOWN) -> Iterator[str]:
    """Yields string literals that a call displays without a lookup in the catalogue. f-strings count if they contain
    words."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Attribute) and re.match(r"_?log(ger|ging)?\b", ast.unparse(node.func.value), re.I):
            continue  # log messages, for the operator of a host, stay English
        for place in shown.get(called, ()):
            given = node.args[place:place + 1] if isinstance(place, int) else \
                [its.value for its in node.keywords if its.arg == place]
            for argument in given:
                yield from (text for text in _texts(argument) if LETTERS.search(re.sub(r"`[^`]*`|:\w+:", "", text)))


def _texts(node: ast.AST) -> Iterator[str]:
    """Yields the string literals of an expression, except those inside calls, which are checked separately."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value
    elif not isinstance(node, (ast.Call, ast.Compare, ast.Subscript)):
        for child in ast.iter_child_nodes(node):
            yield from _texts(child.body if isinstance(child, ast.Lambda) else child)


_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`""", re.DOTALL)
_CALL = re.compile(r"(?<![\w.$])(?:_|N_|ngettext)\(\s*(?:'(?:[^'\\\n]|\\.)*',\s*)?$")
# literals that are code: selectors, fonts, media queries, classes, markup, style sheets; also code that looks like a
# literal, because two regular expressions contain quotation marks
_CODE = re.compile(r"^\.[\w-]+ (?:button|\.)|"
                   r"^(?:(?:a|button|input|label|select|textarea)(?:, |$))+|system-ui|sans-serif|\[[\w=\"-]+\]|"
                   r"^\((?:prefers-|pointer:)|^(?:tick fine|button (?:back|forth))$|^(?:repeat|color-mix)\(|"
                   r"^[a-z-]+: (?:px|;)|"
                   r"^ model reads this text|^\s*<[!?\w]|^\s*\w+ \{|;\n")
_WORDS = re.compile(r"[A-Za-z’]{2,}[,:]? [A-Za-z]{2,}|^[A-Z][a-z]+$|^[A-Z][a-z]+ ")


def in_javascript(source: str) -> Iterator[str]:
    """Yields string literals that look like words for visitors and are not looked up in a catalogue."""
    for match in _TOKEN.finditer(source):
        token = match[0]
        if token.startswith(("//", "/*")) or _CALL.search(source[max(0, match.start() - 300):match.start()]):
            continue
        text = re.sub(r"\$\{[^}]*\}", "", token[1:-1])
        if _WORDS.search(text) and not _CODE.search(text):
            yield text
