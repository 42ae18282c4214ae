"""Cards have the cost and origin of every recipe, released or not; ModelInfo describes a model by type and card."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from tiny import make_model

import models
from models import catalogue
from models.nets.attention import TYPES
from models.nets.transformer import Block
from models.storage import checkpoint
from models.storage.checkpoint import CARD_KEYS, CheckpointError, build, read_card, write_json
from models.tasks import TASKS
from models.training.cards import cost, make_card
from models.training.recipes import RECIPES
from models.training.variants import VARIANTS, part_of_card

UNITS_SHARED, RANK = 128, 8


def multiplications(attention: str, c: int, h: int, n: int, factors: tuple[int, int]) -> int:
    """Returns the multiplications of one layer's scores for one text of n tokens, from the papers' formulas."""
    own = {"dot": 2 * n * c * c + n * n * c,  # two projections, then n² products of c / h numbers in each of h heads
           "random": 0, "fixed-random": 0, "factorized-random": h * n * n * RANK,
           "dense": n * c * c + n * c * n, "factorized-dense": n * c * c + n * c * sum(factors),
           "unit": n * c * UNITS_SHARED + n * n * UNITS_SHARED}
    own |= {"random-dense": own["dense"], "dense-softmax": own["dense"] + own["dot"], "random-softmax": own["dot"]}
    return own.get(attention, own["unit"] if attention.startswith("gau-") else own["dot"])


@pytest.mark.parametrize("name", RECIPES)
def test_cost_by_hand(name: str):
    """The sum of encoder and decoder, whose types can differ; gated units are beside half as many softmax layers."""
    config = RECIPES[name].config
    stacks = [(config.layers, getattr(config, "longest_target", config.trained_length)),
              (getattr(config, "encoder_layers", 0), config.trained_length)]
    factors = {512: (32, 16), 256: (16, 16), 128: (16, 8), 64: (8, 8), 49: (7, 7)}
    found, times = cost(config), 2 if name.endswith("wide") else 1
    halves = 2 if config.attention.startswith("gau-") else 1

    def expected(attention: str) -> int:
        return sum(layers * multiplications(attention, config.width, config.heads, n, factors.get(n, (0, 0)))
                   for layers, n in stacks)

    assert found["score_multiplications"] == times * expected(config.attention)
    assert found["softmax_score_multiplications"] == expected("softmax") // halves
    assert found["softmax_score_parameters"] == sum(layers for layers, _ in stacks) // halves * 2 * config.width**2
    with torch.device("meta"):
        sources = [block.attention.source for block in build(config).modules() if isinstance(block, Block)]
    assert found["score_parameters"] == sum(p.numel() for source in sources for p in source.parameters())


def test_a_card(attention: str, tmp_path: Path):
    """The card of an untrained tiny model has every entry that readers of cards use; only mixtures have alpha."""
    name = "assignment-softmax"
    run = tmp_path / "seed-0"
    run.mkdir()
    (run / "log.txt").write_text("step 50 loss 1.0 rate 1e-3 seconds 60 left 9\nstep 100 loss 1.0 seconds 90 left 0\n")
    (tmp_path / "seed-1").mkdir()
    write_json(tmp_path / "seed-1" / "card.json", {"metric": {"accuracy": 0.5}})
    model = make_model(attention, length=49)
    card = make_card(name, model, TASKS["assignment"].build(), run, 0, {"accuracy": 1.0})
    assert all(key in card for key in CARD_KEYS) and card["name"] == name
    kind = TYPES[attention]
    assert card["attention"] == {"title": kind.title, "formula": kind.formula, "source": kind.published}
    assert card["model"]["parameters"] == sum(p.numel() for p in model.parameters())
    assert card["model"]["longest_text"] == (49 if kind.source_type.is_limited else 128)
    assert card["training"]["minutes"] == 1.5 and card["other_seeds"] == {"1": {"accuracy": 0.5}}
    assert ("alpha" in card) == bool(kind.parts)
    if "alpha" in card:
        assert card["alpha"]["parts"] == list(kind.parts) and len(card["alpha"]["by_layer"]) == 2
        for row in card["alpha"]["by_layer"]:
            assert sum(row) == pytest.approx(1, abs=1e-3) and row != [0.5, 0.5]


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
