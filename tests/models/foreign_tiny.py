"""Tiny models of every foreign architecture, with random weights and tokenizers made here.

They are written once into a folder, so that the tests open them as they open a downloaded model."""

from __future__ import annotations

import functools
import io
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

TEXT = "The cat sat on the mat. The dog sat on the rug."
TEXTS = (TEXT, "Once upon a time there was a little dragon who was afraid of the dark.",
         "Lily had a red ball. Tom had a blue car.", "Paris is the capital of France, and Rome of Italy.")
WORDS = {"wordpiece": 160, "pieces": 120, "bytes": 384}  # of a vocabulary; bytes alone are 256
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
ENCODER = {**SMALL, "type_vocab_size": 2, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
SHARED = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}  # key and value heads that two query heads share
SEQUENCE = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
            "decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 64,
            "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2,
            "forced_eos_token_id": None}
V2 = {**ENCODER, "type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
      "max_relative_positions": -1, "position_biased_input": False}

# Name -> the class of the config, that of the model, the config's numbers, the make of the tokenizer.
ARCHITECTURES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "bert": ("BertConfig", "BertForMaskedLM", ENCODER, "wordpiece"),
    "bert-class": ("BertConfig", "BertForSequenceClassification", {**ENCODER, "num_labels": 3}, "wordpiece"),
    "bert-bare": ("BertConfig", "BertModel", ENCODER, "wordpiece"),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**ENCODER, "max_position_embeddings": 65}, "bytes"),
    "electra": ("ElectraConfig", "ElectraForMaskedLM", {**ENCODER, "embedding_size": 16}, "wordpiece"),
    "distilbert": ("DistilBertConfig", "DistilBertForMaskedLM",
                   {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64},
                   "wordpiece"),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**ENCODER, "embedding_size": 16}, "pieces"),
    "mpnet": ("MPNetConfig", "MPNetForMaskedLM", {**ENCODER, "max_position_embeddings": 65}, "wordpiece"),
    "deberta-v2": ("DebertaV2Config", "DebertaV2ForMaskedLM", {**V2, "conv_kernel_size": 3}, "pieces"),
    "deberta-v3": ("DebertaV2Config", "DebertaV2Model",
                   {**V2, "position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm"}, "pieces"),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel",
             {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 3, "eos_token_id": 3},
             "bytes"),
    "opt": ("OPTConfig", "OPTForCausalLM",
            {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48,
             "max_position_embeddings": 64, "word_embed_proj_dim": 32, "pad_token_id": 0, "bos_token_id": 2,
             "eos_token_id": 3}, "bytes"),
    "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", SMALL, "bytes"),
    "gpt_neo": ("GPTNeoConfig", "GPTNeoForCausalLM",
                {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "intermediate_size": 48, "window_size": 5,
                 "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64, "bos_token_id": 3,
                 "eos_token_id": 3}, "bytes"),
    "llama": ("LlamaConfig", "LlamaForCausalLM", SHARED, "pieces"),
    "mistral": ("MistralConfig", "MistralForCausalLM", {**SHARED, "sliding_window": 5}, "pieces"),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {**SHARED, "sliding_window": None}, "pieces"),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", SHARED, "bytes"),
    "gemma3_text": ("Gemma3TextConfig", "Gemma3ForCausalLM",
                    {**SHARED, "sliding_window": 5, "query_pre_attn_scalar": 8}, "pieces"),
    "t5": ("T5Config", "T5ForConditionalGeneration",
           {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4,
            "pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 0}, "pieces"),
    "bart": ("BartConfig", "BartForConditionalGeneration", SEQUENCE, "bytes"),
    "marian": ("MarianConfig", "MarianMTModel",
               {**SEQUENCE, "decoder_start_token_id": 0, "decoder_vocab_size": WORDS["pieces"]}, "pieces"),
    "vit": ("ViTConfig", "ViTForImageClassification",
            {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
             "image_size": 16, "patch_size": 4, "num_labels": 3}, ""),
}


def make_tokenizer(make: str) -> Any:
    """A fast tokenizer of this make, trained on TEXTS."""
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
    """The tokenizer of a model with this head, as transformers writes it."""
    tokenizer = make_tokenizer(make)
    if head == "decoder":
        around = ("[CLS] $A", "[CLS] $A $B") if make == "pieces" else None  # as Llama has it, and GPT-2
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
    """A folder with the tiny model of this name; made once."""
    return made(Path(tempfile.mkdtemp(prefix="tiny-")) / name, *ARCHITECTURES[name])


def made(folder: Path, config_name: str, model_name: str, numbers: Mapping[str, Any], make: str,
         change: Callable[[Any], None] | None = None) -> Path:
    """A tiny model in a folder, as a person would have it.

    Args:
        folder: to write into.
        config_name, model_name: classes of transformers.
        numbers: of the config.
        make: of the tokenizer; empty for none.
        change: applied to the model before it is written.
    """
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
    """Weights so large that attention is far from flat, and everything that starts at zero or one is not."""
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(name)))
        if parameter.ndim > 1:
            parameter.copy_(noise * (0.5 if "embed" in name or "shared" in name else 2 * parameter.shape[-1]**-0.5))
        else:
            parameter.add_(0.1 * noise)


def picture(seed: int = 0, width: int = 24, height: int = 20, kind: str = "PNG") -> bytes:
    """A file with a picture of noise."""
    file, random = io.BytesIO(), numpy.random.default_rng(seed)
    Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=numpy.uint8)).save(file, kind)
    return file.getvalue()


@functools.cache
def lab_of(name: str) -> ForeignLab:
    """The tiny Lab of this architecture, shared by all tests."""
    return open_folder(f"tiny:{name}", folder_of(name))


@functools.cache
def eager_of(name: str) -> Any:
    """The same weights as transformers runs them, in a model of its own that nothing of ours has touched; hooks on it
    are removed by who hangs them there."""
    auto = lab_of(name).task.auto
    return getattr(transformers, auto).from_pretrained(folder_of(name), attn_implementation="eager",
                                                       dtype=torch.float32).eval()
