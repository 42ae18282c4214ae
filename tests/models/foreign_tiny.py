"""Tiny models of every foreign architecture, with random weights, and tokenizers that this module trains.

They are written to a folder once, so that the tests open them like downloaded models.
"""

import functools
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import nn

from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.folder import open_folder
from tests.models.foreign_architectures import ARCHITECTURES, HYBRIDS, WORDS
from tests.models.foreign_hooks import layers_of

TEXT = "The cat sat on the mat. The dog sat on the rug."
TEXTS = (TEXT, "Once upon a time there was a little dragon who was afraid of the dark.",
         "Lily had a red ball. Tom had a blue car.", "Paris is the capital of France, and Rome of Italy.")


def make_tokenizer(make: str) -> Any:
    """Returns a fast tokenizer of this type, trained on TEXTS."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if make == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=WORDS[make], special_tokens=special, show_progress=False)
    elif make == "bytes":
        special[4] = "<mask>"
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=WORDS[make], special_tokens=special, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=WORDS[make], special_tokens=special, unk_token="[UNK]",
                                          show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def save_tokenizer(make: str, head: str, folder: Path) -> None:
    """Writes the tokenizer of a model with this head to a folder, in transformers' format."""
    tokenizer = make_tokenizer(make)
    if head == "decoder":
        # Llama and GPT-2 add no special tokens at the end
        around = ("[CLS] $A", "[CLS] $A $B") if make == "pieces" else None
    elif head == "both":
        around = ("$A [SEP]", "$A $B [SEP]")
    else:
        around = ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]")
    if around:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=around[0], pair=around[1], special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    mask = "<mask>" if make == "bytes" else "[MASK]"
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token=mask, model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    fast.save_pretrained(folder)


@functools.cache
def folder_of(name: str) -> Path:
    """Returns the folder of the tiny model with this name, which is written at the first call."""
    return made(Path(tempfile.mkdtemp(prefix="tiny-")) / name, *(ARCHITECTURES | HYBRIDS)[name])


def made(folder: Path, config_name: str, model_name: str, numbers: Mapping[str, Any], make: str,
         change: Callable[[Any], None] | None = None) -> Path:
    """Writes a tiny model to a folder, as it would be downloaded, and returns the folder."""
    words = {"vocab_size": WORDS[make]} if make else {}
    config = getattr(transformers, config_name)(**{**words, **numbers})
    torch.manual_seed(0)
    model = getattr(transformers, model_name)(config)
    roughen(model)
    if getattr(model, "generation_config", None) is not None:
        model.generation_config.max_length = 20
    if change is not None:
        with torch.no_grad():
            change(model)
    model.save_pretrained(folder)
    if make:
        head = "both" if config.is_encoder_decoder else "decoder" if "Causal" in model_name or "LMHead" in model_name \
            else "encoder"
        save_tokenizer(make, head, folder)
    return folder


@torch.no_grad()
def roughen(model: nn.Module) -> None:
    """Makes attention far from uniform; parameters that start at zero or one become random, too."""
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(name)))
        if parameter.ndim > 1:
            parameter.copy_(noise * (0.5 if "embed" in name or "shared" in name else 2 * parameter.shape[-1]**-0.5))
        else:
            parameter.add_(0.1 * noise)


def picture(seed: int = 0, width: int = 24, height: int = 20, kind: str = "PNG") -> bytes:
    """Returns an image file that contains noise."""
    file, random = io.BytesIO(), numpy.random.default_rng(seed)
    Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=numpy.uint8)).save(file, kind)
    return file.getvalue()


def edit(folder: Path, file: str, **changes: Any) -> Path:
    """Changes fields of a JSON file, and returns the folder."""
    content = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**content, **changes}))
    return folder


@functools.cache
def lab_of(name: str) -> ForeignLab:
    """Returns the tiny Lab of this architecture, shared by all tests."""
    return open_folder(f"tiny:{name}", folder_of(name))


@functools.cache
def eager_of(name: str) -> Any:
    """Returns transformers' own model with the same weights; the caller removes the hooks that it adds."""
    auto = lab_of(name).task.auto
    model = getattr(transformers, auto).from_pretrained(folder_of(name), attn_implementation="eager",
                                                        dtype=torch.float32).eval()
    if name == "big_bird":  # BigBird switches to this attention at its first short text
        model.bert.set_attention_type("original_full")
    if name == "fsmt":
        for _, _, output in layers_of(model, True):
            output.positions_first = True
    if name == "convbert":
        for layer in model.convbert.encoder.layer:  # only this part of the input comes from heads
            layer.attention.output.dense.of_heads = layer.attention.self.all_head_size
    return model
