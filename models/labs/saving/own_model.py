"""Saves one of our trained models as an Arcee model of transformers, which computes exactly the same.

ArceeForCausalLM is a stack of RMSNorm, softmax attention with RoPE, and an MLP without a gate, whose activation is a
field of the config. Llama's MLP has a gate, and GPT-2 has LayerNorm and learned positions, so neither of them computes
the same as our models.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, processors
from torch import Tensor

from models.errors import StructureError
from models.kind import SELF
from models.lab import Lab
from models.labs.stack import StackLab
from models.messages import message
from models.nets.config import Config
from models.plan import Address, HeadPlan
from models.tasks.stories import BOS, StoriesReader


@dataclass(frozen=True)
class SavedModel:
    """A model that was written to a folder.

    Attributes:
        folder: folder with config, weights and tokenizer.
        folded: addresses of the heads whose gate was multiplied into W_O.
        cut: number of pruned heads that were removed from the weights; the other pruned heads have zeros in W_O.
    """

    folder: Path
    folded: tuple[Address, ...]
    cut: int


NAMES = {  # name in Transformer -> name in ArceeForCausalLM; {} is the number of the layer
    "blocks.{}.attention_norm": "model.layers.{}.input_layernorm",
    "blocks.{}.attention.source.query": "model.layers.{}.self_attn.q_proj",
    "blocks.{}.attention.source.key": "model.layers.{}.self_attn.k_proj",
    "blocks.{}.attention.value": "model.layers.{}.self_attn.v_proj",
    "blocks.{}.attention.output": "model.layers.{}.self_attn.o_proj",
    "blocks.{}.mlp_norm": "model.layers.{}.post_attention_layernorm",
    "blocks.{}.up": "model.layers.{}.mlp.up_proj",
    "blocks.{}.down": "model.layers.{}.mlp.down_proj",
    "norm": "model.norm",
    "embedding": "model.embed_tokens",
}


def savable(lab: Lab) -> StackLab:
    """Returns the model if transformers has an equal architecture; raises StructureError with the reason otherwise."""
    if not isinstance(lab, StackLab):
        raise StructureError(message("transformers has no equal encoder-decoder"))
    if lab.model.config.attention != "softmax":
        raise StructureError(message("only softmax attention can be saved for transformers"))
    if not lab.model.config.causal:
        raise StructureError(message("transformers has no equal bidirectional model"))
    if not isinstance(lab.task, StoriesReader):
        raise StructureError(message("transformers has no tokenizer for this model"))
    return lab


def save(lab: Lab, folder: Path, plan: HeadPlan) -> SavedModel:
    """Writes a causal model with softmax attention under a plan of gates; see save_pretrained."""
    lab = savable(lab)
    from transformers import ArceeForCausalLM, PreTrainedTokenizerFast

    config = lab.model.config
    model = ArceeForCausalLM(_config(config))
    model.load_state_dict(_weights(lab.model.state_dict(), config, plan))
    model.save_pretrained(folder)
    assert isinstance(lab.task, StoriesReader)
    tokenizer = Tokenizer.from_str(lab.task.typed.to_str())
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, 0)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BOS, eos_token=BOS).save_pretrained(folder)
    return SavedModel(folder, tuple(address for address, head in plan.heads.items() if head.gate < 1), 0)


def _config(config: Config) -> Any:
    from transformers import ArceeConfig

    return ArceeConfig(
        vocab_size=config.vocabulary, hidden_size=config.width, intermediate_size=4 * config.width,
        num_hidden_layers=config.layers, num_attention_heads=config.heads, num_key_value_heads=config.heads,
        head_dim=config.head_width, hidden_act="gelu_pytorch_tanh", max_position_embeddings=config.trained_length,
        rms_norm_eps=torch.finfo(torch.float32).eps, rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=0, dtype="float32")


@torch.no_grad()
def _weights(state: dict[str, Tensor], config: Config, plan: HeadPlan) -> dict[str, Tensor]:
    """Returns weights under transformers' names; gates are in W_O, the factor on logits in the language-model head."""
    weights = {"lm_head.weight": state["embedding.weight"] * config.output_scale}
    for ours, theirs in NAMES.items():
        for layer in range(config.layers if "{}" in ours else 1):
            weights[f"{theirs.format(layer)}.weight"] = state[f"{ours.format(layer)}.weight"].clone()
    for (kind, layer, head), head_state in plan.heads.items():
        assert kind == SELF
        columns = slice(head * config.head_width, (head + 1) * config.head_width)
        weights[f"model.layers.{layer}.self_attn.o_proj.weight"][:, columns] *= head_state.gate
    return weights
