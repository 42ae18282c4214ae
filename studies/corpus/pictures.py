"""Thumbnails of four heads of each model on its first example, which the model menu shows.

    python -m studies.corpus.pictures            # all models, or the named ones
"""

import argparse
import base64
from typing import Any

import numpy

from models import catalogue
from models.lab import Lab, run
from models.loading import load
from models.thumbnails import thumbnails
from studies import store

SIDE = 16  # largest number of tokens per side of a thumbnail
HEADS = 4


def measure(lab: Lab) -> dict[str, Any]:
    """Returns the thumbnails of HEADS heads, evenly spread over the layers of the first attention block."""
    (kind, *_others), text = lab.kinds, lab.task.unsaid or lab.task.examples[0][1]
    maps = run(lab, text).weights[kind.name]
    chosen = numpy.linspace(0, len(maps) * maps.shape[1] - 1, HEADS).round().astype(int)
    maps = maps.reshape(-1, *maps.shape[2:])[chosen]
    if not kind.attention.is_distribution:
        maps = maps / maps.max((1, 2), keepdims=True).clip(1e-9)
    small = thumbnails(maps[:, :SIDE, :SIDE])
    return {"side": small.shape[-1], "heads": base64.b64encode(small.tobytes()).decode()}


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    for name in parser.parse_args().names or catalogue.names():
        lab = load(name)
        store.write(name, "picture", dict(lab.card["metric"]), measure(lab))
        print(name)


if __name__ == "__main__":
    main()
