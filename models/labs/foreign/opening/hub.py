"""The Hub: the models that a host allows, the size of a model before it is loaded, and the download of a model.

Only safetensors, JSON and tokenizer files are downloaded, never pickles or code. In hosted mode, the Hub token of the
machine is never used, because it could give access to private models. If HF_ENDPOINT names a mirror of the Hub, all
files come from the mirror.
"""

import functools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.errors import CancelledError
from models.labs.foreign.opening.files import checked_weights, weight_files
from models.labs.foreign.refusals import REFUSALS, ForeignError, refuse, sentence
from models.messages import cut

MB = 10**6
SETTING = "ATTENTION_LAB_HOSTED"  # environment variable; not empty on a public host
TEXTS = ("config.json", "generation_config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json",
         "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "vocab.txt", "vocab.json", "merges.txt",
         "spiece.model", "spm.model", "sentencepiece.bpe.model", "tokenizer.model", "source.spm", "target.spm")
OWN_BYTES = 900 * MB  # largest memory of the process in bytes, with all our own models and full caches
SMALLEST = 100 * MB  # bytes of the largest model that every host opens: all-MiniLM-L6-v2 has 90 MB
# files of Linux's control groups with a container's memory limit
CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
BYTES_A_WEIGHT = 4  # bytes per weight in memory: always float32, regardless of the type in the file
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}  # bytes per weight in a file

# what people paste around an id: the Hub's address, the end of a page's path
_AROUND = re.compile(r"^(hf:(?!//)|\w+://([\w-]+\.[\w.:-]+/)?|(www\.)?(huggingface\.co|hf\.co)/)|"
                     r"(/discussions(/.*)?|/commits?|[?#].*|\.git|/+)$", re.IGNORECASE)
_PAGE = re.compile(r"/(?:tree|blob|raw|resolve|commits?)/([^/]+).*")  # a page of one revision
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_REVISION = re.compile(r"[\w.-]{0,96}", re.ASCII)


@dataclass(frozen=True)
class Access:
    """The models that a host opens."""

    hosted: bool  # True on a public host: folders cannot be opened, and of the Hub only the models in `allowed`
    allowed: tuple[str, ...]  # ids of models on the Hub
    max_bytes: int  # limit of the memory of one model, in bytes
    held_bytes: int  # limit of the memory of all cached foreign models, in bytes; two models are always cached

    def check(self, repo: str) -> None:
        """Raises ForeignError if this host does not open the model."""
        if self.hosted and repo not in self.allowed:
            raise refuse("not allowed", repo=_quoted(repo))


LOCAL = Access(hosted=False, allowed=(), max_bytes=16_000 * MB, held_bytes=4_000 * MB)
HOSTED = Access(hosted=True, max_bytes=600 * MB, held_bytes=1_200 * MB, allowed=(
    "sentence-transformers/all-MiniLM-L6-v2", "google-bert/bert-base-uncased", "distilbert/distilbert-base-uncased",
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english", "FacebookAI/roberta-base", "albert/albert-base-v2",
    "google/electra-small-generator", "microsoft/mpnet-base", "openai-community/gpt2", "distilbert/distilgpt2",
    "EleutherAI/pythia-70m", "EleutherAI/pythia-160m", "HuggingFaceTB/SmolLM2-135M", "google-t5/t5-small",
    "google/vit-base-patch16-224",
))


def access() -> Access:
    """Returns the Access of this machine; no other function decides which models may be opened."""
    return fitted(HOSTED, memory()) if os.environ.get(SETTING) else LOCAL


