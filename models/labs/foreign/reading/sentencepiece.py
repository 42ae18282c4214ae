"""Tokenizers of Marian (opus-mt) and M2M100 in the Hub's format: a SentencePiece model, and the ids in vocab.json.

transformers reads them with the library `sentencepiece`, which does not return the characters of each token. Here the
SentencePiece model is converted to a fast tokenizer with the ids of vocab.json. This module does not import torch,
because the inspection of a folder uses it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, Unigram

MODELS = {"marian": "source.spm", "m2m_100": "sentencepiece.bpe.model"}  # model type -> file
CODE = re.compile(r">>[^<>\s]+<<")  # a target language, in front of a text for opus-mt
LANGUAGES = {  # languages of M2M100, whose tokens follow those of vocab.json in this order
    "m2m100": ("af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi "
               "hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc "
               "or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"),
    "wmt21": "en ha is ja cs ru zh de",
}
UNIGRAM, BYTE_PAIRS = 1, 2  # types of a SentencePiece model


def is_split(folder: Path, model_type: str) -> bool:
    """Returns True if the folder's tokenizer is a SentencePiece model whose ids are in a separate vocab.json."""
    file = MODELS.get(model_type)
    return file is not None and all((folder / name).is_file() for name in (file, "vocab.json")) and not (
        folder / "tokenizer.json").exists()


class SplitTokenizer:
    """A SentencePiece model whose pieces have the ids of vocab.json, with the interface of a fast tokenizer."""

    is_fast = True
    mask_token = mask_token_id = sep_token_id = cls_token_id = bos_token_id = None
    model_input_names = ("input_ids", "attention_mask")
    chat_template = None

    def __init__(self, folder: Path, model_type: str) -> None:
        """Reads the files."""
        settings = _content(folder / "tokenizer_config.json")
        self.backend_tokenizer = _tokenizer(folder / MODELS[model_type])
        self._ids: dict[str, int] = {str(piece): int(i) for piece, i in _content(folder / "vocab.json").items()}
        self.src_lang = ""
        if model_type == "m2m_100":
            first = len(self._ids)
            codes = LANGUAGES[settings.get("language_codes", "m2m100")].split()
            self._ids |= {f"__{code}__": first + i for i, code in enumerate(codes)}
            self.src_lang = settings.get("src_lang") or "en"
        self._pieces = {i: piece for piece, i in self._ids.items()}
        self.unk_token_id, self.eos_token_id, self.pad_token_id = (self._ids[name] for name in (
            "<unk>", "</s>", "<pad>"))
        self.all_special_tokens = ["<unk>", "</s>", "<pad>", *(p for p in self._ids if re.fullmatch(r"__\w+__", p))]
        self.all_special_ids = [self._ids[token] for token in self.all_special_tokens]

    def __len__(self) -> int:
        return max(self._pieces) + 1

    def __call__(self, text: str, **_: Any) -> dict[str, list[Any]]:
        """Returns token ids and character ranges; a language token is in front of the text, `</s>` behind it."""
        code = None if self.src_lang else CODE.match(text)
        start = code.end() if code else 0
        encoding = self.backend_tokenizer.encode(text[start:], add_special_tokens=False)
        before = [self._ids[f"__{self.src_lang}__"]] if self.src_lang else []
        own = [self._ids.get(code[0], self.unk_token_id)] if code else []
        ids = [*before, *own, *(self._ids.get(piece, self.unk_token_id) for piece in encoding.tokens),
               self.eos_token_id]
        offsets = [(0, 0)] * len(before) + [(0, start)] * len(own) + [
            (first + start, last + start) for first, last in encoding.offsets] + [(0, 0)]
        mask = [1] * len(before) + [0] * (len(ids) - len(before) - 1) + [1]
        return {"input_ids": ids, "offset_mapping": offsets, "special_tokens_mask": mask}

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        """Returns the piece of an id, or None if the id has no piece; for a list of ids, a list of pieces."""
        return self._pieces.get(ids) if isinstance(ids, int) else [self._pieces.get(i) for i in ids]

    def get_vocab(self) -> Mapping[str, int]:
        """Returns piece -> id."""
        return self._ids

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """Returns the text of ids."""
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return "".join(self._pieces.get(i, "") for i in ids if i not in skipped).replace("▁", " ").strip()


def _content(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} holds no object")
    return content


def _tokenizer(file: Path) -> Tokenizer:
    """Returns the fast tokenizer of a SentencePiece model, without the control tokens."""
    from transformers.convert_slow_tokenizer import generate_merges, import_protobuf

    model = import_protobuf().ModelProto()
    model.ParseFromString(file.read_bytes())
    pieces: list[SimpleNamespace] = list(model.pieces)
    scores = [(entry.piece, entry.score) for entry in pieces]
    if model.trainer_spec.model_type == UNIGRAM:
        tokenizer = Tokenizer(Unigram(scores, unk_id=model.trainer_spec.unk_id))
    elif model.trainer_spec.model_type == BYTE_PAIRS:
        vocabulary = {piece: i for i, (piece, _) in enumerate(scores)}
        merges = generate_merges(vocabulary, dict(scores))
        tokenizer = Tokenizer(BPE(vocabulary, merges, unk_token=model.trainer_spec.unk_piece, fuse_unk=True))
    else:
        raise ValueError("neither a unigram model nor byte pairs")
    charsmap = model.normalizer_spec.precompiled_charsmap
    tokenizer.normalizer = normalizers.Sequence([
        *([normalizers.Precompiled(charsmap)] if charsmap else []), normalizers.Strip(),
        normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer
