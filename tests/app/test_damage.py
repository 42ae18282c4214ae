"""Damaged files: the page names the file and a command that restores it; other models and pages still work."""

import json
import shutil
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.server import caches
from models import catalogue, loading
from models.storage import checkpoint
from models.tasks import stories
from studies import claims, seeds, store
from tests.app.test_pages import all_sent, opened, sent

DAMAGED, SOUND = "stories-selective", "stories-softmax"
OTHER_FAMILY = "assignment-softmax"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies the files that the pages read, with three models, and clears all caches. Returns the copy's folder."""
    root = tmp_path / "models"
    for name in (DAMAGED, SOUND, OTHER_FAMILY):
        shutil.copytree(checkpoint.CHECKPOINTS / name, root / "checkpoints" / name)
    shutil.copytree(store.MEASUREMENTS, root / "studies" / "measurements")
    shutil.copytree(seeds.SEEDS, root / "studies" / "seed_metrics")
    (root / "tasks").mkdir()
    shutil.copy(stories.TOKENIZER, root / "tasks")
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", root / "checkpoints")
    monkeypatch.setattr(store, "CHECKPOINTS", root / "checkpoints")
    monkeypatch.setattr(store, "MEASUREMENTS", root / "studies" / "measurements")
    monkeypatch.setattr(seeds, "SEEDS", root / "studies" / "seed_metrics")
    (root / "studies" / "claims").mkdir()
    shutil.copy(claims.VERDICTS, root / "studies" / "claims")
    monkeypatch.setattr(claims, "VERDICTS", root / "studies" / "claims" / claims.VERDICTS.name)
    monkeypatch.setattr(stories, "TOKENIZER", root / "tasks" / stories.TOKENIZER.name)
    loaded = loading._held
    monkeypatch.setattr(loading, "_held", OrderedDict())
    _forget()
    yield root
    _forget()
    loaded.clear()  # these models have readers that `reader_named` has forgotten


def _forget() -> None:
    catalogue.reader_named.cache_clear()
    catalogue._find.cache_clear()
    for cached in caches.kept.values():
        cached.cache_clear()


def edited(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
    return damage


def without(*keys: str) -> Callable[[Path], None]:
    """Returns a function that removes the value at this path of keys from a JSON file."""
    def change(value: Any) -> Any:
        place = value
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]
        return value
    return edited(change)


