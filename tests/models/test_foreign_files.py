"""Tests of model folders that may be opened; test_foreign_refusals.py has the reason of each refusal."""

from pathlib import Path

import pytest
from foreign_tiny import TEXT, edit, folder_of, lab_of

import models
from models import catalogue
from models.labs.foreign.errors import ForeignError
from models.labs.foreign.opening.folder import open_folder


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
    """Python code in a model's folder is never run, whether or not transformers has the model type."""
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
