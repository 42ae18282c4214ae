"""Models as people bring them, by kind: each opens and answers right, or is refused with the true reason."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from foreign_tiny import TEXT, edit, made, make_tokenizer, picture, roughen, save_tokenizer

import models
from models import HeadPlan
from models.errors import InputError
from models.labs.foreign.lab import ForeignLab
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.reading.classes import ClassReader, NextReader, SpanReader, TokenClassReader
from models.labs.foreign.reading.readers import TextReader
from models.labs.foreign.refusals import ForeignError
from models.prompt import Prompt
from tests.models.foreign_architectures import ARCHITECTURES, ENCODER, SHARED, WORDS

DECODER = {**SHARED, "vocab_size": WORDS["bytes"]}


def opened(folder: Path) -> ForeignLab:
    return open_folder(f"folder:{folder.name}", folder)


def saved(folder: Path, config: Any, architecture: str, head: str = "decoder") -> Path:
    """Writes a model with random weights and a byte-level tokenizer to the folder."""
    torch.manual_seed(0)
    model = getattr(transformers, architecture)(config)
    roughen(model)
    model.save_pretrained(folder)
    save_tokenizer("bytes", head, folder)
    return folder


def bert(folder: Path, architecture: str, **numbers: Any) -> Path:
    return made(folder, "BertConfig", architecture, {**ENCODER, **numbers}, "wordpiece")


# Weights that the model of config.json does not use


@pytest.mark.parametrize("flag", ["attention_bias", "mlp_bias"])
def test_a_flag_that_drops_weights_is_refused(flag: str, tmp_path: Path):
    folder = saved(tmp_path, transformers.LlamaConfig(**DECODER, **{flag: True}), "LlamaForCausalLM")
    opened(folder)
    with pytest.raises(ForeignError, match=r"does not use \d+ weights of the files, for example model\.layers"):
        opened(edit(folder, "config.json", **{flag: False}))


def test_heads_of_other_tasks_are_no_reason_to_refuse(tmp_path: Path):
    assert models.run(opened(bert(tmp_path / "a", "BertForPreTraining")), "The [MASK] sat.").output is not None
    assert opened(bert(tmp_path / "b", "BertForMultipleChoice")).task.title == TextReader.title


# Tokenizers without named special tokens


@pytest.mark.parametrize("text", ["The [cat] sat.", "The [MASK] sat.", "The cat sat. [SEP] The dog sat."])
def test_special_tokens_are_found_by_their_usual_names(text: str, tmp_path: Path):
    expected = models.run(opened(bert(tmp_path, "BertForMaskedLM")), text)
    transformers.PreTrainedTokenizerFast(tokenizer_object=make_tokenizer("wordpiece")).save_pretrained(tmp_path)
    trace = models.run(opened(tmp_path), text)
    around = {"[CLS]", "[SEP]"} if "[SEP]" not in text else set()
    assert trace.tokens == [token for token in expected.tokens if token not in around] or "[SEP]" in text
    assert len(trace.outputs) == len(expected.outputs)


def test_a_masked_model_without_a_mask_token_reads_text_and_says_what_to_set(tmp_path: Path):
    bert(tmp_path, "BertForMaskedLM")
    file = tmp_path / "tokenizer.json"
    file.write_text(file.read_text().replace("[MASK]", "[BLANK]"))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    lab = opened(tmp_path)
    assert "cat" in models.run(lab, "The cat sat.").tokens
    with pytest.raises(InputError, match="set mask_token in tokenizer_config.json"):
        lab.read("The [cat] sat.")


# Names of classes


@pytest.mark.parametrize(("names", "expected"), [
    ({"1": "a", "2": "b", "3": "c"}, ("class 0 (no name)", "a", "b")),
    ({"0": "a", "1": "a", "2": "c"}, ("a (0)", "a (1)", "c")),
    ({"0": 1, "1": 2, "2": None}, ("1", "2", "class 2 (no name)")),
    ({"0": "", "1": " ", "2": "c"}, ("class 0 (no name)", "class 1 (no name)", "c"))])
def test_class_names_with_gaps_equal_and_missing(names: dict[str, Any], expected: tuple[str, ...], tmp_path: Path):
    lab = opened(edit(bert(tmp_path, "BertForSequenceClassification", num_labels=3), "config.json", id2label=names))
    output = models.run(lab, TEXT).output
    assert output is not None and output.names == expected and output.distribution.sum() == pytest.approx(1)


# Heads of tasks


def eager(folder: Path, lab: ForeignLab, prompt: Prompt) -> Any:
    """Returns the output of transformers' own model for the tokens of a text."""
    model = getattr(transformers, lab.task.auto).from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**lab.task.inputs(prompt))