def flipped(path: Path) -> None:
    """Inverts 64 bytes in the middle of a file of weights."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle:middle + 64] = bytes(byte ^ 0xff for byte in content[middle:middle + 64])
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


CONFIG, CARD = (f"checkpoints/{DAMAGED}/{name}.json" for name in ("config", "card"))
MODEL = [  # files without which the model cannot be opened
    (f"checkpoints/{DAMAGED}/model.safetensors", flipped), (f"checkpoints/{DAMAGED}/constant.safetensors", flipped),
    (CONFIG, edited(lambda config: config | {"attention": ["softmax"]})),
    (CONFIG, edited(lambda config: config | {"layers": "4"})), (CONFIG, edited(lambda config: config | {"heads": 0})),
    (CONFIG, edited(lambda config: config | {"heads": 7})), (CARD, cut), (CARD, edited(lambda card: [card])),
]
TOKENIZER = [(f"tasks/{stories.TOKENIZER.name}", damage) for damage in (
    Path.unlink, cut, lambda path: path.write_text("{}"), lambda path: path.write_bytes(b"\xff\xfe"))]


@pytest.mark.parametrize(("file", "damage"), MODEL)
def test_a_damaged_model_is_named_and_the_others_go_on(file: str, damage: Callable[[Path], None], house: Path):
    damage(house / file)
    app = opened(page="lab", model=DAMAGED)
    assert not app.exception
    messages = "".join([*(error.value for error in app.error), *(
        problem for header, _arrays in all_sent(app, "lab") for problem in header["problems"])])
    assert Path(file).name in messages.replace("\\", "") and "git checkout" in messages
    app = opened(model=SOUND, lab="all.second", **{"with": DAMAGED})
    assert not app.exception and not app.error
    shown = json.dumps(sent(app, "lab")[0])
    # a model with a damaged card or config belongs to no family
    assert "json" in file or Path(file).name in shown and "git checkout" in shown
    sound = opened(model=SOUND)
    assert not sound.exception and not sound.error and sent(sound, "lab")[0]["answer"]["rows"]
    about = opened(page="about", model=SOUND)
    assert not about.exception


def test_a_damaged_model_of_the_start_page_is_named(house: Path):
    flipped(house / "checkpoints" / DAMAGED / "model.safetensors")
    app = opened(page="start")
    assert not app.exception
    (error,) = app.error
    assert DAMAGED in error.value.replace("\\", "") and "git checkout" in error.value


@pytest.mark.parametrize(("file", "damage"), TOKENIZER)
def test_a_damaged_tokenizer_stops_its_own_families_only(file: str, damage: Callable[[Path], None], house: Path):
    damage(house / file)
    for page in ("lab", "start"):
        app = opened(page=page, model=SOUND)
        assert not app.exception
        (error,) = app.error
        assert "stories_tokenizer.json" in error.value.replace("\\", "") and "git checkout" in error.value
    other = opened(model=OTHER_FAMILY)
    assert not other.exception and not other.error and sent(other, "lab")[0]["answer"]["rows"]
    for page in ("about", "results", "yours"):
        app = opened(page=page, model=OTHER_FAMILY)
        assert not app.exception and not app.error


@pytest.mark.parametrize("keys", [("attention", "title"), ("attention", "formula"), ("model", "parameters"),
                                  ("cost", "score_parameters"), ("cost",), ("training", "minutes"), ("licence",),
                                  ("metric", "perplexity")])
def test_a_card_without_a_displayed_field_is_named(keys: tuple[str, ...], house: Path):
    without(*keys)(house / CARD)
    about = opened(page="about", model=SOUND)
    assert not about.exception
    (problem,) = sent(about, "guide")[0]["problems"]
    assert f"{DAMAGED}/card.json" in problem and "git checkout" in problem
    own = opened(model=DAMAGED, lab="all.card")
    assert not own.exception and not own.error
    assert "card.json" in sent(own, "lab")[0]["tool"]["message"]
    assert sent(own, "lab")[0]["answer"]["rows"]  # the damaged file does not affect the model's own predictions


LENGTH, MEMORY = (f"studies/measurements/{DAMAGED}.{kind}.json" for kind in ("length", "memory"))


@pytest.mark.parametrize(("file", "damage"), [
    (LENGTH, cut), (LENGTH, without("readings")), (LENGTH, edited(lambda found: found | {"readings": {}})),
    (LENGTH, edited(lambda found: found | {"readings": {"trained": {"many": {}}}})), (LENGTH, without("metric")),
    (MEMORY, cut), (MEMORY, without("points")), (MEMORY, edited(lambda found: found | {"points": []})),
    (MEMORY, edited(lambda found: found | {"points": [{"factor": 1}]})), (MEMORY, without("comparisons"))])
def test_a_damaged_measurement_is_named_where_it_is_shown(file: str, damage: Callable[[Path], None], house: Path):
    damage(house / file)
    app = opened(model=DAMAGED, lab={LENGTH: "all.length", MEMORY: "all.memory"}[file])
    assert not app.exception and not app.error
    header = sent(app, "lab")[0]
    message = header["tool"]["message"]
    assert Path(file).name in message and "python -m" in message
    assert "git checkout -- studies/measurements" in message and header["answer"]["rows"]


@pytest.mark.parametrize("damage", [cut, lambda path: path.write_text("{}"), lambda path: path.write_text("[1]"),
                                    edited(lambda claims: [claims[0] | {"title": 1}, *claims[1:]]), Path.unlink,
                                    edited(lambda claims: [claims[0] | {"more": ""}, *claims[1:]])])
def test_damaged_verdicts_are_named(damage: Callable[[Path], None], house: Path):
    damage(house / "studies/claims/verdicts.json")
    app = opened(page="results", model=OTHER_FAMILY)
    assert not app.exception
    (error,) = app.error
    message = error.value.replace("\\", "")
    assert "git checkout -- studies/claims/verdicts.json" in message
    assert "python -m studies.claims --write" in message


def test_heads_that_cannot_be_read_are_named(house: Path):
    (house / "studies" / "measurements" / f"{SOUND}.heads.json").write_text("{")
    for tool in ("head.corpus", "all.order", "all.find"):
        app = opened(model=SOUND, lab=tool)
        assert not app.exception and not app.error
        assert f"{SOUND}.heads.json" in sent(app, "lab")[0]["tool"]["message"]
