"""Tests of model folders: which folders may be opened, and the reason of each refusal."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from foreign_tiny import TEXT, folder_of, lab_of

import models
from models import catalogue
from models.labs.foreign.errors import ForeignError
from models.labs.foreign.opening.folder import open_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with a model that can be opened."""
    return Path(shutil.copytree(folder_of("bert"), tmp_path / "bert"))


def edit(folder: Path, file: str, **changes: Any) -> None:
    content = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**content, **changes}))


def refused(folder: Path, reason: str) -> None:
    """Asserts that the folder is refused with this reason, and that the message contains no path of the machine."""
    with pytest.raises(ForeignError, match=reason) as caught:
        models.load_folder(folder)
    assert str(folder.parent) not in str(caught.value) and "Traceback" not in str(caught.value)


def test_a_folder_opens(folder: Path):
    lab = models.load_folder(str(folder))
    assert lab.name == "folder:bert" and models.run(lab, TEXT).weights["self"].shape[:2] == (2, 4)
    entry = catalogue.find("folder:bert")
    assert (entry.kinds, entry.limit, entry.trained_length) == (lab.kinds, lab.limit, lab.trained_length)
    assert "folder:bert" in catalogue.family("folder:bert")


def test_no_folder_and_no_config(tmp_path: Path, folder: Path):
    refused(tmp_path / "nothing", "no such folder")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no config.json")
    (folder / "config.json").write_text("{")
    refused(folder, "config.json cannot be read")


def test_weights_as_pickle(folder: Path):
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    refused(folder, "are a pickle file")
    (folder / "pytorch_model.bin").unlink()
    refused(folder, "no weights")


def test_weights_that_are_damaged_or_do_not_fit(folder: Path):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:1000])
    refused(folder, "file of its weights is damaged")
    (folder / "model.safetensors").write_bytes(whole)
    edit(folder, "config.json", hidden_size=64)
    refused(folder, "its files have the shape .* and config.json describes")


@pytest.mark.parametrize("around", ["{}", "'{}'", " “{}” ", "file://{}", "{}/config.json", "{}/"])
def test_a_pasted_path_opens_its_folder(around: str, folder: Path):
    assert models.load_folder(around.format(folder)) is models.load_folder(folder)


def test_weights_that_are_not_there(folder: Path):
    edit(folder, "config.json", num_hidden_layers=3)
    refused(folder, "lack .* weights")


def test_an_index_that_leads_elsewhere(folder: Path):
    (folder / "model.safetensors").rename(folder.parent / "model.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    refused(folder, "leads out")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "part.safetensors"}}))
    refused(folder, "part.safetensors is missing")


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_link_out_of_the_folder(folder: Path, file: str):
    (folder / file).rename(folder.parent / file)
    (folder / file).symlink_to(folder.parent / file)
    refused(folder, f"{file} leads out")


def test_a_tokenizer_that_leads_elsewhere(folder: Path):
    (folder.parent / "words.txt").write_text("secret")
    edit(folder, "tokenizer_config.json", vocab_file="../words.txt")
    refused(folder, "tokenizer_config.json leads out")


def test_no_tokenizer(folder: Path):
    for path in folder.glob("tokenizer*"):
        path.unlink()
    refused(folder, "no tokenizer")
    (folder / "vocab.txt").write_text("")
    refused(folder, "its tokenizer has no tokens|cannot be read")


def test_code_of_its_own_is_never_run(folder: Path):
    """Python code in a model's folder is never run, whether or not transformers has the model type."""
    (folder / "evil.py").write_text("raise SystemExit('this ran')")
    edit(folder, "config.json", model_type="evil", auto_map={"AutoConfig": "evil.Config", "AutoModel": "evil.Model"})
    refused(folder, "no type 'evil', and the model's own code is never run")
    edit(folder, "config.json", model_type="bert")
    models.load_folder(folder)


def test_what_is_no_whole_model(folder: Path):
    (folder / "adapter_config.json").write_text("{}")
    refused(folder, "adapter")
    (folder / "adapter_config.json").unlink()
    edit(folder, "config.json", quantization_config={"quant_method": "gptq", "bits": 4})
    refused(folder, "quantised")


def test_transformers_waits_until_it_is_asked_for(root: Path):
    """Listing model names and loading a released model do not import transformers."""
    code = ("import sys, models; models.load('stories-softmax'); models.names(); "
            "print([m for m in ('transformers', 'huggingface_hub') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_an_opened_model_is_in_evaluation_mode_without_gradients():
    lab = lab_of("bert")
    assert not lab.model.training and not any(p.requires_grad for p in lab.model.parameters())
    assert open_folder("x", folder_of("bert")).name == "x"
