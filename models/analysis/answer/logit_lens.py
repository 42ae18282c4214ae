"""Logit lens: the prediction that each layer's residual stream would give (nostalgebraist 2020).

    prediction of layer l = softmax(E norm(x_l))        x_0: the embedding, x_L: the output of the last layer

The final norm and the unembedding E of the model were trained for x_L only, so the predictions of early layers are
only approximate (Belrose et al. 2023, arXiv 2303.08112).
"""

from dataclasses import dataclass

import numpy
import torch
from numpy import ndarray

from models.capabilities import Explainable
from models.lab import Lab, read
from models.plan import HeadPlan
from models.prompt import Prompt
from models.trace import Arrays, fixed

MOST_LOGITS = 8 * 2**20  # largest number of logits computed at once: 32 MB


@dataclass(frozen=True, eq=False)
class LogitLens(Arrays):
    """Predictions by layer; L layers, P positions, the k most probable tokens. Arrays are read-only.

    Attributes:
        probabilities: (L + 1, P, k) float32, the highest first; [0] is for the embedding, [L] for the model's output.
        ids: (L + 1, P, k) token ids.
        labels: (L + 1, P, k) the same tokens as strings.
        positions: (P,) positions in the predicting token sequence: each token of a causal model, the hidden tokens of
            a masked model, each token of a decoder.
        final: (L + 1, P) float32 probability of the model's final answer, the top token of layer L.
        first: (P,) the first layer, 0 to L, whose top token is the final answer.
        tokens: the predicting token sequence.
    """

    probabilities: ndarray
    ids: ndarray
    labels: ndarray
    positions: ndarray
    final: ndarray
    first: ndarray
    tokens: tuple[str, ...]


def logit_lens(lab: Lab, text: str, plan: HeadPlan = HeadPlan(), k: int = 5, source: str | None = None) -> LogitLens:
    """Returns the top tokens of every layer at every position with a prediction.

    Args:
        lab: a model that predicts tokens.
        text: the input text; for a masked model, words in [brackets] are masked.
        plan: interventions on heads.
        k: number of tokens per layer and position, 1 or more.
        source: the second prompt of patched heads.

    Returns:
        See LogitLens. For an encoder-decoder, the positions are those of the decoder's tokens under the plan.

    Raises:
        InputError: the text cannot be tokenised.
        ValueError: the model predicts no tokens, the text contains no masked word, the structure of an imported model
            does not allow this measure, or the errors of models.run.
    """
    return lens_of(lab, read(lab, text, source), plan, k)


@torch.inference_mode()
def lens_of(lab: Lab, prompt: Prompt, plan: HeadPlan = HeadPlan(), k: int = 5) -> LogitLens:
    """Returns the result of `logit_lens` for a prompt; a teacher-forced target is the same for all plans."""
    residuals, tokens = Explainable.of(lab).residuals(prompt, plan)
    labels = lab.task.labels
    layers, count, _ = residuals.states.shape
    k = min(k, len(labels))
    probabilities = numpy.empty((layers, count, k), numpy.float32)
    ids = numpy.empty((layers, count, k), numpy.int64)
    final = numpy.empty((layers, count), numpy.float32)
    first = numpy.full(count, layers - 1)
    together = max(1, MOST_LOGITS // len(labels))
    for part in (slice(start, start + together) for start in range(0, count, together)):
        answer = None  # (positions, 1) the top token of the last layer
        for layer in reversed(range(layers)):
            after = residuals.logits(residuals.states[layer, part]).softmax(-1)
            top = after.topk(k)
            answer = top.indices[:, :1] if answer is None else answer
            probabilities[layer, part], ids[layer, part] = top.values.numpy(), top.indices.numpy()
            final[layer, part] = after.gather(-1, answer)[:, 0].numpy()
            first[part][ids[layer, part, 0] == answer[:, 0].numpy()] = layer
    words = numpy.array([labels[i] for i in ids.flat], dtype=object).reshape(ids.shape)
    return LogitLens(fixed(probabilities), fixed(ids), fixed(words), fixed(numpy.array(residuals.positions)),
                     fixed(final), fixed(first), tokens)
