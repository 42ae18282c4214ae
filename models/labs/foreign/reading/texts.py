"""Texts and tokens of foreign models: functions that work with every type of tokenizer, and the example texts."""

from __future__ import annotations

import codecs
import itertools
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from models.errors import InputError
from models.labs.foreign.opening.files import VOCABULARIES, is_panic
from models.labs.foreign.reading.sentencepiece import SplitTokenizer, is_split
from models.labs.foreign.refusals import refuse
from models.messages import N_, message
from models.tasks.characters import decoded, whole_characters, with_characters
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
NAMES = (
    (N_("People and places"), "Angela Merkel met Barack Obama in Berlin, the capital of Germany."),
    (N_("A firm"), "Steve Jobs founded Apple in California with his friend Wozniak."),
)
QUESTIONS = (
    (N_("A question"), "Where does Lily live? [SEP] Lily is seven. She lives in Paris with her cat."),
    (N_("Two places"), "Where was Tom born? [SEP] Tom was born in Rome, and he works in London."),
)
SENTENCES = (
    (N_("It follows"), "The cat was hungry. [SEP] It ate all the fish."),
    (N_("It does not"), "The cat was hungry. [SEP] The capital of France is Paris."),
)
TASKS = (
    (N_("A text to translate"), "translate English to German: The house is wonderful."),
    (N_("A text to summarise"),
     "summarize: The storm came in the night. It took the roof of the school, and the children had "
                      "a week without lessons. On Monday the whole village helped to build a new one."),
    (N_("A sentence"), "The children played in the garden until it was dark."),
)

_MARK = re.compile(r"\\(?P<bracket>[\[\]])| ?\[MASK\]| ?<mask>|\[(?P<hidden>[^\[\]]+)\]", re.IGNORECASE)
# a tokenizer's special tokens that its files need not name -> their usual names
NAMES_OF = {"mask_token": ("[MASK]", "<mask>"), "sep_token": ("[SEP]", "<sep>", "</s>"), "cls_token": ("[CLS]", "<s>"),
            "unk_token": ("[UNK]", "<unk>"), "pad_token": ("[PAD]", "<pad>")}
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_ALPHABET = bytes_of_characters()


@dataclass(frozen=True)
class Encoded:
    """A text as token ids, with the positions of their characters."""

    ids: Sequence[int]  # N token ids
    starts: Sequence[int]  # index of each token's first character
    stops: Sequence[int]  # index after each token's last character
    body: tuple[int, int]  # range of the text's tokens; the tokenizer added all others
    text: str = ""  # the text


