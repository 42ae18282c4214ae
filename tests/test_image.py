"""The Docker image as a folder that serves every page, and `python -m deploy space`, which fetches its files."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
import yaml
from docker.utils.build import exclude_paths
from packaging.requirements import Requirement
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import models
from app.state.lab_state import PAGES, default_model
from benchmarks.load.visitors import exceptions, header, open_link
from components import library
from tests.app.test_route import blocks
from tests.browser import answering, free_ports
from tests.environments import linked
from tests.own_loop import run
from tests.strangers import visit

SENTENCE = "Once upon a time there was a curious otter named Quill"


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """Returns (instruction, arguments) of a Dockerfile, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ")
    return [(name, rest.strip()) for name, rest in re.findall(r"^([A-Z]+)\s+(.*)$", text, re.MULTILINE)]


def copied(context: Path, folder: Path) -> None:
    """Copies the files that the COPY instructions of the image put below its root to a folder."""
    ignored = (context / ".dockerignore").read_text().splitlines()
    sent = [path for path in exclude_paths(str(context), ignored) if (context / path).is_file()]
    for name, rest in instructions((context / "Dockerfile").read_text()):
        if name == "COPY":
            source, target = map(Path, rest.split())
            files = [path for path in sent if Path(path).is_relative_to(source)]
            assert files, f"COPY {rest}: .dockerignore leaves nothing of it"
            for path in files:
                inside = Path(path).relative_to(source)
                to = folder / target.relative_to("/") / inside
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(context / path, to)


class Image:
    """The image as a folder, and the environment with the packages that it installs."""

    def __init__(self, root: Path, folder: Path) -> None:
        copied(root, folder)
        self.folder = folder
        text = (folder / "srv" / "requirements.txt").read_text()
        names = [Requirement(line.rstrip(" \\")).name for line in text.splitlines() if re.match(r"\w", line)]
        self.python = linked(folder / "srv" / "venv", names)
        settings: dict[str, str] = {"PATH": os.defpath}
        for name, rest in instructions((root / "Dockerfile").read_text()):
            if name == "ENV":
                for key, value in (word.split("=", 1) for word in shlex.split(rest)):
                    settings[key] = value.replace("$PATH", settings["PATH"]).replace("/srv/", f"{folder}/srv/")
            elif name == "WORKDIR":
                self.work = folder / Path(rest).relative_to("/")
            elif name == "CMD":
                self.command = json.loads(rest)
        (folder / "home").mkdir()
        self.settings = {**settings, "HOME": str(folder / "home")}

    def files(self) -> set[Path]:
        return {path for path in self.work.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def image(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    folder = tmp_path_factory.mktemp("image")
    yield Image(root, folder)
    shutil.rmtree(folder)  # 250 MB


async def tour(address: str) -> dict[str, list[ForwardMsg]]:
    """Opens every page in one session, and returns the messages of each."""
    async with visit(address) as socket:
        return {page: await open_link(socket, urlencode({"page": page})) for page in PAGES}


async def typed(address: str) -> dict[str, dict[str, Any]]:
    """Types SENTENCE in the Lab, and returns key -> header of the payloads that come back."""
    async with visit(address) as socket:
        page = header(await open_link(socket, "page=lab"), "lab")
        event = {"key": "lab", "type": "text", "text": SENTENCE, "sequence": page["answered"] + 1}
        answer = requested(address, "POST", f"/lab/visits/{page['visit']}/events",
                           json.dumps({"seen": page["serial"], "events": [event]}))
        return {content["key"]: content for content, _ in blocks(answer)[1:]}


def requested(address: str, method: str, path: str, body: str | None = None) -> bytes:
    with urlopen(Request(address + path, body and body.encode(), method=method), timeout=60) as answer:
        return answer.read()


@pytest.mark.parametrize("file", ["Dockerfile", "Procfile"])
def test_the_files_of_the_image_serve_every_page(image: Image, root: Path, tmp_path: Path, file: str):
    """The commands of Dockerfile and Procfile work with the files and the packages of the image alone."""
    process = re.fullmatch(r"web: (.*)\n", (root / "Procfile").read_text())
    assert process is not None
    command = image.command if file == "Dockerfile" else ["sh", "-c", f"exec {process[1]}"]
    command = [word.replace("0.0.0.0", "127.0.0.1") for word in command]  # the test serves nobody in the network
    (port,), log, before = free_ports(1), tmp_path / "log", image.files()
    address = f"http://127.0.0.1:{port}"
    with answering(command, f"{address}/healthz", log, cwd=image.work, env=image.settings | {"PORT": str(port)}):
        pages, answer = run(tour(address)), run(typed(address))
        requested(address, "GET", f"/{library.address()}")  # the same library, which has the citation, as here
    assert not re.search("Traceback|error", log.read_text(), re.IGNORECASE), log.read_text()
    for page, messages in pages.items():
        assert not exceptions(messages), page
        assert header(messages, "bar"), page
    output = models.run(models.load(default_model()), SENTENCE).output
    rows = answer["lab"]["answer"]["rows"]
    assert [row["label"] for row in rows[:3]] == output.labels[:3]
    assert image.files() == before  # the container's file system can be read only


def test_compose_and_the_balancer_name_files_that_are_there(root: Path):
    """The build context and each mounted path of deploy/compose.yaml exist."""
    folder = root / "deploy"
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    mounted = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())]
    built = [folder / service["build"] / "Dockerfile" for service in services.values() if "build" in service]
    assert mounted and built
    for path in [*built, *(folder / path for path in mounted)]:
        assert path.is_file(), path


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
