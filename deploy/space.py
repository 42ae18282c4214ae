"""Writes the folder of a Hugging Face Space: a README and a Dockerfile that fetches one commit of this repository.

The Hub refuses files outside Git LFS that are binary, so the Space has none of the repository's own files.
"""

import re
import subprocess
from pathlib import Path

from deploy.supervisor import ROOT

README = """---
title: Attention Lab
emoji: 🔎
colorFrom: indigo
colorTo: gray
sdk: docker
app_port: 8501
---

Interventions on the attention heads of small and imported Transformers: {source} at {commit}.
"""
# .dockerignore lists the files of the image, each after an exclamation mark
SOURCE = """FROM debian:bookworm-slim AS source
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git
RUN git init --quiet /source && cd /source && git fetch --quiet --depth 1 {source} {commit} && mkdir /context \\
    && git archive FETCH_HEAD $(git show FETCH_HEAD:.dockerignore | sed -n 's/^!//p') | tar -x -C /context

"""
OURS = (".git", ".gitattributes", "README.md", "Dockerfile")  # files of a new Space, and those of this module
FRAMES = "ENV ATTENTION_LAB_FRAMES=https://huggingface.co\n"  # this site shows the Space in a frame


def write(folder: Path, source: str) -> None:
    """Writes README.md and Dockerfile of a Space that runs the present commit of the repository at `source`.

    Raises ValueError if `source` is no address, the folder is not empty, or ROOT is no clone.
    """
    if not re.fullmatch(r"(https|file)://[\w.~:/@%+-]+", source):
        raise ValueError(f"expected the address https://… of a public repository, got {source!r}")
    if folder.exists() and any(path.name not in OURS for path in folder.iterdir()):
        raise ValueError(f"{folder} has other files; name an empty folder, or the clone of a new Space")
    commit = _git("rev-parse", "HEAD")
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    image = re.sub(r"^COPY (\S+) ", r"COPY --from=source /context/\1 ", dockerfile, flags=re.MULTILINE)
    image = image.replace("USER ", f"{FRAMES}USER ", 1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(README.format(source=source, commit=commit), encoding="utf-8")
    (folder / "Dockerfile").write_text(SOURCE.format(source=source, commit=commit) + image, encoding="utf-8")


def origin() -> str:
    """Returns the address that this clone was fetched from; raises ValueError if ROOT is no clone."""
    return _git("remote", "get-url", "origin")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