def test_entities_have_a_class_per_token(tmp_path: Path):
    folder = bert(tmp_path, "BertForTokenClassification", id2label={0: "O", 1: "B-PER", 2: "I-PER"})
    lab = opened(folder)
    trace, expected = models.run(lab, TEXT), eager(folder, lab, lab.read(TEXT)).logits[0].softmax(-1)
    assert isinstance(lab.task, TokenClassReader)
    assert [output.position for output in trace.outputs] == list(range(1, len(trace.tokens) - 1))
    for output in trace.outputs:
        torch.testing.assert_close(torch.tensor(output.distribution), expected[output.position])
    assert set(trace.outputs[0].labels) == {"O", "B-PER", "I-PER"}


def test_question_answering_has_the_two_ends_of_the_answer(tmp_path: Path):
    folder = bert(tmp_path, "BertForQuestionAnswering")
    lab, text = opened(folder), "Who sat? [SEP] The cat sat on the mat."
    trace, expected = models.run(lab, text), eager(folder, lab, lab.read(text))
    assert isinstance(lab.task, SpanReader) and not lab.read(text).hint.count("control")
    for output, logits in zip(trace.outputs, (expected.start_logits, expected.end_logits), strict=True):
        torch.testing.assert_close(torch.tensor(output.distribution), logits[0].softmax(-1))
    assert len(set(trace.outputs[0].names)) == len(trace.tokens)  # equal words have their numbers
    assert "Write [SEP]" in lab.read("Who sat?").hint
    gates = {"self": torch.ones(1, 2, 4)}
    prompt = lab.read(text)
    got = lab.gated_log_probabilities(prompt)(gates, prompt.predict_at)[0].exp()
    torch.testing.assert_close(got[1], torch.tensor(trace.outputs[1].distribution))


def test_a_pair_of_sentences_follows_or_not(tmp_path: Path):
    folder = bert(tmp_path, "BertForNextSentencePrediction")
    lab, text = opened(folder), "The cat sat. [SEP] The dog sat."
    output = models.run(lab, text).output
    assert isinstance(lab.task, NextReader) and output is not None
    expected = eager(folder, lab, lab.read(text)).logits[0].softmax(-1)
    torch.testing.assert_close(torch.tensor(output.distribution), expected)


@pytest.mark.parametrize(("architecture", "numbers"), [
    ("BertForMultipleChoice", {}), ("BertForSequenceClassification", {"num_labels": 1}),
    ("BertForSequenceClassification", {"num_labels": 3, "problem_type": "multi_label_classification"})])
def test_a_prediction_that_is_not_shown_is_named(architecture: str, numbers: dict[str, Any], tmp_path: Path):
    lab = opened(bert(tmp_path, architecture, **numbers))
    assert f"The prediction of {architecture} is not shown" in lab.read(TEXT).hint
    assert models.run(lab, TEXT).vectors is not None


# Configs that do not fit, with transformers' own sentence


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"num_hidden_layers": 1}, r"`num_hidden_layers` \(1\) must be equal to the number of `layer_types` \(2\)"),
    ({"num_attention_heads": "4"}, r"'num_attention_heads' expected int, got str \(value: '4'\)"),
    ({"rms_norm_eps": "1e-6"}, "'rms_norm_eps' expected float"), ({"layer_types": ["a", "b"]}, "`layer_types` entries"),
    ({"dtype": "float33"}, "dtype: .*float33"), ({"id2label": ["a"]}, "id2label: "),
    ({"hidden_act": "gelu_fancy"}, "hidden_act: .*'gelu_fancy'"),
    ({"num_attention_heads": 5}, r"the shape \(32, 32\) for .*o_proj.weight, and config.json describes \(32, 40\)"),
    ({"hidden_size": 48}, r"\(384, 32\) for lm_head.weight, and config.json describes \(384, 48\)"),
    ({"vocab_size": 500}, r"\(384, 32\) for lm_head.weight, and config.json describes \(500, 32\)"),
    ({"num_key_value_heads": 3}, r"\(16, 32\) for .*k_proj.weight, and config.json describes \(24, 32\)")],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "")
