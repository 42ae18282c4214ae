"""The command `attention-lab`, or `python -m attention_lab`: runs models, the app, evaluations and studies.

    attention-lab models                                    the released models
    attention-lab run MODEL TEXT [--plan PLAN] [--json]     prediction and effect of a plan; TEXT `-` reads stdin
    attention-lab lens MODEL TEXT ...                       the prediction after each layer
    attention-lab contributions MODEL TEXT ...              contributions of heads, MLPs and embedding to a logit
    attention-lab learn TASK [--attention TYPE] [--plan P]  trains a small model and prints its accuracy
    attention-lab mcp                                       the same as tools for an agent, over stdio
    attention-lab app [--port 8501] [--address 127.0.0.1]   the app, for this machine
    attention-lab serve [--port 8501] ...                   two replicas behind HAProxy, for visitors
    attention-lab evaluate stories-softmax ...              a released model's metrics on its test texts
    attention-lab study papa masked-softmax --tasks slots   a study; without a name, the list of studies
    attention-lab figure [KEY FILE.svg]                     the chart of a statement of Findings

Options after the name are passed to the module that runs; `attention-lab NAME --help` lists the options.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import attention_lab
from attention_lab import commands

STUDIES = {name: f"studies.{module}" for name, module in {  # name -> the module that `python -m` runs
    "blimp": "zero_shot.blimp", "choices": "zero_shot.choices", "claims": "claims",
    "disagreement": "corpus.disagreement", "examples": "corpus.examples", "forgetting": "corpus.forgetting",
    "heads": "corpus.heads", "lengths": "corpus.lengths", "minimal-heads": "corpus.minimal_heads", "papa": "papa",
    "patching": "corpus.patching", "pictures": "corpus.pictures", "prune-heads": "prune_heads",
    "pruning": "corpus.pruning", "rouge": "generated.rouge", "seeds": "seeds", "sentences": "generated.sentences",
    "sinks": "corpus.sinks", "stale": "stale", "transfer": "transfer.transfer_study",
    "word-pieces": "corpus.word_pieces"}.items()}
MODULES = {"serve": "deploy.__main__", "evaluate": "models.training.evaluate", "figure": "attention_lab.figure",
           "mcp": "attention_lab.agents"}  # command -> the module that `python -m` runs
# command -> its optional dependencies; all others need `app`
EXTRAS = {"evaluate": "study", "figure": "figures", "mcp": "mcp", "study": "study"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command with these arguments, by default those of this process."""
    parser = commands.Parser(prog="attention-lab", description=__doc__,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"attention-lab {attention_lab.__version__}")
    parser.add_argument("command", choices=(*commands.COMMANDS, "app", "study", *MODULES))
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.command in commands.COMMANDS:
        commands.main(options.command, options.rest)
    elif options.command == "app":
        _app(options.rest)
    elif options.command in MODULES:
        _run(MODULES[options.command], options.command, options.rest)
    elif not options.rest:
        print(f"studies: {', '.join(STUDIES)}")
    elif options.rest[0] not in STUDIES:
        parser.error(f"no study is called {options.rest[0]!r}; there are {', '.join(STUDIES)}")
    else:
        _run(STUDIES[options.rest[0]], f"study {options.rest[0]}", options.rest[1:])


def _run(module: str, name: str, rest: Sequence[str]) -> None:
    """Runs a module as `python -m` does, with the remaining arguments."""
    sys.argv = [f"attention-lab {name}", *rest]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "attention_lab":
            raise
        sys.exit(f"{error.name} is not installed: pip install 'attention-lab[{EXTRAS.get(name.split()[0], 'app')}]'")
    except attention_lab.MissingExtraError as error:
        sys.exit(str(error))


def _app(rest: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="attention-lab app", description="Runs the app for this machine.")
    parser.add_argument("--port", type=int, default=8501, help="default: %(default)s")
    parser.add_argument("--address", default="127.0.0.1", help="that the app listens on; default: %(default)s")
    options = parser.parse_args(rest)
    if importlib.util.find_spec("streamlit") is None:
        parser.exit(1, "streamlit is not installed: pip install 'attention-lab[app]'\n")
    host = importlib.util.find_spec("app.host")
    if host is None or host.origin is None:
        parser.exit(1, "the app is not part of this installation\n")
    os.environ.setdefault("ATTENTION_LAB_HOSTED", "")  # `attention-lab app` is not in hosted mode, as `make app`
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", str(Path(host.origin)),
                              "--server.port", str(options.port), "--server.address", options.address])


if __name__ == "__main__":
    main()
