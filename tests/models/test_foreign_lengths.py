"""Foreign models: effects of a text's length, or of the text that was run before."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers
from foreign_tiny import TEXT, lab_of, made

import models
from app.content.tools import hybrid_remark
from models.analysis import head_groups, minimal_heads
from models.analysis.gated_predictions import Gating, Question
from models.lab import run_prompt
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.reading.readers import TextReader
from models.labs.foreign.refusals import ForeignError
from tests.models.foreign_architectures import ARCHITECTURES, ENCODER, HYBRIDS, SEQUENCE, SHARED

NTK = {**SHARED, "max_position_embeddings": 16,
       "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}}
LONGROPE = {**SHARED, "max_position_embeddings": 64, "original_max_position_embeddings": 16, "pad_token_id": 0,
            "rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4,
                                "long_factor": [4.0] * 4, "factor": 4.0, "original_max_position_embeddings": 16}}


@pytest.mark.parametrize(("config", "model", "numbers"), [
    ("LlamaConfig", "LlamaForCausalLM", NTK), ("Phi3Config", "Phi3ForCausalLM", LONGROPE)])
def test_a_long_text_leaves_no_trace(tmp_path: Path, config: str, model: str, numbers: dict[str, Any]):
    """Short, long and short again, also in two threads, each as in a newly loaded transformers model."""
    folder = made(tmp_path, config, model, numbers, "pieces")
    lab = open_folder("folder:ntk", folder)
    short, long = lab.read(TEXT[:20]), lab.read(TEXT * 2)
    assert len(short.ids) < 16 < 40 < len(long.ids)

    def eager(ids: tuple[int, ...]) -> numpy.ndarray:
        fresh = getattr(transformers, model).from_pretrained(folder, attn_implementation="eager").eval()
        with torch.inference_mode():
            return torch.cat(fresh(input_ids=torch.tensor([ids]), output_attentions=True).attentions).numpy()

    def ours(prompt: Any) -> numpy.ndarray:
        return run_prompt(lab, prompt).weights["self"]

    expected_short, expected_long = eager(short.ids), eager(long.ids)
    for prompt, expected in ((short, expected_short), (long, expected_long), (short, expected_short)):
        numpy.testing.assert_allclose(ours(prompt), expected, atol=1e-6)
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(ours, [short, long] * 20))
    for i, found in enumerate(together):
        numpy.testing.assert_allclose(found, (expected_short, expected_long)[i % 2], atol=1e-5)


def test_a_window_wider_than_the_short_probe_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A model whose results differ from our computation only on long texts is refused."""
    from models.labs.foreign.running import attention

    folder = made(tmp_path, "MistralConfig", "MistralForCausalLM", {**SHARED, "sliding_window": 20}, "pieces")
    open_folder("folder:window", folder)
    right = attention.eager_mask

    def without_window(*args: Any, **kwargs: Any) -> Any:
        made = right(*args, **kwargs)
        return None if made is None else torch.full_like(made, made.min()).triu(1)
    monkeypatch.setattr(attention, "eager_mask", without_window)
    with pytest.raises(ForeignError, match="more than a softmax"):
        open_folder("folder:window", folder)


def test_a_bias_of_minus_infinity_is_a_number(tmp_path: Path):
    """A bias of -inf, which excludes a token, leaves KL divergence and gates finite."""
    def switch_off(model: Any) -> None:
        model.final_logits_bias[0, 7] = float("-inf")

    lab = open_folder("folder:bart", made(tmp_path, "BartConfig", "BartForConditionalGeneration", SEQUENCE, "bytes",
                                          switch_off))
    trace = models.run(lab, TEXT)
    assert trace.outputs[0].distribution[7] == 0
    gating = Gating.of(lab, lab.anchored(lab.read(TEXT)), Question.of(trace))
    gates = torch.full((1, len(gating.heads)), 0.5, requires_grad=True)
    kl = gating.divergence(gates)
    (gradient,) = torch.autograd.grad(kl.sum(), gates)
    assert kl.isfinite().all() and float(kl.detach()) > 0 and gradient.isfinite().all() and gradient.abs().max() > 0


@pytest.mark.parametrize(("config", "model", "numbers", "make"), [
    ("RobertaConfig", "RobertaForCausalLM", {**ENCODER, "max_position_embeddings": 65}, "bytes"),
    ("LlamaConfig", "LlamaForCausalLM", {**SHARED, "is_causal": False}, "pieces"),
    ("Gemma3TextConfig", "Gemma3ForCausalLM", {**SHARED, "sliding_window": 5, "query_pre_attn_scalar": 8,
                                               "use_bidirectional_attention": True}, "pieces"),
    ("Qwen3Config", "Qwen3Model", {**SHARED, "tie_word_embeddings": False}, "bytes"),
    ("MistralConfig", "MistralModel", {**SHARED, "tie_word_embeddings": False}, "pieces")])
