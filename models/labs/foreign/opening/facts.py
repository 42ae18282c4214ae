"""Facts from an imported model's config: model head, attention blocks, text lengths. No weights are read."""

import contextlib
import re
from pathlib import Path
from typing import Any

from models.kind import TARGET, Kind, Traits
from models.labs.foreign.opening.files import check_numbers
from models.labs.foreign.reading.classes import ClassReader, NextReader, SpanReader, TokenClassReader
from models.labs.foreign.reading.readers import CausalReader, MaskedReader, Seq2SeqReader, TextReader
from models.labs.foreign.reading.vision import PictureClassReader, PictureReader, picture_config
from models.labs.foreign.refusals import ForeignError, refuse, version, why
from models.messages import N_

# Positions of these model types start after the id of padding, so their tables are longer than the longest text.
OFFSET = {"roberta", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "camembert", "mpnet", "data2vec-text",
          "ibert", "xmod", "esm", "longformer", "luke", "prophetnet"}
# model types with relative positions; models with rotary positions are recognised by their config
UNLIMITED = {"t5", "mt5", "umt5", "deberta-v2", "bloom"}

HEADS: tuple[tuple[str, type[TextReader]], ...] = (  # end of an architecture's name -> reader of the architecture
    (r"(ForCausalLM|LMHeadModel)$", CausalReader),
    (r"(ForMaskedLM|BertForPreTraining)$", MaskedReader),
    (r"ForSequenceClassification$", ClassReader),
    (r"ForTokenClassification$", TokenClassReader),
    (r"ForQuestionAnswering$", SpanReader),
    (r"ForNextSentencePrediction$", NextReader),
    (r"(ForConditionalGeneration|MTModel)$", Seq2SeqReader),
)
APPROXIMATIONS = {"fnet", "reformer", "yoso", "nystromformer", "mra"}  # model types without a softmax over all tokens
NO_SOFTMAX = {"conv", "linear_attention", "mlp", "moe"}  # layer types of hybrid models that have no attention maps

# names that configs of different architectures use for the same number
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEAD_COUNTS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
POSITIONS = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "max_encoder_position_embeddings")

TRAITS = Traits(N_("Softmax, in the variant of this model"), "A = softmax(q kᵀ · scale + bias)", policies=("trained",
                                                                                                           "logn"))


def read_config(folder: Path) -> Any:
    """Returns transformers' config of a model's folder."""
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise refuse("no config")
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # a foreign file can make transformers raise any exception
        raise _refusal(folder, error) from error
    if re.search(r"Encoder(Model)?$", (config.architectures or [""])[0]):
        config.is_encoder_decoder = False  # the encoder of an encoder-decoder was saved alone
    if getattr(config, "quantization_config", None):
        raise refuse("quantised")
    check_numbers(config.to_dict())
    return config


def _refusal(folder: Path, error: Exception) -> ForeignError:
    from transformers.models.auto import configuration_auto

    from models.storage.checkpoint import read_json

    try:
        config = read_json(folder / "config.json")
        kind = config["model_type"]
    except (OSError, ValueError, KeyError, TypeError):
        return refuse("config unreadable")
    if isinstance(error, ImportError):
        return refuse("package", why=why(error))
    if kind not in configuration_auto.CONFIG_MAPPING_NAMES:  # type: ignore[attr-defined]  # the module exports nothing by name
        return refuse("own code" if "auto_map" in config else "unknown type", kind=repr(str(kind)[:40]),
                      version=version())
    return refuse("config damaged", why=with_field(config, why(error)))


def with_field(config: dict[str, Any], sentence: str) -> str:
    """Returns the sentence of transformers, with the field in front if it is not named: the config opens without it."""
    from transformers import AutoConfig

    if any(field in sentence for field in config):
        return sentence
    for field, value in config.items():
        if isinstance(value, str) and repr(value) in sentence:
            return f"{field}: {sentence}"
    for field in config.keys() - {"model_type"}:
        with contextlib.suppress(Exception):
            AutoConfig.for_model(**{name: value for name, value in config.items() if name != field})
            return f"{field}: {sentence}"
    return sentence


