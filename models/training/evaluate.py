"""Evaluates a released model on held-out data and prints its scores as one JSON object.

    python -m models.training.evaluate stories-selective

The scores in the card were computed by the same function, so they are equal up to rounding.
"""

import argparse
import json

from models.catalogue import find, names
from models.storage.checkpoint import CheckpointError, folder_of, read_model
from models.storage.datasets import add_folder_options
from models.storage.released import parts_of
from models.training.recipes import task_of


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME", help=f"{', '.join(names())}; MODEL@STEP for a checkpoint")
    add_folder_options(parser)
    arguments = parser.parse_args()
    try:
        folder = folder_of(find(arguments.name).name)
        task = task_of(parts_of(arguments.name)[0], arguments.data, arguments.runs)
        metric = task.metric.evaluate(read_model(folder))
    except (CheckpointError, ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    print(json.dumps({"name": arguments.name} | metric, indent=2))


if __name__ == "__main__":
    main()
