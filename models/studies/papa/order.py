"""Which heads first: one number a head, learned with a probe on the frozen model (PAPA's --sort_calculating).

    A = sigmoid(lambda) · A_dyn + (1 - sigmoid(lambda)) · C

Lambda begins at 0; heads become constant by lambda, the smallest first, over all layers. Unlike the source, which
trains for 15 epochs at 2e-5, the probe begins as the one that the untouched model has, and lambda has a rate of its
own, so that two epochs are enough.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.generate.sampling import generator
from models.lab import Lab
from models.plan import Address
from models.studies.papa import probes
from models.studies.papa.constants import Fitted
from models.studies.papa.probes import Probe
from models.studies.papa.tasks.token_ids import Texts

EPOCHS, TOKENS, RATE = 2, 256, 0.03
STREAM = 150


def learn(lab: Lab, texts: Texts, labels: Sequence[str], matrices: Tensor, probe: Probe) -> Tensor:
    """(L, H) lambda.

    Args:
        texts: of training.
        labels: of the task, in the order of the probe's.
        matrices: (L, H, GRID, GRID) constants of this task.
        probe: of the untouched model.
    """
    kind, fitted = lab.kinds[0], Fitted(lab, matrices)
    weight = torch.zeros(kind.layers, kind.heads, requires_grad=True)
    probe, answers = probes.trainable(probe), probes.indices(texts, labels)
    optimiser = torch.optim.Adam([{"params": [weight], "lr": RATE},
                                  {"params": list(probe.parameters()), "lr": probes.RATE}])
    for epoch in range(EPOCHS):
        for chosen, batch in texts.batches(TOKENS, generator(STREAM, epoch)):
            states = lab.states(batch, fitted.mixed(weight.sigmoid(), batch.shape[1]))
            loss = probes.batch_loss(probe, lab, states, texts, chosen, answers)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return weight.detach()


def sorted_heads(lab: Lab, weight: Tensor) -> list[Address]:
    """All heads, the smallest lambda first."""
    addresses = lab.kinds[0].addresses
    return [addresses[i] for i in weight.flatten().argsort(stable=True).tolist()]