def reader_class(config: Any) -> type[TextReader]:
    """Returns the reader class of a model, by the head in its architecture's name, else by its model type."""
    from transformers.models.auto import modeling_auto as auto

    named = (config.architectures or [""])[0]
    classes = named.endswith("ForImageClassification") or named.endswith("ForImageClassificationWithTeacher")
    if hasattr(config, "vision_config") and not has_text_half(config) and not classes:
        raise refuse("several inputs", kind=config.model_type)
    if str(config.model_type).endswith("_vision_model") or any(config.model_type in names for names in (
            auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES, auto.MODEL_FOR_IMAGE_MAPPING_NAMES)):
        if not all(hasattr(picture_config(config), size) for size in ("patch_size", "image_size")):
            raise refuse("pictures of no fixed size")
        return PictureClassReader if classes else PictureReader
    if any(config.model_type in names for names in (
            auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES, auto.MODEL_FOR_CTC_MAPPING_NAMES,
            auto.MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES, auto.MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES,
            auto.MODEL_FOR_TEXT_TO_SPECTROGRAM_MAPPING_NAMES)):
        raise refuse("sound", kind=config.model_type)
    if config.is_encoder_decoder:
        if config.model_type not in auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES or "Classification" in named:
            raise refuse("another task", kind=config.model_type)
        return Seq2SeqReader
    if not hasattr(text_config(config), "vocab_size"):
        raise refuse("several inputs", kind=config.model_type)
    decodes = config.model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and is_causal(text_config(config))
    default = CausalReader if decodes else TextReader
    reader = next((reader for pattern, reader in HEADS if re.search(pattern, named)), default)
    writes = has_text_half(config) and config.model_type in auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    if has_text_half(config) and reader is Seq2SeqReader or writes and reader is TextReader:
        return CausalReader
    if reader is Seq2SeqReader:
        raise refuse("several inputs", kind=config.model_type)
    if reader is CausalReader and not is_causal(text_config(config)):
        # XLM has one class for causal and masked prediction. Other models of this class attend to the tokens that they
        # would predict, so they are shown without predictions.
        return MaskedReader if named == auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES.get(config.model_type) else TextReader
    if named.endswith("ForSequenceClassification") and (
            config.num_labels < 2 or config.problem_type in ("regression", "multi_label_classification")):
        return TextReader  # the head returns a number or several numbers, not a distribution
    return reader


def has_text_half(config: Any) -> bool:
    """Returns True for a multimodal model whose text model can be run alone."""
    from transformers import MODEL_MAPPING

    if config.is_encoder_decoder or not hasattr(getattr(config, "text_config", None), "vocab_size"):
        return False
    # a model with two encoders, such as CLIP, needs a picture beside its text
    return type(config) in MODEL_MAPPING and not hasattr(MODEL_MAPPING[type(config)], "get_text_features")


def text_config(config: Any) -> Any:
    """Returns the config of the text model; for a multimodal model, the config of its text part."""
    return config.text_config if has_text_half(config) else config


def is_causal(config: Any) -> bool:
    """Returns True if, according to the config, no token attends to a later token."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    if config.is_encoder_decoder or not hasattr(config, "vocab_size"):
        return False
    if getattr(config, "is_causal", True) is False or getattr(config, "use_bidirectional_attention", None) in (
            True, "all"):
        return False
    decodes = getattr(config, "is_decoder", False) or getattr(config, "causal", False)
    return bool(decodes) or config.model_type not in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def kinds_of(config: Any) -> tuple[Kind, ...]:
    """Returns the attention blocks that a config describes; `comparison.compare` checks them by measurement."""
    config = text_config(config)
    config = config if hasattr(config, "vocab_size") else picture_config(config)
    if config.model_type in APPROXIMATIONS:
        raise refuse("approximation", kind=config.model_type)
    if not config.is_encoder_decoder:
        layers, heads = _numbers(config, "")
        types = getattr(config, "layer_types", None) or ()
        softmax = sum(kind not in NO_SOFTMAX for kind in types) or layers
        return (Kind("self", softmax, heads, TRAITS, causal=is_causal(config)),)
    (encoder, own), (decoder, decoder_numbers) = (
        _numbers(text_config(getattr(config, half, None) or config), half) for half in ("encoder", "decoder"))
    return (Kind("encoder", encoder, own, TRAITS), Kind("decoder", decoder, decoder_numbers, TRAITS, TARGET, TARGET,
                                                        causal=True),
            Kind("cross", decoder, decoder_numbers, TRAITS, TARGET))


def _numbers(config: Any, half: str) -> tuple[int, int]:
    """Returns (layers, heads) of a model, or of the encoder or decoder of an encoder-decoder."""
    own = (f"{half}_layers", f"num_{half}_layers"), (f"{half}_attention_heads", f"num_{half}_attention_heads")
    layers, heads = (first_number(config, names) for names in ((*own[0], *LAYERS), (*own[1], *HEAD_COUNTS)))
    if any(isinstance(getattr(config, name, None), list | tuple) for name in ("depths", *HEAD_COUNTS)):
        raise refuse("several resolutions", kind=config.model_type)
    if layers is None or heads is None:
        raise refuse("no heads", kind=config.model_type)
    return layers, heads


def first_number(config: Any, names: tuple[str, ...]) -> int | None:
    """Returns the value of the first of these fields of a config that has a positive number; None if there is none."""
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def lengths_of(config: Any) -> tuple[int | None, int]:
    """Returns the number of positions of a model (None without a limit), and its training length."""
    config = text_config(getattr(config, "encoder", None) or config)
    most = first_number(config, POSITIONS) or 512
    if config.model_type in OFFSET:
        # positions of MPNet always start at 1, regardless of its config
        most -= (1 if config.model_type == "mpnet" else config.pad_token_id or 0) + 1
    if getattr(config, "attention_type", None) == "block_sparse":  # BigBird computes all scores of a shorter text
        most = min(most, (5 + 2 * config.num_random_blocks) * config.block_size)
    free = config.model_type in UNLIMITED or getattr(config, "rope_parameters", None) or \
        getattr(config, "rope_theta", None)
    return None if free else most, most


def make_reader(name: str, folder: Path) -> TextReader:
    """Returns the reader of the model in a folder."""
    config = read_config(folder)
    longest, trained = lengths_of(config)
    return reader_class(config)(name, folder, config, longest, trained)
