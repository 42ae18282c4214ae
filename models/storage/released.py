"""Locates the files of a released model: in this installation, in a folder, or in a repository of the Hub.

A Git clone contains all released models. The wheel contains some of the models, and in `released.json` the SHA-256 of
every file of all released models (by tools/wheel_files.py). ATTENTION_LAB_MODELS is the location of the other models:

    ATTENTION_LAB_MODELS=~/attention-lab/models/checkpoints      # a folder with a folder for each model
    ATTENTION_LAB_MODELS=ORG/NAME@COMMIT                         # a Hub repository at a commit of 40 hexadecimal digits

A folder replaces the packaged models. From a repository, a model is downloaded when it is first used; a file whose
SHA-256 differs from that of the released file is refused.
"""

import difflib
import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from models.messages import message

SETTING = "ATTENTION_LAB_MODELS"
PACKAGED = Path(__file__).parents[1] / "checkpoints"
DIGESTS = "released.json"
STEPS = "steps"  # the files of the checkpoint MODEL@STEP are in MODEL/steps/STEP
_CHECKPOINT = re.compile(r"([a-z0-9-]+)@(\d{1,6})", re.ASCII)
_REPOSITORY = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)@([0-9a-f]{40})", re.ASCII)


def checkpoints() -> Path:
    """Returns the folder with one folder per model: the folder that SETTING names, or that of the package."""
    place = os.environ.get(SETTING, "")
    return Path(place).expanduser() if place and not _REPOSITORY.fullmatch(place) else PACKAGED


@functools.cache
def digests(packaged: Path = PACKAGED) -> Mapping[str, Mapping[str, str]]:
    """Returns model -> file -> SHA-256 for all released models; empty in a Git clone, which has all files."""
    path = packaged / DIGESTS
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def parts_of(name: str) -> tuple[str, str]:
    """Returns model and step of a checkpoint's name; name and "" for another name."""
    match = _CHECKPOINT.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def place_of(name: str) -> str:
    """Returns the folder of a model, or of a checkpoint, relative to the folder of all models."""
    model, step = parts_of(name)
    return f"{model}/{STEPS}/{step}" if step else model


def folder_of(name: str, folder: Path) -> Path:
    """Returns the folder of a model; downloads the model if it is not in `folder` and SETTING names a repository."""
    repository = _REPOSITORY.fullmatch(os.environ.get(SETTING, ""))
    if repository is None or (folder / place_of(name)).exists() or name not in digests():
        return folder / place_of(name)
    return _downloaded(name, repository[1], repository[2])


@functools.cache
def _downloaded(name: str, repository: str, commit: str) -> Path:
    """Returns the folder of a model in the Hub's cache, with checked files."""
    from huggingface_hub import hf_hub_download

    path = Path()
    for file, expected in digests()[name].items():
        try:
            path = Path(hf_hub_download(repository, f"{place_of(name)}/{file}", revision=commit))
        except Exception as error:  # noqa: BLE001  # an error of the Hub, the connection or the file system
            reason = str(error).partition("\n")[0]
            raise ValueError(message("{name} could not be downloaded from {repository} ({setting}): {reason}",
                                     name=name, repository=repository, setting=SETTING, reason=reason)) from error
        if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            raise ValueError(message("{file} of {name} in {repository} is not the released file: its SHA-256 differs",
                                     file=file, name=name, repository=repository))
    return path.parent


def unknown(name: str, installed: Iterable[str]) -> str:
    """Returns the message for a model whose files are not in this installation."""
    if name in digests():
        return message("{name} is not installed. Installed: {names}. {setting} can name a folder (models/checkpoints "
                       "of the Git repository) or a Hub repository (ORG/NAME@COMMIT).", name=name,
                    names=", ".join(installed), setting=SETTING)
    folder = checkpoints()
    if not folder.is_dir():
        return message("{setting} names {folder}, neither a folder nor ORG/NAME@COMMIT with a commit of 40 "
                       "hexadecimal digits.", setting=SETTING, folder=str(folder))
    return message("no model is called {name!r}; load('hf:{name}') opens a Hub "
                   "model, load_folder({name!r}) a folder, names() lists ours, like {names}", name=name,
                   names=", ".join(difflib.get_close_matches(name, names := [*installed]) or names[:3]))