@dataclass(frozen=True)
class Marked:
    """A text without its brackets."""

    plain: str  # the text that is tokenised
    # for each number of leading characters of `plain`, the number of leading characters of the input text from which
    # they came
    origin: tuple[int, ...]
    hidden: tuple[tuple[int, int], ...]  # (start, stop) of each hidden part in `plain`

    def touched(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yields the hidden spans that contain any of these characters."""
        # a text can have thousands of spans, which are in order
        for begin, end in itertools.islice(self.hidden, bisect_right(self.hidden, start, key=itemgetter(1)), None):
            if begin >= stop:
                return
            yield begin, end

    def hides(self, start: int, stop: int) -> bool:
        """Returns True if any of these characters is hidden."""
        return any(True for _ in self.touched(start, stop))

    def split_by(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Returns the hidden spans that contain some, but not all, of these characters."""
        return [(begin, end) for begin, end in self.touched(start, stop)
                if any(not place.isspace() for place in self.plain[start:min(begin, stop)] + self.plain[end:stop])]

    def replaced(self, texts: Mapping[tuple[int, int], str]) -> tuple[Marked, list[int]]:
        """Returns the text in which hidden spans are replaced by visible texts, and where each of these begins."""
        plain, origin, hidden, last, starts = "", [self.origin[0]], [], 0, []
        for begin, end in self.hidden:
            plain += self.plain[last:begin]
            origin += self.origin[last + 1:begin + 1]
            text = texts.get((begin, end))
            if text is None:
                hidden.append((len(plain), len(plain) + end - begin))
                plain += self.plain[begin:end]
                origin += self.origin[begin + 1:end + 1]
            else:
                starts.append(len(plain))
                plain += text
                origin += [self.origin[end]] * len(text)
            last = end
        return Marked(plain + self.plain[last:], (*origin, *self.origin[last + 1:]), tuple(hidden)), starts


def unmark(text: str, mask_token: str | None, special: Collection[str] = ()) -> Marked:
    """Removes brackets: in `The [cat] sat on the [MASK]`, only `cat` is hidden and the mask is the tokenizer's."""
    plain, last = "", 0
    origin: list[int] = []
    hidden: list[tuple[int, int]] = []
    for match in _MARK.finditer(text):
        word, bracket = match["hidden"], match["bracket"]
        if word is not None and match[0] in special and match[0] != mask_token:
            continue
        plain += text[last:match.start()]
        origin += range(last, match.start())
        if bracket is not None:
            plain += bracket
            origin.append(match.end() - 1)
            last = match.end()
            continue
        if mask_token is None:
            raise InputError(message("The tokenizer has no mask token: set mask_token in "
                                     "tokenizer_config.json"), match.start(), match.end())
        if word is None or match[0] == mask_token:
            lead = " " if match[0].startswith(" ") else ""
            plain += lead + mask_token
            origin += [match.start()] * (len(lead) + len(mask_token) - 1) + [match.end() - 1]
        else:
            hidden.append((len(plain), len(plain) + len(word)))
            plain += word
            origin += range(match.start("hidden"), match.end("hidden") - 1)
            origin.append(match.end() - 1)  # a closing bracket belongs to the word before it
        last = match.end()
    plain += text[last:]
    origin += range(last, len(text))
    # indexed by end positions, which are one past the last character
    return Marked(plain, (0, *(place + 1 for place in origin)), tuple(hidden))


def tokenizer_of(folder: Path, model_type: str) -> Any:
    """Returns the fast tokenizer of a model's folder."""
    from transformers import AutoTokenizer
    from transformers.utils import logging

    if not any(path.name.endswith(VOCABULARIES) for path in folder.iterdir()):
        # transformers would create a tokenizer without words
        raise refuse("no tokenizer")
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        if is_split(folder, model_type):
            return SplitTokenizer(folder, model_type)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    # many libraries read a tokenizer's files; after any of their exceptions, the tokenizer cannot be used
    except Exception as error:
        raise refuse("tokenizer unreadable") from error
    finally:
        logging.set_verbosity(level)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise refuse("empty tokenizer")
    if not getattr(tokenizer, "is_fast", False):
        raise refuse("slow tokenizer")
    # Some tokenizer files switch on truncation and padding. Both are switched off before other threads use the object.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    vocabulary = tokenizer.get_vocab()
    for name, usual in NAMES_OF.items():
        token = next((token for token in usual if token in vocabulary), None)
        if token is not None and getattr(tokenizer, name, None) is None:
            tokenizer.add_special_tokens({name: token})
    return tokenizer


def encode(tokenizer: Any, text: str, with_special: bool = True) -> Encoded:
    """Returns the tokens of a text, including the tokens that the tokenizer adds."""
    try:
        encoding = tokenizer(text, add_special_tokens=with_special, return_offsets_mapping=True,
                             return_special_tokens_mask=True, truncation=False, verbose=False)
    except BaseException as error:  # a Rust library panics if a regular expression fails on this text
        if not is_panic(error):
            raise
        raise InputError(message("The tokenizer fails on this text"), 0, len(text)) from error
    added = encoding["special_tokens_mask"]
    own = [i for i, is_added in enumerate(added) if not is_added]
    body = (own[0], own[-1] + 1) if own else (0, 0)
    starts, stops = zip(*encoding["offset_mapping"], strict=True) if added else ((), ())
    return Encoded(encoding["input_ids"], starts, stops, body, text)


def pieces_of(tokenizer: Any, vocabulary: int) -> tuple[str, ...]:
    r"""Returns the text of each token id.

    A byte-level or SentencePiece token at the start of a word begins with a space. A token that is only a part of a
    character is shown as its bytes, for example `\xe2`. WordPiece's `##` is kept.
    """
    known = min(len(tokenizer), vocabulary)
    tokens = tokenizer.convert_ids_to_tokens(list(range(known)))
    special, is_bytes = set(tokenizer.all_special_tokens), is_byte_level(tokenizer)
    suffix = getattr(tokenizer.backend_tokenizer.model, "end_of_word_suffix", None) or ""
    texts = [_no_token(i) if token is None else token if token in special else _piece(token, is_bytes, suffix)
             for i, token in enumerate(tokens)]
    return (*texts, *(_no_token(i) for i in range(known, vocabulary)))


def without_token(tokenizer: Any, vocabulary: int) -> list[int]:
    """Returns the rows of the embedding for which there is no token; they are never generated."""
    known = min(len(tokenizer), vocabulary)
    tokens = tokenizer.convert_ids_to_tokens(list(range(known)))
    return [*(i for i, token in enumerate(tokens) if token is None), *range(known, vocabulary)]


def _no_token(row: int) -> str:
    return f"<no token {row}>"


def partial_bytes(tokenizer: Any, token: str | None) -> bytes | None:
    """Returns the bytes of a token that is only a part of a character; None for any other token."""
    if token is None:
        return None
    byte = _BYTE.fullmatch(token)
    if byte:
        return bytes([int(byte[1], 16)])
    if not is_byte_level(tokenizer) or any(character not in _ALPHABET for character in token):
        return None
    raw = bytes(_ALPHABET[character] for character in token)
    return None if decoded(raw) is not None else raw


def written_pieces(tokenizer: Any, ids: Sequence[int], pieces: Sequence[str]) -> list[str]:
    """Returns the tokens of a text for display: parts of a character are shown as `ש 1/2` and `ש 2/2`."""
    raw = [partial_bytes(tokenizer, token) for token in tokenizer.convert_ids_to_tokens(list(ids))]
    return with_characters([pieces[i] for i in ids], raw)


def is_byte_level(tokenizer: Any) -> bool:
    """Returns True for a tokenizer such as GPT-2's, in whose vocabulary each character represents a byte."""
    backend = tokenizer.backend_tokenizer
    return "ByteLevel" in f"{backend.decoder} {backend.pre_tokenizer}"


def join(tokens: Sequence[str], tokenizer: Any) -> str:
    """Returns the text that the tokens form."""
    whole = whole_characters(tokens)
    if "WordPiece" in str(tokenizer.backend_tokenizer.decoder):
        return " ".join(whole).replace(" ##", "")
    return "".join(whole)


def _piece(token: str, is_bytes: bool, suffix: str) -> str:
    byte = _BYTE.fullmatch(token)
    if byte:
        return f"\\x{byte[1].lower()}"
    if not is_bytes:
        return token.removesuffix(suffix) + " " if suffix and token.endswith(suffix) else token.replace("▁", " ")
    if any(character not in _ALPHABET for character in token):
        return token  # an added token is not encoded
    raw = bytes(_ALPHABET[character] for character in token)
    text = decoded(raw)
    return "".join(f"\\x{byte:02x}" for byte in raw) if text is None else text


def is_begun(raw: bytes) -> bool:
    """Returns True if these bytes in UTF-8 end inside a character."""
    reader = codecs.getincrementaldecoder("utf-8")()
    try:
        reader.decode(raw)
    except UnicodeDecodeError:
        return False
    return bool(reader.getstate()[0])
