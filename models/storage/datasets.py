"""Where the data sets lie: in the repository, so that a fresh clone can measure and train.

Each set is a folder; its SOURCE.txt has licence, attribution, and the checksums of its files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

DATA = Path(__file__).parents[2] / "assets" / "data"


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """The option `--data`, the same for every command that reads data sets."""
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR",
                        help="folder of the data sets; the repository's own, assets/data, if left out")


def files(data: Path, pattern: str) -> list[Path]:
    """Files of a data set in the order of their names; `pattern` begins with the set's folder.

    Raises:
        FileNotFoundError: there is none; the message says which folder --data must hold.
    """
    paths = sorted(data.glob(pattern))
    if not paths:
        raise FileNotFoundError(f"no {pattern} in {data}; --data takes the folder that holds {pattern.split('/')[0]}")
    return paths
