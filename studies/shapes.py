"""Shapes of the measurements: the keys that each type of file must have before a page or a verdict reads it.

A file may have other keys too. A type that is not listed is a JSON object of any content.
"""

from types import GenericAlias
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import AfterValidator, ConfigDict, TypeAdapter, conlist, create_model

_SOME, _SEVERAL = conlist(float, min_length=1), conlist(float, min_length=2)


def _object(**fields: Any) -> Any:
    """Returns the type of JSON objects with these keys, name -> type; a key with (type, None) may be missing."""
    own: Any = {name: kind if isinstance(kind, tuple) else (kind, ...) for name, kind in fields.items()}
    return create_model("Object", __config__=ConfigDict(extra="allow"), **own)


def _by(key: type, value: Any) -> Any:
    return GenericAlias(dict, (key, value))


def _same_layers(pieces: Any) -> Any:
    if any(not len(layer.names) == len(layer.others) == len(layer.words) for layer in pieces.layers):
        raise ValueError("windows are missing")
    return pieces


def _same_windows(sink: Any) -> Any:
    if sink.gates is not None and any(len(getattr(sink.losses, way, ())) != len(sink.by_window) for way in _GATES):
        raise ValueError("windows are missing")
    return sink


_AT_LENGTH = _object(predictions=int, loss=float, accuracy=float, entropy=(list[list[float]], None),
                     log_normaliser=(list[list[float]], None))
_POINT = _object(way=str, factor=float, perplexity=float, budgets=list[float])
_GATES = {"own": Any, "constant": Any, "open": Any}  # the model's gates, and what replaces them
_PAPA_TASK = _object(constant_answer=float, scores=_by(str, _by(int, _object(score=float))))
_HEAD_EXAMPLES = _object(confidence=list[int], confidence_values=list[float], entropy=list[int],
                         entropy_values=list[float], keys=list[int], shares=list[float], times=list[float],
                         jobs=(dict[str, float], None))
_TYPES = {
    "length": _object(readings=Annotated[_by(str, _by(int, _AT_LENGTH)), MinLen(1)]),
    "memory": _object(name=str, command=str, windows=int, window=int, validation_windows=int,
                      points=conlist(_POINT, min_length=1), comparisons=conlist(_POINT)),
    "blimp": _object(accuracy=float, accuracy_error=float, pairs=int, rights=dict[str, str]),
    "choices": _object(sets=_by(str, _object(accuracy=float, accuracy_error=float, items=int, rights=str))),
    "pieces": Annotated[_object(layers=conlist(_object(names=_SOME, others=_SOME, words=_SOME))),
                        AfterValidator(_same_layers)],
    "sink": Annotated[_object(
        by_window=_SOME, share=list[list[float]], perplexity=(_object(**_GATES), None),
        losses=(_object(**_GATES), None), gates=(_object(
            closed=float, first=float, others=float, by_window=list[float], mean=list[list[float]]), None)),
        AfterValidator(_same_windows)],
    "sentences": _object(bleu=float, sentence_bleu=_SEVERAL),
    "rouge": _object(rougeL=float, texts=_SEVERAL, conversations=(list[int], None)),
    "examples": _object(count=int, texts=list[str], heads=_by(str, conlist(conlist(_HEAD_EXAMPLES)))),
    "transfer": _object(moment=_object(validation_loss=float),
                        tasks=_by(str, _object(constant_answer=float, pruned=dict[str, float]))),
    "papa": _object(name=str, title=str, layers=int, heads=int, parameters=int, command=str, cpu_seconds=float,
                    tasks=_by(str, _PAPA_TASK), moment=(dict[str, Any], None))}
SHAPES = {kind: TypeAdapter[Any](own) for kind, own in _TYPES.items()}
CARD = TypeAdapter[Any](_object(weights=(dict[str, str], None), metric=dict[str, Any]))
# The header of a measurement: the SHA-256 of the weights, or in older files the card's metric. A model that is not
# released has neither.
HEADER = TypeAdapter[Any](_object(version=(int, None), elsewhere=(bool, None), weights=(str | None, None),
                                  metric=(dict[str, Any], None)))
MEASURED = TypeAdapter[Any](_object(metric=dict[str, Any]))
