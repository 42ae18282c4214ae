"""What may be opened and what is refused, with the reason: folders, the Hub (its functions replaced: nothing here needs
a network), what a host allows, and how many models are held.

    pytest tests/models/test_foreign_files.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2 as httpx
import huggingface_hub
import pytest
import torch
import transformers
from foreign_tiny import TEXT, folder_of, lab_of
from huggingface_hub import errors

import models
from models import catalogue
from models.foreign import hub, shelf
from models.foreign.errors import CancelledError, ForeignError
from models.foreign.hub import HOSTED, LOCAL, Access
from models.foreign.opening import open_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model that can be opened."""
    return Path(shutil.copytree(folder_of("bert"), tmp_path / "bert"))


def edit(folder: Path, file: str, **changes: Any) -> None:
    said = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**said, **changes}))


def refused(folder: Path, reason: str) -> None:
    """The folder is not opened, and no message names a path of the machine."""
    with pytest.raises(ForeignError, match=reason) as caught:
        models.load_folder(folder)
    assert str(folder.parent) not in str(caught.value) and "Traceback" not in str(caught.value)


def test_a_folder_opens(folder: Path):
    lab = models.load_folder(str(folder))
    assert lab.name == "folder:bert" and models.run(lab, TEXT).weights["self"].shape[:2] == (2, 4)
    entry = catalogue.find("folder:bert")
    assert (entry.kinds, entry.limit, entry.trained_length) == (lab.kinds, lab.limit, lab.trained_length)
    assert catalogue.family("folder:bert") == ["folder:bert"]


def test_no_folder_and_no_config(tmp_path: Path, folder: Path):
    refused(tmp_path / "nothing", "no such folder")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "no config.json")
    (folder / "config.json").write_text("{")
    refused(folder, "config.json cannot be read")


def test_weights_as_pickle(folder: Path):
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    refused(folder, "only there as pickle")
    (folder / "pytorch_model.bin").unlink()
    refused(folder, "no weights")


def test_weights_that_are_damaged_or_do_not_fit(folder: Path):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:1000])
    refused(folder, "weights cannot be read")
    (folder / "model.safetensors").write_bytes(whole)
    edit(folder, "config.json", hidden_size=64)
    refused(folder, "weights cannot be read")


def test_weights_that_are_not_there(folder: Path):
    edit(folder, "config.json", num_hidden_layers=3)
    refused(folder, "lack .* of its weights")


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
    refused(folder, "knows no words|cannot be read")


def test_code_of_its_own_is_never_run(folder: Path):
    """Neither for a type that transformers does not know, nor for one that it does."""
    (folder / "evil.py").write_text("raise SystemExit('this ran')")
    edit(folder, "config.json", model_type="evil", auto_map={"AutoConfig": "evil.Config", "AutoModel": "evil.Model"})
    refused(folder, "no model of type 'evil' and its code would have to run")
    edit(folder, "config.json", model_type="bert")
    models.load_folder(folder)


def test_what_is_no_whole_model(folder: Path):
    (folder / "adapter_config.json").write_text("{}")
    refused(folder, "adapter")
    (folder / "adapter_config.json").unlink()
    edit(folder, "config.json", quantization_config={"quant_method": "gptq", "bits": 4})
    refused(folder, "quantised")


