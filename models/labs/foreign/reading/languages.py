"""Languages of a translation model: the codes in its vocabulary, and the code selected at the start of a text.

`>>fra_Latn<< Good morning` is translated to French; `>>deu_Latn-fra_Latn<< Guten Morgen` from German to French. The
codes are part of the text, so links and files contain them. opus-mt reads `>>fra<<`, and MADLAD `<2fr>`, as tokens of
the text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.errors import InputError
from models.messages import N_, message
from models.prompt import Prompt

CHOICE, TAG = re.compile(r"\s*>>(?:(\w+)-)?(\w+)<<\s*"), re.compile(r"\s*<2()(\w+)>\s*")
# patterns of the language tokens of M2M100, NLLB, mBART-50, opus-mt and MADLAD; the last two are tokens of the text
TOKENS = (re.compile(r"__([a-z]{2,3})__"), re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"), re.compile(r"([a-z]{2}_[A-Z]{2})"),
          re.compile(r">>([\w-]+)<<"), re.compile(r"<2([a-z]{2,3}(?:_\w+)?)>"))
EXAMPLES = ((N_("To French"), ("fr", "fra_Latn", "fr_XX", "fra"), "Good morning. The house is wonderful."),
            (N_("To German"), ("de", "deu_Latn", "de_DE", "deu"), "The children played in the garden."),
            (N_("To Chinese"), ("zh", "zho_Hans", "zh_CN", "cmn_Hans"), "I would like a cup of tea, please."))
LISTED = 8  # largest number of codes that a message names


@dataclass(frozen=True)
class Languages:
    """The languages of a model."""

    ids: Mapping[str, int]  # language code -> id of its token
    inline: bool = False  # True if the code at the start of the text is itself a token of the text
    form: str = ">>{}<<"  # the code at the start of a text

    def __bool__(self) -> bool:
        return bool(self.ids)

    @property
    def some(self) -> str:
        """The first LISTED codes in alphabetical order, separated by commas, for a message."""
        return ", ".join(sorted(self.ids)[:LISTED]) + (" …" if len(self.ids) > LISTED else "")

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """The example texts as (title, text); each text begins with a language code that the model has."""
        known = ((title, next((code for code in codes if code in self.ids), None), text)
                 for title, codes, text in EXAMPLES)
        return tuple((title, f"{self.form.format(code)} {text}") for title, code, text in known if code)


@dataclass(frozen=True)
class Choice:
    """The languages that are selected at the start of a text."""

    source: int | None = None  # token ids of source and target; None if the text does not select the language
    target: int | None = None
    start: int = 0  # index of the first character after the language codes


@dataclass(frozen=True)
class TranslationPrompt(Prompt):
    """A prompt whose text selects the target language."""

    first: int = -1  # id of the token that the decoder writes first


def languages_of(tokenizer: Any) -> Languages:
    """Returns the languages whose codes are tokens of the vocabulary; none if there are fewer than two codes."""
    special = {token: tokenizer.convert_tokens_to_ids(token) for token in tokenizer.all_special_tokens} \
        if hasattr(tokenizer, "convert_tokens_to_ids") else {}
    every = tokenizer.get_vocab()
    vocabulary = {**special, **(tokenizer.get_added_vocab() if special else every),
                  **{token: i for token, i in every.items() if token.startswith("<2")}}
    for pattern in TOKENS:
        ids = {match[1]: i for token, i in vocabulary.items() if (match := pattern.fullmatch(token))}
        if len(ids) > 1:
            return Languages(ids, pattern in TOKENS[3:], "<2{}>" if pattern is TOKENS[4] else ">>{}<<")
    return Languages({})


def choice_of(text: str, languages: Languages) -> Choice:
    """Returns the languages that are selected at the start of a text."""
    match = (TAG if languages.form.startswith("<") else CHOICE).match(text)
    if match is None or not languages:
        return Choice()
    for code in filter(None, match.groups()):
        if code not in languages.ids:
            raise InputError(message("no language “{code}”; the model has {codes}", code=code,
                                     codes=languages.some), match.start(), match.end())
    if languages.inline:
        return Choice(None, languages.ids[match[2]])
    return Choice(languages.ids[match[1]] if match[1] else None, languages.ids[match[2]], match.end())
