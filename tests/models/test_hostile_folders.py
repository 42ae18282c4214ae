"""Folders that would block, fill or kill the process that reads them are refused, each for its own reason."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from foreign_tiny import edit, folder_of

import models
from models.errors import CancelledError, InputError
from models.labs.foreign import model_cache
from models.labs.foreign.opening import child, files
from models.labs.foreign.refusals import REFUSALS, ForeignError

NESTED = "[" * 200_000 + "]" * 200_000


def fifo(file: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / file).unlink(missing_ok=True)
        os.mkfifo(folder / file)
    return change


def link_loop(folder: Path) -> None:
    (folder / "vocab.txt").unlink(missing_ok=True)
    (folder / "vocab.txt").symlink_to("vocab.txt")


def nested(file: str, around: str = "{}") -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / file).write_text(around.replace("{}", NESTED))
    return change


def nested_header(folder: Path) -> None:
    header = NESTED.encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)


def slow_pattern(character: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        pattern = {"type": "Split", "pattern": {"Regex": f"({character}+{character}+)+!"}, "behavior": "Isolated",
                   "invert": False}
        edit(folder, "tokenizer.json", pre_tokenizer=pattern)
    return change


def replacing(pattern: str, content: str, times: int) -> Callable[[Path], None]:
    """Returns a function that writes a tokenizer whose normalizer replaces `pattern` by `content`, `times` times."""
    def change(folder: Path) -> None:
        step = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
        edit(folder, "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [step] * times})
    return change


SLOW = replacing(r"x*x*\d", "", 10_000)


def many_tokens(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    words = content["model"]["vocab"]
    content["model"]["vocab"] = words | {f"w{i}": len(words) + i for i in range(1_000_000)}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    edit(folder, "config.json", vocab_size=52)


def picture(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        shutil.rmtree(folder)
        shutil.copytree(folder_of("vit"), folder)
        edit(folder, "config.json", **changes)
    return change


def edited(**changes: Any) -> Callable[[Path], Path]:
    """Returns a function that edits config.json of the model in a folder."""
    return lambda folder: edit(folder, "config.json", **changes)


HOSTILE: dict[str, tuple[Callable[[Path], object], str, dict[str, Any]]] = {
    "layers": (edited(num_hidden_layers=100_000), "number",
               {"field": "num_hidden_layers", "value": 100_000, "least": 0, "most": 1_000}),
    "experts": (edited(num_hidden_layers=500, num_experts=4_000), "number",
                {"field": "experts", "value": 2_000_000, "least": 0, "most": 20_000}),
    "layers of a part": (edited(text_config={"n_layer": 10**9}), "number",
                         {"field": "n_layer", "value": 10**9, "least": 0, "most": 1_000}),
    "layer types": (edited(layer_types=["full"] * 2_000), "number",
                    {"field": "layer_types", "value": 2_000, "least": 0, "most": 1_000}),
    "width": (edited(vocab_size=10**8), "weights described", {"described": None, "held": None}),
    "patch of nothing": (picture(patch_size=0), "number", {"field": "patch_size", "value": 0, "least": 1, "most": 16}),
    "many patches": (picture(patch_size=1, image_size=4_000), "patches", {"patches": 16_000_000, "most": 2_048}),
    "fifo": (fifo("model.safetensors"), "no file", {"file": "model.safetensors"}),
    "fifo of a tokenizer": (fifo("vocab.txt"), "no file", {"file": "vocab.txt"}),
    "link loop": (link_loop, "link loop", {"file": "vocab.txt"}),
    "nested config": (nested("config.json", '{"model_type": "bert", "x": {}}'), "nested", {"file": "config.json"}),
    "nested tokenizer": (nested("tokenizer.json"), "nested", {"file": "tokenizer.json"}),
    "nested preprocessor": (nested("preprocessor_config.json"), "nested", {"file": "preprocessor_config.json"}),
    "nested index": (nested("model.safetensors.index.json"), "nested", {"file": "model.safetensors.index.json"}),
    "nested header": (nested_header, "nested", {"file": "model.safetensors"}),
    "slow pattern": (slow_pattern("x"), "tokenizer fails", {}),
    "many tokens": (many_tokens, "large tokenizer", {"tokens": None, "rows": 52}),
}


def message(cause: str, values: dict[str, Any], error: ForeignError) -> str:
    """Returns the message of a cause. Values of None are taken from the error."""
    values = {name: error.values[name] if value is None else value for name, value in values.items()}
    return "{}. {}".format(*(text.format(**values) for text in REFUSALS[cause]))


@pytest.mark.parametrize("name", HOSTILE)
def test_each_hostile_folder_has_its_own_reason(name: str, folder: Path):
    change, cause, values = HOSTILE[name]
    change(folder)
    began = time.monotonic()
    with pytest.raises(ForeignError) as caught:
        models.load_folder(folder)
    assert caught.value.cause == cause, str(caught.value)
    assert str(caught.value) == message(cause, values, caught.value)
    assert time.monotonic() - began < child.SECONDS


# on a loaded machine the child process needs some seconds before it reads the tokenizer
@pytest.mark.parametrize(("limit", "seconds"), [("SECONDS", 15), ("PROCESSOR_SECONDS", 5)])
def test_a_file_that_takes_too_long_is_given_up(limit: str, seconds: int, folder: Path,
                                                monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(child, limit, seconds)
    SLOW(folder)
    with pytest.raises(ForeignError, match=rf"reading tokenizer\.json takes more than {seconds} s"):
        models.load_folder(folder)


def test_a_large_file_is_given_up(folder: Path):
    with (folder / "special_tokens_map.json").open("wb") as file:
        file.truncate(4_000_000_000)  # a sparse file takes no space on the disk
    with pytest.raises(ForeignError, match=r"reading special_tokens_map\.json takes more than 2,000 MB"):
        models.load_folder(folder)


def test_a_text_that_grows_without_end_is_given_up(folder: Path):
    replacing("a", "aaaaaaaa", 15)(folder)
    with pytest.raises(ForeignError, match=r"reading tokenizer\.json takes more than 2,000 MB"):
        models.load_folder(folder)


def test_what_ends_the_child_ends_nothing_else():
    """If a child process fails, the cause of the refusal is derived from its exit status and its output."""
    reading = b'{"reading": "tokenizer.json"}\n'
    assert child._problem(0, False, reading, "") is None
    for code, late, out, errors, cause in (
            (-11, False, reading, "", "crash"), (-9, True, reading, "", "slow"), (-24, False, reading, "", "slow"),
            (-6, False, reading, "memory allocation of 9 bytes failed", "memory"),
            (0, False, reading + b'{"refusal": "memory"}\n', "", "memory")):
        problem = child._problem(code, late, out, errors)
        assert problem is not None and problem.cause == cause, (code, problem)
    with pytest.raises(RuntimeError, match="No module"):
        child._problem(1, False, b"", "No module named x")


def test_an_inspection_can_be_cancelled(folder: Path):
    SLOW(folder)
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        models.load_folder(folder, stop.is_set)
    assert time.monotonic() - began < child.SECONDS / 2


def test_a_panic_at_a_typed_text_is_an_error_of_this_text(folder: Path):
    """The inspection of the folder found no problem."""
    slow_pattern("q")(folder)
    lab = models.load_folder(folder)
    with pytest.raises(InputError, match="tokenizer fails on this text"):
        lab.read("q" * 600)
    assert lab.read("The cat sat.").tokens


def test_a_folder_is_inspected_once_and_again_when_it_changes(folder: Path, monkeypatch: pytest.MonkeyPatch):
    calls: list[Path] = []
    inspect = child.inspect
    monkeypatch.setattr(child, "inspect", lambda folder, *rest: (calls.append(folder), inspect(folder, *rest))[1])
    models.load_folder(folder)
    models.load_folder(folder)
    assert calls == [folder.resolve()]
    os.utime(folder / "config.json", ns=(1, 1))
    models.load_folder(folder)
    assert len(calls) == 2


def test_the_models_of_the_hub_are_inspected_too(folder: Path, monkeypatch: pytest.MonkeyPatch):
    snapshot = folder.parent / "models--a--b" / "snapshots" / "main"
    snapshot.parent.mkdir(parents=True)
    shutil.copytree(folder, snapshot)
    edit(snapshot, "config.json", num_hidden_layers=100_000)
    monkeypatch.setattr(model_cache.hub, "estimate", lambda name: name)
    monkeypatch.setattr(model_cache.hub, "download", lambda *given: snapshot)
    with pytest.raises(ForeignError, match="num_hidden_layers in config.json is 100,000"):
        model_cache.load("hf:a/b", lambda done, of: None, lambda: False)


def test_the_child_needs_no_torch():
    """The child process does not import torch, which would double the time and the memory of opening a folder."""
    code = ("import sys; import models.labs.foreign.opening.inspection as i; i._print = lambda **f: None; "
            "from pathlib import Path; p = Path(sys.argv[1]); i.inspect(p, p); print(sys.modules.get('torch'))")
    done = subprocess.run([sys.executable, "-c", code, str(folder_of("bert"))], cwd=child.ROOT, capture_output=True,
                          text=True)
    assert done.stdout.strip() == "None", done.stderr


def test_numbers_of_real_models_pass():
    """The largest published models, and config fields whose names only look like counts."""
    files.check_numbers({"num_hidden_layers": 126, "num_attention_heads": 128, "vocab_size": 128_256})
    files.check_numbers({"num_hidden_layers": 61, "n_routed_experts": 256, "moe_intermediate_size": 2_048})
    files.check_numbers({"image_size": 518, "patch_size": 14, "num_hidden_layers": 40})
    files.check_numbers({"vision_config": {"image_size": [512, 512], "patch_size": [16, 16]}, "layer_norm_eps": 1e-5,
                           "shared_expert_intermediate_size": 20_480, "attention_head_size": 8_192,
                           "vision_feature_layer": -2, "block_size": 8_192, "depths": [2, 2, 18, 2]})