def test_a_config_that_does_not_fit_is_named_with_field_and_numbers(fields: dict[str, Any], sentence: str,
                                                                    tmp_path: Path):
    folder = edit(saved(tmp_path, transformers.Qwen3Config(**DECODER), "Qwen3ForCausalLM"), "config.json", **fields)
    with pytest.raises(ForeignError, match=sentence) as caught:
        opened(folder)
    assert "Download" not in str(caught.value) and str(tmp_path) not in str(caught.value)


# Architectures


PATCHES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
           "image_size": 16, "patch_size": 4}


def test_a_vision_model_without_a_class_token_opens(tmp_path: Path):
    torch.manual_seed(0)
    model = transformers.IJepaModel(transformers.IJepaConfig(**PATCHES))
    roughen(model)
    model.save_pretrained(tmp_path)
    lab = opened(tmp_path)
    prompt = lab.read_picture(picture())
    assert len(prompt.ids) == 16 and prompt.tokens[0] == "1,1"
    expected = eager(tmp_path, lab, prompt).last_hidden_state[0]
    torch.testing.assert_close(torch.tensor(lab.run(prompt, [HeadPlan()])[0].vectors), expected, rtol=1e-4, atol=1e-4)


T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 384, "pad_token_id": 0,
      "eos_token_id": 3, "decoder_start_token_id": 0}
MLA = {name: number for name, number in DECODER.items() if name not in ("head_dim", "num_key_value_heads")} | {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1, "topk_group": 1,
    "n_shared_experts": 1, "num_key_value_heads": 4}
OPENS: dict[str, Callable[[Path], Path]] = {
    "encoder of T5": lambda folder: saved(folder, transformers.T5Config(**T5), "T5EncoderModel", "both"),
    "decoder of BART": lambda folder: saved(folder, transformers.BartConfig(
        d_model=32, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=2,
        encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=384, max_position_embeddings=64, pad_token_id=0,
        bos_token_id=2, eos_token_id=3), "BartForCausalLM"),
    "sparse choice of keys": lambda folder: saved(folder, transformers.GlmMoeDsaConfig(
        **MLA, index_topk=3, index_n_heads=2, index_head_dim=16), "GlmMoeDsaForCausalLM"),
}


@pytest.mark.parametrize("name", OPENS)
def test_a_gate_of_zero_changes_the_answer_and_a_gate_of_one_does_not(name: str, tmp_path: Path):
    lab = opened(OPENS[name](tmp_path))
    kind = lab.kinds[0].name
    plans = [HeadPlan(), HeadPlan().gate(kind, 0, 0, 1.0), HeadPlan().gate(kind, 0, 0, 0.0)]
    base, same, other = lab.run(lab.read(TEXT), plans)
    values = [trace.vectors if trace.output is None else trace.output.distribution for trace in (base, same, other)]
    assert (values[0] == values[1]).all() and (values[0] != values[2]).any()


# Configs inside configs


NESTED = {**DECODER, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}


def test_the_text_model_of_a_multimodal_encoder_opens_alone(tmp_path: Path):
    config = transformers.EmbeddingGemma2Config(text_config={
        **NESTED, "hidden_size_per_layer_input": 8, "embedding_dim": 16, "global_head_dim": 8,
        "num_global_key_value_heads": 1}, vision_config=None, audio_config=None)
    folder = saved(tmp_path, config, "EmbeddingGemma2Model", "encoder")
    lab = opened(folder)
    prompt = lab.read(TEXT)
    expected = eager(folder, lab, prompt).last_hidden_state[0]
    assert (lab.kinds[0].layers, lab.kinds[0].heads, lab.longest) == (2, 4, None)
    torch.testing.assert_close(torch.tensor(lab.run(prompt, [HeadPlan()])[0].vectors), expected, rtol=1e-4, atol=1e-4)


def test_a_decoder_with_one_softmax_over_two_texts_is_refused_for_that(tmp_path: Path):
    """T5Gemma 2 has its numbers in encoder.text_config, and its decoder attends to 4 + 7 positions at once."""
    text = {**NESTED, "query_pre_attn_scalar": 8}
    config = transformers.T5Gemma2Config(
        encoder={"text_config": text, "vision_config": {**PATCHES, "num_hidden_layers": 1}, "mm_tokens_per_image": 4},
        decoder=dict(text), image_token_index=383)
    with pytest.raises(ForeignError, match="attends from 4 positions to 11"):
        opened(saved(tmp_path, config, "T5Gemma2ForConditionalGeneration", "both"))


