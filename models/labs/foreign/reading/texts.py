"""Texts and tokens of foreign models: tokenizers of any make behind a few functions, and the texts that show something.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.labs.foreign.errors import ForeignError
from models.messages import N_, told
from models.tasks.stories import bytes_of_characters

PLAIN = (
    (N_("Two meanings"), "The fisherman sat on the bank of the river and thought of his money in the bank."),
    (N_("It"), "The trophy did not fit into the suitcase because it was too big."),
    (N_("A question"), "Who wrote the book that everybody talked about last summer?"),
)
OPEN = (
    (N_("A dragon"), "Once upon a time there was a little dragon who was afraid of the dark. One day"),
    (N_("A name comes back"), "When Mary and John went to the shop, John gave a drink to"),
    (N_("Said twice"), "The cat sat on the mat. The dog sat on the rug. The cat sat on the"),
)
HIDDEN = (
    (N_("One word"), "Once upon a time there was a little [MASK] who lived in a house in the forest."),
    (N_("Known answer"), "The cat sat on the mat. The dog sat on the rug. The [cat] sat on the mat."),
    (N_("A city"), "Paris is the [capital] of France, and Rome is the [MASK] of Italy."),
)
OPINIONS = (
    (N_("Praise"), "I did not expect much, but this film is a quiet wonder."),
    (N_("Blame"), "A long evening, and not one good idea in it."),
    (N_("Not bad"), "The food was not bad at all."),
)
TASKS = (
    (N_("To translate"), "translate English to German: The house is wonderful."),
    (N_("To sum up"), "summarize: The storm came in the night. It took the roof of the school, and the children had "
                      "a week without lessons. On Monday the whole village helped to build a new one."),
    (N_("A sentence"), "The children played in the garden until it was dark."),
)

VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", ".model", ".spm")  # endings of files that hold the words

_MARK = re.compile(r" ?\[MASK\]| ?<mask>|\[([^\[\]]+)\]", re.IGNORECASE)
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True)
class Encoded:
    """A text as ids, with the characters that each came from.

    Attributes:
        body: first and last + 1 of the tokens that are the text's own; those around it the tokenizer added.
    """

    ids: Sequence[int]
    starts: Sequence[int]
    stops: Sequence[int]
    body: tuple[int, int]


@dataclass(frozen=True)
class Marked:
    """A text without its brackets.

    Attributes:
        plain: what is tokenized.
        origin: the place in the typed text of each character of `plain`, and of its end.
        hidden: (start, stop) in `plain` of what is hidden.
    """

    plain: str
    origin: tuple[int, ...]
    hidden: tuple[tuple[int, int], ...]

    def hides(self, start: int, stop: int) -> bool:
        """True if these characters are hidden, in part or as a whole."""
        return any(begin < stop and start < end for begin, end in self.hidden)


def unmark(text: str, mask_token: str, special: Collection[str] = ()) -> Marked:
    """`The [cat] sat on the [MASK]` -> the text with the tokenizer's own mask, and where `cat` stands.

    Args:
        special: tokens that hide nothing though they may stand in brackets, `[SEP]` for example.
    """
    plain, last = "", 0
    origin: list[int] = []
    hidden: list[tuple[int, int]] = []
    for match in _MARK.finditer(text):
        if match[1] is not None and match[0] in special and match[0] != mask_token:
            continue
        plain += text[last:match.start()]
        origin += range(last, match.start())
        if match[1] is None or match[0] == mask_token:
            lead = " " if match[0].startswith(" ") else ""
            plain += lead + mask_token
            origin += [match.start()] * (len(lead) + len(mask_token) - 1) + [match.end() - 1]
        else:
            hidden.append((len(plain), len(plain) + len(match[1])))
            plain += match[1]
            origin += range(match.start(1), match.end(1) - 1)
            origin.append(match.end() - 1)  # a bracket that closes is read with the word before it
        last = match.end()
    plain += text[last:]
    origin += range(last, len(text))
    # By end: stops are ends, one past the character that they follow.
    return Marked(plain, (0, *(place + 1 for place in origin)), tuple(hidden))


def tokenizer_of(folder: Path) -> Any:
    """The fast tokenizer of a model's folder; raises ForeignError if it has none that could be used."""
    from transformers import AutoTokenizer
    from transformers.utils import logging

    if not any(path.name.endswith(VOCABULARIES) for path in folder.iterdir()):
        # transformers would make one that knows no word
        raise ForeignError(told("it has no tokenizer (tokenizer.json)"))
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # a tokenizer's files are read by many hands: whatever they raise, it cannot be used
        raise ForeignError(told("its tokenizer cannot be read; a file tokenizer.json is what works best")) from error
    finally:
        logging.set_verbosity(level)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise ForeignError(told("its tokenizer knows no words; a file tokenizer.json is what works best"))
    if not getattr(tokenizer, "is_fast", False):
        raise ForeignError(told("its tokenizer has no fast form; a file tokenizer.json would be one"))
    # Some files cut and fill texts. Switched off at the first text, that would happen while others read theirs.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer


def encode(tokenizer: Any, text: str) -> Encoded:
    """The text's tokens and what the tokenizer puts around them."""
    found = tokenizer(text, add_special_tokens=True, return_offsets_mapping=True, return_special_tokens_mask=True,
                      truncation=False, verbose=False)
    added = found["special_tokens_mask"]
    own = [i for i, is_added in enumerate(added) if not is_added]
    body = (own[0], own[-1] + 1) if own else (0, 0)
    starts, stops = zip(*found["offset_mapping"], strict=True) if added else ((), ())
    return Encoded(found["input_ids"], starts, stops, body)


def pieces_of(tokenizer: Any, vocabulary: int) -> tuple[str, ...]:
    """What each id stands for: with a space in front where a word begins, of byte-level and SentencePiece tokens; a
    part of a character as its bytes, `\\xe2`; WordPiece's `##` stays."""
    known = min(len(tokenizer), vocabulary)
    tokens = tokenizer.convert_ids_to_tokens(list(range(known)))
    shown = _byte_level if is_byte_level(tokenizer) else _sentence_piece
    special = set(tokenizer.all_special_tokens)
    texts = [token if token in special else shown(token) if token else "unused" for token in tokens]
    return (*texts, *["unused"] * (vocabulary - known))


def is_byte_level(tokenizer: Any) -> bool:
    """True of GPT-2's kind of tokens, whose characters stand for bytes."""
    backend = tokenizer.backend_tokenizer
    return "ByteLevel" in f"{backend.decoder} {backend.pre_tokenizer}"


def join(tokens: Sequence[str], tokenizer: Any) -> str:
    """Pieces as a person would write them."""
    if "WordPiece" in str(tokenizer.backend_tokenizer.decoder):
        return " ".join(tokens).replace(" ##", "")
    return "".join(tokens)


_ALPHABET = bytes_of_characters()


def _byte_level(token: str) -> str:
    if any(character not in _ALPHABET for character in token):
        return token  # an added token, which is written as it is
    raw = bytes(_ALPHABET[character] for character in token)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in raw)


def _sentence_piece(token: str) -> str:
    byte = _BYTE.fullmatch(token)
    return f"\\x{byte[1].lower()}" if byte else token.replace("▁", " ")
