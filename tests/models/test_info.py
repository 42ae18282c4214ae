"""ModelInfo: the description of a model comes from its attention type and its card."""

import json
import shutil
from pathlib import Path

import pytest

import models
from models import catalogue
from models.nets.attention import TYPES
from models.storage import checkpoint
from models.storage.checkpoint import CheckpointError, read_card
from models.training.variants import VARIANTS, part_of_card


def test_attention_types_have_labels_and_styles_of_their_own():
    labels = [attention.label for attention in TYPES.values()]
    assert all(labels) and len(set(labels)) == len(labels)


def test_a_base_model_is_described_by_its_attention_type():
    info = catalogue.find("stories-log-n")
    assert (info.title, info.label, info.base, info.style) == ("Log n", "log n", "", (2, 2))
    assert info.line == TYPES["log-n"].line


def test_a_variant_is_described_by_its_card():
    info = catalogue.find("translation-pruned-60")
    assert (info.title, info.label, info.base) == ("Softmax · 60 heads left", "60 heads left", "translation-softmax")
    assert catalogue.find("stories-selective-memory").style != catalogue.find("stories-selective").style


@pytest.mark.parametrize("name", sorted({*VARIANTS} & {*models.names()}))
def test_cards_hold_the_descriptions_of_variants(name: str):
    assert read_card(checkpoint.CHECKPOINTS / name)["variant"] == part_of_card(name)["variant"]
    info = catalogue.find(name)
    assert info.base in catalogue.family(name) and not catalogue.find(info.base).base


def test_no_two_models_of_a_family_share_a_title_or_a_label():
    for name in models.names():
        family = [catalogue.find(other) for other in catalogue.family(name)]
        assert len({str(info.title) for info in family}) == len({str(info.label) for info in family}) == len(family)


def test_a_damaged_description_is_a_damaged_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = "stories-softmax-wide"
    shutil.copytree(checkpoint.CHECKPOINTS / name, tmp_path / name, ignore=shutil.ignore_patterns("*.safetensors"))
    path = tmp_path / name / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"variant": {"colours": 1}}))
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
    with pytest.raises(CheckpointError, match="card.json is damaged"):
        catalogue.find(name)
    assert catalogue.describe(name) is None and catalogue.describe("stories-nothing") is None
