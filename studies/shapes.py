"""Shapes of the measurements: the keys that each type of file must have before a page or a verdict reads it.

A file may have other keys too. A type that is not listed is a JSON object of any content.
"""

from typing import Annotated, Any, NotRequired

from annotated_types import MinLen
from pydantic import AfterValidator, ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

_OPEN = with_config(ConfigDict(extra="allow"))
_Numbers = list[float]
_Several = Annotated[list[float], MinLen(2)]
_Some = Annotated[list[float], MinLen(1)]


@_OPEN
class _AtLength(TypedDict):
    predictions: int
    loss: float
    accuracy: float
    entropy: NotRequired[list[_Numbers]]
    log_normaliser: NotRequired[list[_Numbers]]


@_OPEN
class _Length(TypedDict):
    readings: Annotated[dict[str, dict[int, _AtLength]], MinLen(1)]


@_OPEN
class _Point(TypedDict):
    way: str
    factor: float
    perplexity: float
    budgets: _Numbers


@_OPEN
class _Memory(TypedDict):
    name: str
    command: str
    windows: int
    window: int
    validation_windows: int
    points: Annotated[list[_Point], MinLen(1)]
    comparisons: list[_Point]


@_OPEN
class _Blimp(TypedDict):
    accuracy: float
    accuracy_error: float
    pairs: int
    rights: dict[str, str]


@_OPEN
class _ChoicesSet(TypedDict):
    accuracy: float
    accuracy_error: float
    items: int
    rights: str


@_OPEN
class _Choices(TypedDict):
    sets: dict[str, _ChoicesSet]


@_OPEN
class _PiecesLayer(TypedDict):
    names: _Some
    others: _Some
    words: _Some


@_OPEN
class _Pieces(TypedDict):
    layers: list[_PiecesLayer]


@_OPEN
class _Gates(TypedDict):
    closed: float
    first: float
    others: float
    by_window: _Numbers
    mean: list[_Numbers]


@_OPEN
class _ByGates(TypedDict):
    own: Any
    constant: Any
    open: Any


@_OPEN
class _Sink(TypedDict):
    by_window: _Some
    share: list[_Numbers]
    gates: NotRequired[_Gates]
    perplexity: NotRequired[_ByGates]
    losses: NotRequired[_ByGates]


@_OPEN
class _Sentences(TypedDict):
    bleu: float
    sentence_bleu: _Several


@_OPEN
class _Moment(TypedDict):
    validation_loss: float


@_OPEN
class _TransferTask(TypedDict):
    constant_answer: float
    pruned: dict[str, float]


@_OPEN
class _Transfer(TypedDict):
    moment: _Moment
    tasks: dict[str, _TransferTask]


@_OPEN
class _Score(TypedDict):
    score: float


@_OPEN
class _PapaTask(TypedDict):
    constant_answer: float
    scores: dict[str, dict[int, _Score]]


@_OPEN
class _Papa(TypedDict):
    name: str
    title: str
    layers: int
    heads: int
    parameters: int
    command: str
    cpu_seconds: float
    tasks: dict[str, _PapaTask]
    moment: NotRequired[dict[str, Any]]


@_OPEN
class _Rouge(TypedDict):
    rougeL: float
    texts: _Several
    conversations: NotRequired[list[int]]


@_OPEN
class _HeadExamples(TypedDict):
    confidence: list[int]
    confidence_values: _Numbers
    entropy: list[int]
    entropy_values: _Numbers
    keys: list[int]
    shares: _Numbers
    times: _Numbers
    jobs: NotRequired[dict[str, float]]


@_OPEN
class _Examples(TypedDict):
    count: int
    texts: list[str]
    heads: dict[str, list[list[_HeadExamples]]]


def _same_layers(pieces: _Pieces) -> _Pieces:
    if any(not len(layer["names"]) == len(layer["others"]) == len(layer["words"]) for layer in pieces["layers"]):
        raise ValueError("windows are missing")
    return pieces


def _same_windows(sink: _Sink) -> _Sink:
    losses: Any = sink.get("losses", {})
    if "gates" in sink and any(len(losses.get(way, ())) != len(sink["by_window"]) for way in _ByGates.__annotations__):
        raise ValueError("windows are missing")
    return sink


SHAPES: dict[str, TypeAdapter[Any]] = {
    "length": TypeAdapter(_Length), "memory": TypeAdapter(_Memory), "blimp": TypeAdapter(_Blimp),
    "choices": TypeAdapter(_Choices),
    "pieces": TypeAdapter(Annotated[_Pieces, AfterValidator(_same_layers)]),
    "sink": TypeAdapter(Annotated[_Sink, AfterValidator(_same_windows)]), "sentences": TypeAdapter(_Sentences),
    "rouge": TypeAdapter(_Rouge), "examples": TypeAdapter(_Examples),
    "transfer": TypeAdapter(_Transfer), "papa": TypeAdapter(_Papa)}


@_OPEN
class _Card(TypedDict):
    weights: NotRequired[dict[str, str]]
    metric: dict[str, Any]


@_OPEN
class _Header(TypedDict):
    """The header of a measurement: the SHA-256 of the weights, or in older files the card's metric.

    A model that is not released has neither.
    """

    version: NotRequired[int]
    elsewhere: NotRequired[bool]
    weights: NotRequired[str | None]
    metric: NotRequired[dict[str, Any]]


@_OPEN
class _Measured(TypedDict):
    metric: dict[str, Any]


CARD, HEADER, MEASURED = TypeAdapter(_Card), TypeAdapter(_Header), TypeAdapter(_Measured)
