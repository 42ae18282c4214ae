"""The loss per byte of text, in which models with different tokenizers can be compared."""

import numpy
from numpy import ndarray

from models.prompt import Prompt, readable
from models.tasks.base import Reader


def loss_per_byte(reader: Reader, text: str, prompt: Prompt, losses: ndarray) -> float:
    """Returns the mean loss per byte of the predicted text, in nats, from the losses (N,) of a Trace.

    A mean per token is lower for a tokenizer with shorter tokens. The sum of the losses over the bytes of the same text
    does not depend on how the text is cut into tokens. NaN without losses of text tokens, and for an encoder-decoder,
    whose losses are of another text. Control tokens are not counted, nor a first token that has no prediction.
    """
    is_text, parts = reader.is_text(prompt.ids), reader.bytes_of(prompt.ids)
    shift = 1 if reader.predicts_next else 0
    if len(losses) != len(prompt.ids):
        return float("nan")
    scored = [(place + shift, float(losses[place])) for place in range(len(prompt.ids) - shift)
              if not numpy.isnan(losses[place]) and is_text[place + shift]]
    size = sum(len(parts[place].split()) if place in parts else _size(prompt, reader, place) for place, _ in scored)
    whole = len(readable(text)[:prompt.read_chars].encode())  # SentencePiece adds a space in front of the text
    return sum(loss for _, loss in scored) / min(size, whole) if scored and whole else float("nan")


def _size(prompt: Prompt, reader: Reader, place: int) -> int:
    return len(reader.token_at(prompt, place).removeprefix("##").encode())