@pytest.mark.parametrize("attention", ["local", "transient-global"])
def test_attention_in_blocks_is_refused_for_its_positions(attention: str, tmp_path: Path):
    config = transformers.LongT5Config(**T5, local_radius=5, global_block_size=4, encoder_attention_type=attention)
    with pytest.raises(ForeignError, match="a layer of longt5 attends from 6 positions to 1[89]"):
        opened(saved(tmp_path, config, "LongT5ForConditionalGeneration", "both"))


def test_a_layer_that_our_code_cannot_follow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fails(model: Any, inputs: Any) -> None:
        raise RuntimeError("permute")
    folder = made(tmp_path, *ARCHITECTURES["gptj"])
    monkeypatch.setattr("models.labs.foreign.running.interception.find", fails)
    with pytest.raises(ForeignError, match="in its own code"):
        opened(folder)


# Files of other programs


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json", "tokenizer.json"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_json_of_windows_programs_is_read(file: str, encoding: str, tmp_path: Path):
    bert(tmp_path, "BertForMaskedLM")
    written = (tmp_path / file).read_text().encode(encoding)
    (tmp_path / file).write_bytes(written)
    lab = models.load_folder(tmp_path)
    assert "cat" in models.run(lab, "The cat [sat].").tokens and (tmp_path / file).read_bytes() == written
    assert models.labs.foreign.entry(lab.name).task.title == lab.task.title


def test_a_marked_file_opens_no_way_out_of_the_folder(tmp_path: Path):
    folder = bert(tmp_path / "mine", "BertForMaskedLM")
    (folder / "config.json").write_text((folder / "config.json").read_text(), encoding="utf-8-sig")
    (folder / "tokenizer.json").rename(tmp_path / "tokenizer.json")
    (folder / "tokenizer.json").symlink_to(tmp_path / "tokenizer.json")
    with pytest.raises(ForeignError, match="tokenizer.json leads out of the folder"):
        models.load_folder(folder)


# Labels and hints of texts


def test_an_unknown_word_differs_from_a_typed_unk(tmp_path: Path):
    prompt = opened(bert(tmp_path, "BertForMaskedLM")).read("The [UNK] zebra木 sat.")
    assert prompt.tokens[2] == "[UNK]" and prompt.tokens[3].startswith("[UNK] (")
    assert "“[UNK]” is read as a control token" in prompt.hint and "not in the vocabulary" in prompt.hint


def test_brackets_of_references_are_named_and_can_be_escaped(tmp_path: Path):
    lab = opened(bert(tmp_path, "BertForMaskedLM"))
    assert "Brackets hide “1”, “the mat”" in lab.read("The cat [1] sat on [the mat].").hint
    prompt = lab.read(r"The \[cat\] [sat]")
    assert len(prompt.predict_at) == 1 and "cat" in prompt.tokens and prompt.read_chars == len(r"The \[cat\] [sat]")


def test_line_breaks_of_windows_change_no_answer(tmp_path: Path):
    lab = opened(saved(tmp_path, transformers.LlamaConfig(**DECODER), "LlamaForCausalLM"))
    assert lab.read("Hi.\r\nHi").ids == lab.read("Hi.\nHi").ids == lab.read("Hi.\rHi").ids


CHATS = {"text": "{{ messages[0]['content'] }}", "parts": "{{ messages[0]['content'][0]['text'] }}",
         "system": "{% if messages[0]['role'] != 'system' %}{{ raise_exception('no') }}{% endif %}"
                   "{{ messages[1]['content'] }}"}


@pytest.mark.parametrize("form", CHATS)
def test_the_date_of_a_chat_template_never_changes(form: str, tmp_path: Path):
    saved(tmp_path, transformers.LlamaConfig(**DECODER), "LlamaForCausalLM")
    (tmp_path / "chat_template.jinja").write_text("{{ strftime_now('%d %b %Y') }} user " + CHATS[form] + " answer ")
    lab = opened(tmp_path).in_chat
    prompt = lab.read("Hi there")
    assert "26 Jul 2024" in lab.task.join(prompt.tokens) and "26 Jul 2024" in prompt.hint
    assert "Hi there" in lab.task.join([prompt.tokens[i] for i in range(len(prompt.ids)) if i not in prompt.template])


def test_a_template_that_repeats_the_message_is_not_offered(tmp_path: Path):
    saved(tmp_path, transformers.LlamaConfig(**DECODER), "LlamaForCausalLM")
    (tmp_path / "chat_template.jinja").write_text(CHATS["text"] * 2)
    lab = opened(tmp_path)
    assert lab.in_chat is lab and re.search(r"\w", lab.task.title) and not isinstance(lab.task, ClassReader)
