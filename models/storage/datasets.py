"""Paths of the data sets, which are part of the repository.

Each data set is a folder. Its SOURCE.txt contains licence, attribution, and the checksums of the files.
"""

import argparse
from pathlib import Path

DATA = Path(__file__).parents[2] / "assets" / "data"


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option `--data` to a command that reads data sets."""
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR",
                        help="folder of the data sets; the repository's own, assets/data, if left out")


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options `--data` and `--runs`."""
    add_data_option(parser)
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR",
                        help="folder of cached tokens, logs, training states and unfinished results")


def files(data: Path, pattern: str) -> list[Path]:
    """Returns the files of a data set that match a glob, sorted by name; raises FileNotFoundError if there are none."""
    paths = sorted(data.glob(pattern))
    if not paths:
        raise FileNotFoundError(f"no {pattern} in {data}; --data takes the folder that holds {pattern.split('/')[0]}")
    return paths
