"""Formation of an answer at one position: contributions to logits, and the prediction after each layer, in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from numpy import ndarray

from models.capabilities import Explainable
from models.lab import Lab
from models.nets.residual import Writes
from models.plan import HeadPlan
from models.prompt import Prompt
from models.trace import Trace, fixed

GUESSES = 3  # number of tokens that are shown after each layer


@dataclass(frozen=True, eq=False)
class Formation:
    """What each part adds to the residual stream at one position, and what is predicted after each layer."""

    writes: Writes

    @property
    def nbytes(self) -> int:
        """Memory of the tensors in bytes, without the parameters."""
        parts = [*self.writes.heads.values(), *self.writes.rest.values(), self.writes.states, self.writes.logits]
        return sum(part.nbytes for part in parts)

    @torch.inference_mode()
    def contributions(self, token: int, scale: Writes | None = None) -> tuple[dict[str, ndarray], dict[str, float]]:
        """Returns the contributions to a logit: block -> (L, H), and name of another part -> number."""
        scale = scale or self.writes
        direction = (scale.gain * scale.unembed([token])[0][0]).double()
        if scale.is_centred:
            direction = direction - direction.mean()
        return ({kind: fixed((part.double() @ direction).numpy()) for kind, part in self.writes.heads.items()},
                {name: float(part.double() @ direction) for name, part in self.writes.rest.items()})

    @torch.inference_mode()
    def guesses(self, tokens: Sequence[int]) -> tuple[ndarray, ndarray, ndarray]:
        """Returns the logit lens at the position."""
        chances = self.writes.read(self.writes.states).softmax(-1)
        top = chances.topk(min(GUESSES, chances.shape[-1]))
        return top.indices.numpy(), top.values.numpy(), chances[:, list(tokens)].numpy()


def formation_of(lab: Lab, prompt: Prompt, plan: HeadPlan, position: int, trace: Trace | None = None) -> Formation:
    """Returns the formation of the answer at a position; arguments and errors as of Explainable.writes."""
    return Formation(Explainable.of(lab).writes(prompt, plan, position, trace))


def mlps(rest: Mapping[str, float], layers: int) -> list[float]:
    """Returns the contributions of the L MLPs; 0 for a layer without an MLP."""
    return [rest.get(f"mlp {layer}", 0.0) for layer in range(layers)]
