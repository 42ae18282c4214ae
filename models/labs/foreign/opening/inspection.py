"""Reads config and tokenizer of a model's folder in a separate process, which has limits of time and memory.

    python -m models.labs.foreign.opening.inspection FOLDER ROOT PROCESSOR_SECONDS MEMORY_MB OUTPUT_BYTES

A foreign folder can contain a file that never ends, or a file that crashes the process that reads it. This process does
not import torch (the import takes a second and 200 MB) and reads no weights. It prints one JSON object per line:
`{"reading": FILE}` before each file, then `{"refusal": CAUSE, "values": {...}}` (models/labs/foreign/refusals.py).
Errors that transformers raises are ignored here; the process that opens the model gets them too and reports the reason.
child.py starts this process.
"""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from models.labs.foreign.opening import files
from models.labs.foreign.opening.files import check_numbers
from models.labs.foreign.reading.sentencepiece import SplitTokenizer, is_split
from models.labs.foreign.reading.templates import has_template, render
from models.labs.foreign.refusals import ForeignError, refuse

# texts for the tokenizer: an ordinary text, and repeated characters, on which a regular expression can take forever
TEXTS = ("The cat sat on the mat. It's 12:30, isn't it?\n\n\tDas Mädchen aß 3 Äpfel: 好的, שלום!",
         *(character * 600 for character in "a0 .xé中\n"), "ab1 " * 200)


def main() -> None:
    """Inspects the folder given on the command line, within the limits given there."""
    folder, root = Path(sys.argv[1]), Path(sys.argv[2])
    _limit(*map(int, sys.argv[3:]))
    try:
        inspect(folder, root)
    except ForeignError as error:
        _print(refusal=error.cause, values=dict(error.values))
    except MemoryError:
        _print(refusal="memory")


def _limit(seconds: int, memory: int, output: int) -> None:
    """Sets the limits of this process."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; the parent ends the process after a time
        return
    for what, most, hard in ((resource.RLIMIT_CPU, seconds, seconds + 5),  # the parent recognises SIGXCPU
                             (resource.RLIMIT_AS, memory * 10**6, memory * 10**6),
                             (resource.RLIMIT_FSIZE, output, output), (resource.RLIMIT_CORE, 0, 0)):
        # a lower limit is already set, or the system does not support this limit
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (most, hard))


def inspect(folder: Path, root: Path) -> None:
    """Reads all files of the folder but the weights."""
    _print(reading="the folder")
    files.check_folder(folder, root)
    config: Any = None
    for path in sorted(folder.glob("*.json")):
        _print(reading=path.name)
        content = files.content(path)
        config = content if path.name == "config.json" else config
    check_numbers(config)
    for file in files.weights_of(folder):
        _print(reading=file)
        files.elements(folder / file)
    _print(reading="config.json")
    sys.modules["torch"] = None  # type: ignore[assignment]  # importing it fails, and transformers works without it
    import transformers

    transformers.logging.set_verbosity_error()
    with contextlib.suppress(Exception):
        transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    if any(path.name.endswith(files.VOCABULARIES) for path in folder.iterdir()):
        _print(reading="tokenizer.json" if (folder / "tokenizer.json").exists() else "its tokenizer")
        _read_texts(folder, config)


def _read_texts(folder: Path, config: Any) -> None:
    import transformers

    try:
        kind = str(config.get("model_type")) if isinstance(config, dict) else ""
        tokenizer = SplitTokenizer(folder, kind) if is_split(folder, kind) else \
            transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        files.check_rows(len(tokenizer), config)
        for text in TEXTS:
            tokenizer(text, add_special_tokens=True)
        if getattr(tokenizer, "chat_template", None):
            _print(reading="chat_template.jinja" if (folder / "chat_template.jinja").exists() else
                   "tokenizer_config.json")
            has_template(tokenizer, render)  # this process is limited already
    except (ForeignError, MemoryError):
        raise
    except Exception:  # the process that opens the model raises the same error
        return
    except BaseException as error:  # a panic of the tokenizers library, which is written in Rust
        if not files.is_panic(error):
            raise
        raise refuse("tokenizer fails") from error


def _print(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main()
