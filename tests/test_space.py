"""`python -m deploy space`: the folder is accepted by a Git server like the Hub's, and its image has the same files."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_image import instructions

# refuses a push with a binary file, as the Hub does outside Git LFS
HOOK = """#!/bin/sh
while read old new name; do
    binary=$(git diff --numstat 4b825dc642cb6eb9a060e54bf8d69288fbee4904 $new | grep -c '^-')
    [ "$binary" = 0 ] || { echo "$binary binary files outside LFS" >&2; exit 1; }
done
"""
WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.org")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *WHO, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(root: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "deploy", "space", folder, *options], cwd=root, capture_output=True,
                          text=True)


def pushed(folder: Path, server: Path) -> subprocess.CompletedProcess[str]:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Start")
    return subprocess.run(["git", "-C", folder, "push", server, "HEAD:main"], capture_output=True, text=True)


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Returns a bare repository that refuses binary files."""
    folder = tmp_path / "server"
    folder.mkdir()
    git(folder, "init", "--quiet", "--bare")
    (folder / "hooks" / "pre-receive").write_text(HOOK)
    (folder / "hooks" / "pre-receive").chmod(0o755)
    return folder


def test_the_hub_takes_the_folder_and_not_the_repository(root: Path, tmp_path: Path, server: Path):
    binary = tmp_path / "binary"
    binary.mkdir()
    (binary / "picture.png").write_bytes((root / "assets" / "picture.png").read_bytes())
    refused = pushed(binary, server)
    assert refused.returncode != 0 and "outside LFS" in refused.stderr
    assert written(root, tmp_path / "space", "--source", "https://example.org/lab").returncode == 0
    assert {path.name for path in (tmp_path / "space").iterdir()} == {"README.md", "Dockerfile"}
    taken = pushed(tmp_path / "space", server)
    assert taken.returncode == 0, taken.stderr
    assert written(root, tmp_path / "space", "--source", "https://example.org/lab").returncode == 0  # an update


def test_the_space_fetches_the_files_of_the_image(root: Path, tmp_path: Path):
    """The commands of the Dockerfile, run here, fetch this commit's files of the image, and COPY takes them."""
    assert written(root, tmp_path / "space", "--source", f"file://{root}").returncode == 0
    dockerfile = (tmp_path / "space" / "Dockerfile").read_text()
    (fetch,) = (rest for name, rest in instructions(dockerfile) if name == "RUN" and rest.startswith("git init"))
    for folder in ("/source", "/context"):
        fetch = re.sub(rf"(?<![\w/]){folder}\b", f"{tmp_path}{folder}", fetch)
    subprocess.run(["sh", "-ec", fetch], check=True)
    kept = [line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    here = git(root, "ls-tree", "-r", "-z", "--name-only", "HEAD", *kept).split("\0")[:-1]
    context = tmp_path / "context"
    assert {str(path.relative_to(context)) for path in context.rglob("*") if path.is_file()} == set(here)
    copied = [rest for name, rest in instructions(dockerfile) if name == "COPY"]
    assert copied and all((tmp_path / rest.split()[1].lstrip("/")).exists() for rest in copied)


@pytest.mark.parametrize("source", ["lab", "https://example.org/$(reboot)", "https://example.org/a b"])
def test_an_address_that_is_none_is_refused(root: Path, tmp_path: Path, source: str):
    done = written(root, tmp_path / "space", "--source", source)
    assert done.returncode == 2 and "expected the address" in done.stderr and not (tmp_path / "space").exists()


def test_a_folder_with_other_files_is_left_alone(root: Path, tmp_path: Path):
    (tmp_path / "own.txt").write_text("mine")
    done = written(root, tmp_path, "--source", "https://example.org/lab")
    assert done.returncode == 2 and "other files" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]