NUMBERS = {"vocab_size": 384, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
           "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64}
ELSE = {  # attention of other kinds -> what is said
    "mamba": ({"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 384, "state_size": 4}, "does not say how many"),
    "rwkv": ({"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 384}, "does not say how many"),
    "xlnet": ({"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48, "vocab_size": 384}, "does not run through"),
    "bloom": ({"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 384}, "cannot be|does not run|does more"),
    "gpt_oss": ({**NUMBERS, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 4},
                "does more than a softmax|cannot be"),
    "lfm2": ({**NUMBERS, "layer_types": ["conv", "full_attention"]}, "only 1 of the 2 layers"),
}


@pytest.mark.parametrize("kind", ELSE)
def test_other_attention_is_refused(kind: str, tmp_path: Path):
    """Linear, recurrent, with sinks, or of a kind that nothing here knows."""
    numbers, reason = ELSE[kind]
    config = transformers.AutoConfig.for_model(kind, **numbers)
    torch.manual_seed(0)
    shutil.copytree(folder_of("gpt2"), tmp_path / kind)
    (tmp_path / kind / "model.safetensors").unlink()
    auto = transformers.AutoModelForCausalLM.from_config(config)
    for parameter in auto.parameters():
        parameter.data.normal_()
    auto.save_pretrained(tmp_path / kind)
    refused(tmp_path / kind, reason)


# The Hub.

FILES = {"config.json": 700, "tokenizer.json": 5000, "model.safetensors": 400_000, "pytorch_model.bin": 400_000,
         "onnx/model.onnx": 900_000, "README.md": 100}


class Hub:
    """The Hub's functions with a model that lies in a folder here."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, files: dict[str, int] | None = None) -> None:
        self.folder, self.files, self.fetched, self.error = folder, files or FILES, [], None
        self.total: int | None = 100_000
        self.tokens: set[Any] = set()
        patch.setattr(huggingface_hub, "model_info", self.model_info)
        patch.setattr(huggingface_hub, "hf_hub_download", self.download)
        patch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repo, file: None)
        patch.setattr(shelf, "_shelf", shelf.Shelf(lambda: LOCAL.held_bytes))

    def model_info(self, repo: str, *, files_metadata: bool, timeout: float, token: Any) -> Any:
        self.tokens.add(token)
        if self.error:
            raise self.error
        assert files_metadata and timeout
        return SimpleNamespace(sha="c0ffee", safetensors=SimpleNamespace(total=self.total) if self.total else None,
                               siblings=[SimpleNamespace(rfilename=n, size=s) for n, s in self.files.items()])

    def download(self, repo: str, file: str, *, revision: str, token: Any, tqdm_class: Any = None) -> str:
        self.tokens.add(token)
        assert revision == "c0ffee"
        self.fetched.append(file)
        if tqdm_class is not None:
            bar = tqdm_class(total=self.files[file])
            for _ in range(4):
                bar.update(self.files[file] // 4)
        return str(self.folder / file)


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    snapshot = tmp_path / "models--org--tiny" / "snapshots" / "c0ffee"
    shutil.copytree(folder_of("bert"), snapshot)
    return Hub(monkeypatch, snapshot)


def test_a_model_of_the_hub(net: Hub):
    told: list[tuple[int, int]] = []
    lab = models.foreign.load("hf:org/tiny", progress=lambda done, of: told.append((done, of)))
    assert lab.name == "hf:org/tiny" and models.load("hf:org/tiny") is lab
    assert models.run(lab, TEXT).weights["self"].shape[:2] == (2, 4)
    assert set(net.fetched) == {"config.json", "tokenizer.json", "model.safetensors"}  # no pickle, nothing else
    whole = 700 + 5000 + 400_000
    assert told == sorted(told) and told[-1] == (whole, whole) and len(told) > 6


def test_size_before_loading(net: Hub):
    found = hub.estimate("hf:org/tiny")
    assert (found.download, found.memory, found.revision) == (405_700, 400_000, "c0ffee")
    assert net.fetched == ["config.json"]
    net.total = None  # the Hub does not know: by the file's size and the config's type
    assert hub.estimate("hf:org/tiny").memory == 400_000
    edit(net.folder, "config.json", dtype="bfloat16")
    assert hub.estimate("hf:org/tiny").memory == 800_000


def test_a_download_is_cancelled(net: Hub):
    with pytest.raises(CancelledError):
        models.foreign.load("hf:org/tiny", cancelled=lambda: True)
    stop = iter([False, False, False, True])
    with pytest.raises(CancelledError):
        models.foreign.load("hf:org/tiny", cancelled=lambda: next(stop, True))
    assert "model.safetensors" not in net.fetched
    assert models.foreign.load("hf:org/tiny").name == "hf:org/tiny"  # and asked for again, it comes


def answer(status: int) -> Any:
    return httpx.Response(status, request=httpx.Request("GET", "https://huggingface.co/api/models/org/tiny"))


WRONG = {  # what the Hub's library raises -> what is said
    "unknown": (lambda: errors.RepositoryNotFoundError("no", response=answer(404)), "there is no org/tiny on the Hub"),
    "private": (lambda: errors.HfHubHTTPError("no", response=answer(401)), "or it is private"),
    "gated": (lambda: errors.GatedRepoError("no", response=answer(403)), "gated"),
    "offline": (lambda: errors.OfflineModeIsEnabled("off"), "cannot be reached"),
    "no network": (lambda: httpx.ConnectError("no"), "cannot be reached"),
    "slow": (lambda: httpx.ReadTimeout("slow"), "cannot be reached"),
    "broken": (lambda: errors.HfHubHTTPError("oops", response=answer(500)), "answers with an error"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_goes_wrong_at_the_hub(net: Hub, case: str):
    make, reason = WRONG[case]
    net.error = make()
    with pytest.raises(ForeignError, match=reason):
        models.load("hf:org/tiny")


def test_without_network_what_was_fetched_opens(net: Hub, monkeypatch: pytest.MonkeyPatch):
    net.error = httpx.ConnectError("no")
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repo, file: str(net.folder / file))
    assert models.load("hf:org/tiny").name == "hf:org/tiny"


def test_hub_models_that_cannot_be_opened(net: Hub):
    net.files = {"config.json": 1, "pytorch_model.bin": 9}
    with pytest.raises(ForeignError, match="only as pickle"):
        models.load("hf:org/tiny")
    net.files = {"model.safetensors": 9}
    with pytest.raises(ForeignError, match="no config.json"):
        models.load("hf:org/tiny")
    net.files, net.total = FILES, 9 * 10**9
    with pytest.raises(ForeignError, match="would take 36,000 MB of memory; at most 16,000 MB"):
        models.load("hf:org/tiny")
    assert "model.safetensors" not in net.fetched


@pytest.mark.parametrize("name", ["hf:", "hf:../x", "hf:a/b/c", "hf:a b", "hf:-x/y", "hf:x/..", "hf:" + "x" * 200])
def test_what_is_no_id(net: Hub, name: str):
    with pytest.raises(ForeignError, match="no id of a model"):
        models.load(name)


def test_a_host_opens_what_it_allows(net: Hub, monkeypatch: pytest.MonkeyPatch, folder: Path):
    """One setting; a link to another model says so and asks nobody, and the machine's own token is not used."""
    monkeypatch.setenv(hub.SETTING, "1")
    assert hub.access() is HOSTED
    for ask in (models.load, catalogue.find):
        with pytest.raises(ForeignError, match="org/tiny.* is not among the models that this host opens"):
            ask("hf:org/tiny")
    assert net.tokens == set() and net.fetched == []
    refused(folder, "opens no folders")
    few = Access(True, ("org/tiny",), 300_000, 10**9)
    monkeypatch.setattr(hub, "access", lambda: few)
    with pytest.raises(ForeignError, match="would take 0 MB|would take"):
        models.load("hf:org/tiny")
    net.total = 1000
    assert models.load("hf:org/tiny").name == "hf:org/tiny" and net.tokens == {False}


# How many are held.

def fake(size: int) -> Any:
    class Lab:
        nbytes = size
    return Lab()


def test_two_visitors_do_not_evict_each_other():
    """Two are held, whatever their size; a third lets go of the one that was asked for longest ago."""
    made: list[str] = []
    small = shelf.Shelf(lambda: 10)

    def ask(key: str) -> None:
        small.get(key, lambda: made.append(key) or fake(1000))

    for _ in range(5):
        ask("a")
        ask("b")
    assert made == ["a", "b"]
    ask("c")
    ask("b")
    assert made == ["a", "b", "c"]
    ask("a")
    assert made == ["a", "b", "c", "a"]


def test_one_in_use_is_not_loaded_again():
    small = shelf.Shelf(lambda: 10)
    used = small.get("a", lambda: fake(1000))
    for key in "bcd":
        small.get(key, lambda: fake(1000))
    assert small.find("a") is used and small.find("b") is None


def test_a_budget_holds_many():
    large = shelf.Shelf(lambda: 5000)
    for key in "abcdefg":
        large.get(key, lambda: fake(1000))
    assert [key for key in "abcdefg" if large.find(key)] == list("cdefg")


def test_one_load_for_two_who_ask_and_none_waits_for_another_model():
    shared, made, started, go = shelf.Shelf(lambda: 10), [], threading.Event(), threading.Event()

    def slow() -> Any:
        started.set()
        go.wait(10)
        made.append("slow")
        return fake(1)

    waiting = [threading.Thread(target=lambda: shared.get("slow", slow)) for _ in range(2)]
    for thread in waiting:
        thread.start()
    started.wait(10)
    began = time.monotonic()
    shared.get("quick", lambda: fake(1))
    assert time.monotonic() - began < 1 and made == []
    go.set()
    for thread in waiting:
        thread.join()
    assert made == ["slow"]


def test_transformers_waits_until_it_is_asked_for(root: Path):
    """Names, catalogue and our own models need none of it."""
    code = ("import sys, models; models.load('stories-softmax'); models.names(); "
            "print([m for m in ('transformers', 'huggingface_hub') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_opening_leaves_the_lab_as_it_says():
    lab = lab_of("bert")
    assert not lab.model.training and not any(p.requires_grad for p in lab.model.parameters())
    assert open_folder("x", folder_of("bert")).name == "x"
