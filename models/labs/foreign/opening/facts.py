"""What a foreign model's config says before any weight is read: its head, its kinds of attention, its lengths."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from models.kind import TARGET, Kind, Traits
from models.labs.foreign.errors import ForeignError
from models.labs.foreign.reading.readers import CausalReader, ClassReader, MaskedReader, Seq2SeqReader, TextReader
from models.labs.foreign.reading.vision import PictureClassReader, PictureReader
from models.messages import N_, told

# Positions of these start after the id of padding, so that their tables are longer than the longest text.
OFFSET = {"roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "mpnet", "data2vec-text",
          "ibert", "xmod", "esm", "longformer"}
UNLIMITED = {"t5", "mt5", "umt5", "deberta-v2"}  # relative positions, beside those that are rotary

HEADS: tuple[tuple[str, type[TextReader]], ...] = (  # how the name of an architecture ends
    (r"(ForCausalLM|LMHeadModel)$", CausalReader),
    (r"(ForMaskedLM|BertForPreTraining)$", MaskedReader),
    (r"ForSequenceClassification$", ClassReader),
    (r"(ForConditionalGeneration|MTModel)$", Seq2SeqReader),
)

TRAITS = Traits(N_("Softmax, as the model has it"), "A = softmax(q kᵀ · scale + bias)", policies=("trained", "logn"))


def read_config(folder: Path) -> Any:
    """transformers' config of a model's folder.

    Raises:
        ForeignError: there is none, it needs code of its own, or nothing here knows the type.
    """
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise ForeignError(told("there is no config.json: this is no folder of a transformers model"))
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # whatever a stranger's file makes transformers raise
        raise ForeignError(_why(folder)) from error
    if getattr(config, "quantization_config", None):
        raise ForeignError(told("its weights are quantised; open a version with floats of 16 or 32 bits"))
    return config


def _why(folder: Path) -> str:
    from transformers.models.auto import configuration_auto

    from models.storage.checkpoint import read_json

    try:
        said = read_json(folder / "config.json")
        kind = said["model_type"]
    except (OSError, ValueError, KeyError, TypeError):
        return told("its config.json cannot be read, or does not say the model's type")
    if kind not in configuration_auto.CONFIG_MAPPING_NAMES:  # type: ignore[attr-defined]  # it exports nothing by name
        name = repr(str(kind)[:40])
        return told("transformers has no model of type {name} and its code would have to run here, which it never does",
                    name=name) if "auto_map" in said else told("transformers has no model of type {name}", name=name)
    return told("its config.json is damaged, or needs code of its own, which is never run here")


def reader_class(config: Any) -> type[TextReader]:
    """How the model reads and answers: its architecture's head, else what is usual for its type."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    )

    named = (config.architectures or [""])[0]
    if config.model_type in MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES and hasattr(config, "patch_size"):
        return PictureClassReader if named.endswith("ForImageClassification") else PictureReader
    if config.is_encoder_decoder:
        if config.model_type not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES or "Classification" in named:
            raise ForeignError(told("a model like {named} cannot be shown; one that writes text can",
                                    named=named or config.model_type))
        return Seq2SeqReader
    if not hasattr(config, "vocab_size"):
        raise ForeignError(told("a model of type {model_type} reads neither plain text nor pictures",
                                model_type=config.model_type))
    decodes = config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and is_causal(config)
    default = CausalReader if decodes else TextReader
    reader = next((reader for pattern, reader in HEADS if re.search(pattern, named)), default)
    if reader is Seq2SeqReader:
        raise ForeignError(told("a model like {named} reads more than text; its text model alone can be shown",
                                named=named))
    if named.endswith("ForSequenceClassification") and (
            config.num_labels < 2 or config.problem_type in ("regression", "multi_label_classification")):
        return TextReader  # it gives a number, or several: no distribution
    return reader


def is_causal(config: Any) -> bool:
    """True if a token sees no later one."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return not config.is_encoder_decoder and hasattr(config, "vocab_size") and (
        bool(getattr(config, "is_decoder", False)) or config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES)


def kinds_of(config: Any) -> tuple[Kind, ...]:
    """Its families of attention layers; a model's layers are counted again when it is opened."""
    if config.is_encoder_decoder:
        encoder = getattr(config, "encoder_layers", None) or config.num_layers
        decoder = getattr(config, "decoder_layers", None) or config.num_decoder_layers
        own = getattr(config, "encoder_attention_heads", None) or config.num_attention_heads
        its = getattr(config, "decoder_attention_heads", None) or config.num_attention_heads
        return (Kind("encoder", encoder, own, TRAITS),
                Kind("decoder", decoder, its, TRAITS, TARGET, TARGET, causal=True),
                Kind("cross", decoder, its, TRAITS, TARGET))
    layers, heads = (getattr(config, key, None) for key in ("num_hidden_layers", "num_attention_heads"))
    if not isinstance(layers, int) or not isinstance(heads, int):
        raise ForeignError(told("its config does not say how many layers of how many heads it has"))
    return (Kind("self", layers, heads, TRAITS, causal=is_causal(config)),)


def lengths_of(config: Any) -> tuple[int | None, int]:
    """Most tokens that it has positions for, None if there is no such limit; and what it was trained with."""
    most = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 512
    if config.model_type in OFFSET:
        most -= (1 if config.model_type == "mpnet" else config.pad_token_id or 0) + 1  # MPNet's is 1 whatever it says
    free = config.model_type in UNLIMITED or getattr(config, "rope_parameters", None) or \
        getattr(config, "rope_theta", None)
    return None if free else most, most


def make_reader(name: str, folder: Path) -> TextReader:
    """The reader of the model in a folder."""
    config = read_config(folder)
    return reader_class(config)(name, folder, config, *lengths_of(config))


