"""The content of a packed moment, which the browser unpacks."""

import json
from types import SimpleNamespace

import numpy


def unpacked(data: bytes) -> SimpleNamespace:
    """Returns the fields of `Moment.packed`, with `heads` as an array and the `patterns` (L, H, N, N) in uint8."""
    line, _, body = data.partition(b"\n")
    head = json.loads(line)
    rows, columns = numpy.tril_indices(head["tokens"])
    patterns = numpy.zeros((*head["shape"], head["tokens"], head["tokens"]), numpy.uint8)
    patterns[:, :, rows, columns] = numpy.frombuffer(body, numpy.uint8).reshape(*head["shape"], -1)
    return SimpleNamespace(**head | {"heads": numpy.array(head["heads"]), "patterns": patterns})