def test_what_predicts_no_next_token_opens_as_vectors(tmp_path: Path, config: str, model: str, numbers: dict[str, Any],
                                                      make: str):
    """Language models that attend to later tokens, and decoders without a head."""
    lab = open_folder("folder:x", made(tmp_path, config, model, numbers, make))
    trace = models.run(lab, TEXT)
    assert type(lab.task) is TextReader and trace.vectors is not None and not trace.outputs
    assert numpy.isnan(trace.losses).all()
    assert lab.kinds[0].causal == (not trace.weights["self"][:, :, 0, 1:].any()) == model.endswith("Model")


def test_one_head_has_a_minimal_set(tmp_path: Path):
    numbers = {"n_embd": 32, "n_layer": 1, "n_head": 1, "n_positions": 64, "bos_token_id": 3, "eos_token_id": 3}
    lab = open_folder("folder:one", made(tmp_path, "GPT2Config", "GPT2LMHeadModel", numbers, "bytes"))
    prompt = lab.read(TEXT)
    gating = Gating.of(lab, prompt, Question.of(run_prompt(lab, prompt)))
    curve = minimal_heads.polish(minimal_heads.learn(gating, len(prompt.ids), steps=9))
    assert set(curve.best) == {0, 1} and curve.best[1][0] == 0
    assert head_groups.fit(gating).names


def test_kl_of_no_change_is_zero():
    """The KL divergence without a change is exactly 0, although rounding would give -4e-7."""
    lab = models.load("stories-softmax")
    prompt = lab.read("Tom had a big red ball. He went to the park")
    gating = Gating.of(lab, prompt, Question.of(run_prompt(lab, prompt)))
    count = len(gating.heads)
    near = torch.ones(64, count) - torch.rand(64, count, generator=torch.Generator().manual_seed(0)) * 1e-6
    assert float(gating.in_parts(gating.divergence, near).min()) >= 0


# `make verify` measures the smaller vocabulary, which needs less memory in every feature, and the other families.
@pytest.mark.parametrize(("name", "vocabulary"), [
    pytest.param("gpt2", 50_257, marks=pytest.mark.verify), ("gpt2", 262_144),
    *(pytest.param(name, 262_144, marks=pytest.mark.verify) for name in ("bert", "t5", "bart"))])
def test_memory_of_a_large_vocabulary(tmp_path: Path, root: Path, name: str, vocabulary: int):
    """At 512 tokens below 1,200 MB more: all logits of 262,144 entries are 537 MB, several times for gates."""
    config, model, numbers, make = ARCHITECTURES[name]
    length = {"gpt2": "n_positions", "t5": "n_positions"}.get(name, "max_position_embeddings")
    folder = made(tmp_path, config, model, {**numbers, length: 512, "vocab_size": vocabulary}, make)
    done = subprocess.run([sys.executable, "-m", "tests.models.foreign_memory", folder, "512"], cwd=root,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    peaks = json.loads(done.stdout)
    assert max(peaks.values()) < 2_000, peaks


@pytest.mark.parametrize(("name", "others"), [("qwen3_next", "1 (linear attention), 2 (linear attention), 3"),
                                              ("qwen3_5", "1 (linear attention), 2 (linear attention), 3"),
                                              ("minimax", "(linear attention)"), ("lfm2", "1 (conv), 3 (conv)"),
                                              ("nemotron_h", "1 (linear attention), 3 (mlp)"),
                                              ("zamba2", "1 (linear attention), 3 (linear attention)")])
def test_a_hybrid_opens_with_its_softmax_layers_and_names_the_others(name: str, others: str):
    lab = lab_of(name)
    (row,) = (i for i, (_, has) in enumerate(lab.layer_types, 1) if has)
    assert lab.shape == {"self": (1, 4)} and len(lab.layer_types) == HYBRIDS[name][2].get("num_hidden_layers")
    remark = hybrid_remark(lab.layer_types)
    assert f"shows layers {row} of {len(lab.layer_types)}." in remark and others in remark
    assert lab_of("llama").layer_types == ()
    changed = models.run(lab, TEXT, models.HeadPlan().gate("self", 0, 1, 0.0))
    assert abs(changed.output.distribution - models.run(lab, TEXT).output.distribution).max() > 1e-4
