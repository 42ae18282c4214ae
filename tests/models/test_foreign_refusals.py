"""Folders that may be opened, and every refusal in models/labs/foreign/refusals.py, provoked by a tiny model."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from foreign_tiny import TEXT, edit, folder_of, lab_of, made
from test_hostile_folders import HOSTILE, edited

import models
from models import catalogue
from models.labs.foreign import model_cache
from models.labs.foreign.opening.folder import open_folder
from models.labs.foreign.refusals import REFUSALS, ForeignError
from models.labs.foreign.running import interception
from tests.models.foreign_architectures import SHARED

HUB = {"no id", "not allowed", "gated", "no repository", "no revision", "hub file missing", "hub damaged",
       "hub page", "hub error", "unreachable", "too large"}  # the causes that test_foreign_hub.py provokes
PARTS = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 32}


def other(kind: str, auto: str = "AutoModel", **numbers: Any) -> Callable[[Path], Path]:
    """Returns a function that replaces the model in a folder by another model type with random weights."""
    def change(folder: Path) -> Path:
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(kind, **numbers)
        (folder / "model.safetensors").unlink()
        model = getattr(transformers, auto).from_config(config)
        for parameter in model.parameters():
            parameter.data.normal_(0, 0.3)
        model.save_pretrained(folder)
        return folder
    return change


def without(*files: str) -> Callable[[Path], Path]:
    def change(folder: Path) -> Path:
        for file in files:
            for path in folder.glob(file):
                path.unlink()
        return folder
    return change


def pickled(folder: Path) -> Path:
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    return folder


def written(file: str, content: str) -> Callable[[Path], Path]:
    def change(folder: Path) -> Path:
        (folder / file).write_text(content)
        return folder
    return change


def index(**files: str) -> Callable[[Path], Path]:
    """Returns a function that replaces the weights in a folder by an index of several weight files."""
    def change(folder: Path) -> Path:
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
        return folder
    return change


def linked_out(file: str) -> Callable[[Path], Path]:
    def change(folder: Path) -> Path:
        (folder / file).rename(folder.parent / file)
        (folder / file).symlink_to(folder.parent / file)
        return folder
    return change


def cut(folder: Path) -> Path:
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
    return folder


def tokenizer_outside(folder: Path) -> Path:
    (folder.parent / "words.txt").write_text("secret")
    edit(folder, "tokenizer_config.json", vocab_file="../words.txt")
    return folder


def spoiled(value: float, layer: str) -> Callable[[Path], Path]:
    def change(folder: Path) -> Path:
        shutil.rmtree(folder)

        def spoil(model: Any) -> None:
            dict(model.named_parameters())[layer].view(-1)[0] = value
        return made(folder, "LlamaConfig", "LlamaForCausalLM", SHARED, "pieces", spoil)
    return change


def words_only(kind: str) -> Callable[[Path], Path]:
    """Returns a function that replaces the tokenizer by an empty vocabulary or a damaged tokenizer.json."""
    def change(folder: Path) -> Path:
        without("tokenizer*")(folder)
        if kind == "empty":
            (folder / "vocab.txt").write_text("")
        else:
            (folder / "tokenizer.json").write_text("{")
        return folder
    return change


CASES: list[tuple[str, Callable[[Path], Path]]] = [
    ("no folder", lambda folder: folder.parent / "nothing"),
    ("no config", without("config.json")),
    ("config unreadable", written("config.json", "{")),
    ("config damaged", edited(hidden_size="wide")),
    ("config unfit", edited(hidden_size=64)),
    ("weights unused", edited(num_hidden_layers=1)),
    ("pointer", written("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")),
    ("package", written("config.json", json.dumps({"model_type": "timm_wrapper", "architecture": "resnet18",
                                                   "architectures": ["TimmWrapperModel"]}))),
    ("several resolutions", other("swin", embed_dim=8, depths=[1, 1], num_heads=[2, 4], window_size=2, image_size=16,
                                  patch_size=2)),
    ("unknown type", edited(model_type="evil")),
    ("own code", edited(model_type="evil", auto_map={"AutoModel": "evil.Model"})),
    ("quantised", edited(quantization_config={"quant_method": "gptq", "bits": 4})),
    *(("outside", linked_out(file)) for file in ("model.safetensors", "tokenizer.json", "config.json")),
    ("outside", index(a="../model.safetensors")),
    ("tokenizer outside", tokenizer_outside),
    ("adapter", written("adapter_config.json", "{}")),
    ("pickle", pickled),
    ("no weights", without("model.safetensors")),
    ("file missing", index(a="part.safetensors")),
    ("index damaged", index()),
    ("unreadable", written("tokenizer_config.json", "{")),
    ("weights damaged", written("model.safetensors", "not tensors")),
    ("weights damaged", cut),
    ("weights missing", edited(num_hidden_layers=3)),
    *(("not finite", spoiled(float(value), "model.layers.0.mlp.up_proj.weight")) for value in ("nan", "inf")),
    ("computes no numbers", spoiled(3e38, "model.layers.0.input_layernorm.weight")),
    ("no tokenizer", without("tokenizer*")),
    ("empty tokenizer", words_only("empty")),
    ("tokenizer unreadable", words_only("damaged")),
    ("sound", other("whisper", d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                    decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, vocab_size=384, pad_token_id=0,
                    bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)),
    ("several inputs", other("clip", text_config={**PARTS, "vocab_size": 384},
                             vision_config={**PARTS, "image_size": 16, "patch_size": 8})),
    ("another task", edited(model_type="bart", architectures=["BartForSequenceClassification"])),
    ("no heads", other("mamba", "AutoModelForCausalLM", hidden_size=32, num_hidden_layers=2, vocab_size=384,
                       state_size=4)),
    ("no heads", other("rwkv", "AutoModelForCausalLM", hidden_size=32, num_hidden_layers=2, vocab_size=384)),
    ("approximation", other("fnet", "AutoModelForMaskedLM", hidden_size=32, num_hidden_layers=2, intermediate_size=48,
                            vocab_size=160)),
    ("pictures of no fixed size", other("resnet", "AutoModelForImageClassification", embedding_size=8,
                                        hidden_sizes=[8, 8], depths=[1, 1])),
    ("pictures of no fixed size", other("siglip2_vision_model", **PARTS, num_patches=16, patch_size=4)),
]


def pattern(cause: str) -> str:
    """Returns a regular expression that matches the message of a cause with any values."""
    parts = re.split(r"\{[^}]+\}", ". ".join(REFUSALS[cause]))
    return ".+".join(map(re.escape, parts))


@pytest.mark.parametrize(("cause", "change"), CASES, ids=[f"{i}-{cause}" for i, (cause, _) in enumerate(CASES)])
def test_a_refusal_tells_its_reason_and_what_to_do(cause: str, change: Callable[[Path], Path], folder: Path):
    """The message has reason and remedy, and no path of the machine, class name or stack trace."""
    with pytest.raises(ForeignError) as caught:
        models.load_folder(change(folder))
    message = str(caught.value)
    assert re.fullmatch(pattern(cause), message), message
    assert str(folder.parent) not in message and "Traceback" not in message
    # names of weights and of these architectures are allowed
    names = re.sub(r"[\w.]+\.(weight|bias)|DINOv2|ViT", "", message)
    assert not re.search(r"[a-z][A-Z]|Error|Interface", names), message


def test_attention_code_without_a_softmax_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interception, "find", lambda model, inputs: interception.Found({}, True))
    with pytest.raises(ForeignError, match=pattern("own attention")):
        open_folder("tiny:gptj", folder_of("gptj"))


def test_a_link_to_a_folder_that_was_not_opened():
    with pytest.raises(ForeignError, match=pattern("folder unknown")):
        model_cache.load("folder:never-opened", lambda done, of: None, lambda: False)


def test_every_cause_is_provoked():
    """By this file or one of `elsewhere`."""
    elsewhere = {"hosted", "folder unknown", "own attention", "slow tokenizer", "does not run", "no softmax layer",
                 "other keys", "uneven heads", "more than softmax", "history", "slow", "memory", "crash"}
    hostile = {cause for _, cause, _ in HOSTILE.values()}
    assert {cause for cause, _ in CASES} | HUB | hostile | elsewhere == set(REFUSALS)


@pytest.mark.verify
def test_the_page_of_architectures_is_written_by_its_command():
    from tests.architectures import FILE, document
    assert FILE.read_text(encoding="utf-8") == document()


def test_the_tools_of_some_architectures_are_those_of_the_page():
    """One per form of refusal or body, and a hybrid; `pytest -m verify` walks over all of them."""
    from tests.architectures import FILE, tool_rows
    page = FILE.read_text(encoding="utf-8")
    for row in tool_rows(["deberta", "bloom", "opt", "gemma3_text", "lfm2"]):
        assert row in page.splitlines()


def test_the_page_of_architectures_lists_every_cause():
    from tests.architectures import FILE
    page = FILE.read_text(encoding="utf-8")
    assert all(f"| {reason} | {remedy} |" in page for reason, remedy in REFUSALS.values())


def test_a_folder_opens(folder: Path):
    lab = models.load_folder(str(folder))
    assert lab.name == "folder:bert" and models.run(lab, TEXT).weights["self"].shape[:2] == (2, 4)
    entry = catalogue.find("folder:bert")
    assert (entry.kinds, entry.limit, entry.trained_length) == (lab.kinds, lab.limit, lab.trained_length)
    assert "folder:bert" in catalogue.family("folder:bert")


@pytest.mark.parametrize("around", ["{}", "'{}'", " “{}” ", "file://{}", "folder:{}", "{}/config.json", "{}/",
                                    "{}/model.safetensors", "file://{}/tokenizer.json", "file://localhost{}"])
def test_a_pasted_path_opens_its_folder(around: str, folder: Path):
    folder = folder.rename(folder.parent / "two words")
    written = folder.as_posix().replace(" ", "%20") if "file:" in around else str(folder)
    assert models.load_folder(around.format(written)) is models.load_folder(folder)


def test_code_of_its_own_is_never_run(folder: Path):
    """Whether or not transformers has the model type."""
    (folder / "evil.py").write_text("raise SystemExit('this ran')")
    edit(folder, "config.json", model_type="evil", auto_map={"AutoConfig": "evil.Config", "AutoModel": "evil.Model"})
    with pytest.raises(ForeignError, match="no type 'evil', and the model's own code is never run"):
        models.load_folder(folder)
    edit(folder, "config.json", model_type="bert")
    models.load_folder(folder)


def test_an_opened_model_is_in_evaluation_mode_without_gradients():
    lab = lab_of("bert")
    assert not lab.model.training and not any(p.requires_grad for p in lab.model.parameters())
    assert open_folder("x", folder_of("bert")).name == "x"