@functools.cache
def fitted(wanted: Access, memory: int) -> Access:
    """Returns the access reduced to a host with this memory.

    Two models are always cached, regardless of their size. Therefore the limit of one model is half of the memory that
    our own models leave, and at least SMALLEST.
    """
    spare = memory - OWN_BYTES
    if spare >= wanted.held_bytes:
        return wanted
    return replace(wanted, held_bytes=max(0, spare), max_bytes=min(wanted.max_bytes, max(SMALLEST, spare // 2)))


@functools.cache
def memory() -> int:
    """Returns the memory in bytes that this process may use: the memory of the machine, or the container's limit."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for file in CONTAINER:
        with suppress(OSError, ValueError):  # the file contains `max` if there is no limit
            sizes.append(int(Path(file).read_text()))
    return min(sizes)


@dataclass(frozen=True)
class Estimate:
    """A model on the Hub before it is loaded."""

    repo: str  # id of the model
    revision: str  # its commit
    files: tuple[tuple[str, int], ...]  # (name, number of bytes) of each file to download
    memory: int  # memory of the loaded model in bytes

    @property
    def download(self) -> int:
        """The number of bytes to download."""
        return sum(size for _, size in self.files)


def unquoted(text: str) -> str:
    """Returns a pasted id or path without blanks and quotes around it."""
    return text.strip().strip("\"'“”‘’").strip()


def repo_of(name: str) -> str:
    """Returns ORG/NAME or ORG/NAME@REVISION from `hf:` or a page of the Hub; raises ForeignError otherwise."""
    around = _AROUND.sub("", _AROUND.sub("", _AROUND.sub("", unquoted(name))))
    repo, _, revision = _PAGE.sub(r"@\1", around).partition("@")
    if len(repo) > 96 or not _ID.fullmatch(repo) or ".." in repo or "--" in repo or not _REVISION.fullmatch(revision):
        raise refuse("no id", repo=_quoted(around))
    return repo if revision in ("", "main") else f"{repo}@{revision}"


def estimate(name: str) -> Estimate:
    """Returns the size of a model from its list of files and its config, without downloading anything else."""
    import huggingface_hub

    allowed, name = access(), repo_of(name)
    allowed.check(name)
    repo, _, revision = name.partition("@")
    with _with_messages(repo):
        info = huggingface_hub.model_info(repo, revision=revision or None, files_metadata=True, timeout=10,
                                          token=_token())
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        if "config.json" not in sizes:
            raise refuse("no config")
        config = _fetched(repo, "config.json", info.sha)
        weights = checked_weights(list(sizes), lambda file: _fetched(repo, file, info.sha))
    wanted = [file for file in (*TEXTS, "model.safetensors.index.json", *weights) if file in sizes]
    result = Estimate(repo, info.sha or "main", tuple((file, sizes[file]) for file in wanted),
                      _memory(info, config, sum(sizes.get(file, 0) for file in weights)))
    if result.memory > allowed.max_bytes:
        raise refuse("too large", repo=repo, memory=result.memory / MB, most=allowed.max_bytes / MB)
    return result


def _memory(info: Any, config: Any, size: int) -> int:
    """Returns the bytes of the weights in float32, from their number if the Hub reports it, else from the files."""
    total = getattr(getattr(info, "safetensors", None), "total", None)
    if total:
        return int(total) * BYTES_A_WEIGHT
    kind = (config.get("dtype") or config.get("torch_dtype") or "float32") if isinstance(config, dict) else "float32"
    return size * BYTES_A_WEIGHT // SIZES.get(str(kind), 2)


def download(estimated: Estimate, progress: Callable[[int, int], None] = lambda done, of: None,
             cancelled: Callable[[], bool] = lambda: False) -> Path:
    """Downloads all files of a model and returns the folder; files on this machine are not downloaded again."""
    import huggingface_hub

    token, done = _token(), 0
    folder = Path()
    _without_xet()
    with _with_messages(estimated.repo):
        for file, size in estimated.files:
            if cancelled():
                raise CancelledError
            progress(done, estimated.download)

            def report(part: int, before: int = done) -> None:
                progress(before + part, estimated.download)

            folder = Path(huggingface_hub.hf_hub_download(estimated.repo, file, revision=estimated.revision,
                                                          token=token, tqdm_class=_bar(report, cancelled))).parent
            done += size
    progress(estimated.download, estimated.download)
    return folder


def here(name: str) -> Path | None:
    """Returns the folder of a model that was downloaded completely; otherwise None."""
    import huggingface_hub

    from models.storage.checkpoint import read_json

    try:
        repo, _, revision = repo_of(name).partition("@")
        config = huggingface_hub.try_to_load_from_cache(repo, "config.json", revision=revision or None)
        folder = Path(config).parent if isinstance(config, str) else None
        names = [path.name for path in folder.iterdir()] if folder else []
        weights = weight_files(names, lambda file: read_json(Path(folder or ".") / file))
    except (OSError, ValueError):  # a cache that cannot be read counts as empty
        return None
    return folder if weights and set(weights) <= set(names) else None


def _bar(report: Callable[[int], None], cancelled: Callable[[], bool]) -> Any:
    """Returns a progress bar class for the Hub's library, which prints nothing and can stop a download."""
    from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]  # the module does not declare that it exports the name

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})
            self.done = int(kwargs.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            if cancelled():
                raise CancelledError
            self.done += int(n or 0)
            report(self.done)

    return Bar


def _without_xet() -> None:
    """Makes the Hub's library fetch the contents of files from the mirror in HF_ENDPOINT, if there is one.

    The library reads the variable HF_HUB_DISABLE_XET when it is imported, which can be before this module is. Otherwise
    it would send a request to the Hub's own storage, Xet, which a network that needs a mirror cannot reach.
    """
    from huggingface_hub import constants

    if constants.ENDPOINT != constants._HF_DEFAULT_ENDPOINT:
        constants.HF_HUB_DISABLE_XET = True


def _fetched(repo: str, file: str, revision: str | None) -> Any:
    """Returns the content of a small JSON file of a model."""
    import huggingface_hub

    from models.storage.checkpoint import read_json

    _without_xet()
    return read_json(Path(huggingface_hub.hf_hub_download(repo, file, revision=revision, token=_token())))


def _token() -> bool | None:
    return False if access().hosted else None


@contextmanager
def _with_messages(repo: str) -> Iterator[None]:
    """Converts errors of the network and the Hub to ForeignErrors with a message for the visitor."""
    from huggingface_hub import errors

    try:
        yield
    except (ForeignError, CancelledError):
        raise
    except Exception as error:
        is_page = str(getattr(error, "doc", "")).lstrip().startswith("<")  # the text that is no JSON
        is_closed = getattr(getattr(error, "response", None), "status_code", None) in (401, 403)
        causes = ((errors.GatedRepoError, "gated"), (errors.RepositoryNotFoundError, "no repository"),
                  (errors.RevisionNotFoundError, "no revision"), (errors.LocalEntryNotFoundError, ""),
                  (errors.EntryNotFoundError, "hub file missing"),
                  (ValueError, "hub page" if is_page else "hub damaged"),
                  (errors.HfHubHTTPError, "no repository" if is_closed else "hub error"))
        cause = next((cause for kind, cause in causes if isinstance(error, kind)), "")
        # every library raises its own network errors
        raise (refuse(cause, repo=repo) if cause else UnreachableError(repo)) from error


class UnreachableError(ForeignError):
    """The Hub cannot be reached."""

    def __init__(self, repo: str) -> None:
        super().__init__(sentence(REFUSALS["unreachable"], repo=repo))


def _quoted(text: str) -> str:
    return f"“{cut(text, 60)}”"
