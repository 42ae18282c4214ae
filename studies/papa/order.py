"""The order in which heads become constant: one learned number per head (PAPA's --sort_calculating).

    A = sigmoid(lambda) * A_dynamic + (1 - sigmoid(lambda)) * C

Lambda starts at 0. Heads become constant in ascending order of lambda, over all layers. The source trains lambda and
the probe for 15 epochs at 2e-5. Here the probe starts as the trained probe of the unmodified model, and lambda has a
separate learning rate, so that two epochs are enough.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.capabilities import HasStates
from models.generate.decoding import generator
from models.lab import Lab
from models.plan import Address
from studies.papa import probes
from studies.papa.constants import ConstantMatrices
from studies.papa.probes import Probe
from studies.papa.tasks.token_ids import Texts

EPOCHS, SIZE = 2, 16  # number of epochs, and texts per step
RATE, PROBE_RATE = 0.03, 1e-3
STREAM = 150


def learn_lambda(lab: Lab, texts: Texts, labels: Sequence[str], matrices: Tensor, probe: Probe) -> Tensor:
    """Returns lambda (L, H), which is trained together with a copy of the probe."""
    kind, constants = lab.kinds[0], ConstantMatrices(lab, matrices)
    weight = torch.zeros(kind.layers, kind.heads, requires_grad=True)
    probe, numbers = probes.trainable_copy(probe), probes.label_indices(texts, labels)
    optimiser = torch.optim.Adam([{"params": [weight], "lr": RATE},
                                  {"params": list(probe.parameters()), "lr": PROBE_RATE}])
    for epoch in range(EPOCHS):
        for batch in texts.shuffled(SIZE, generator(STREAM, epoch)):
            share = weight.sigmoid()
            states = [HasStates.of(lab).states(ids, constants.mixed(share, ids.shape[1])) for _chosen, ids in batch]
            loss = probes.batch_loss(probe, states, lab, texts, batch, numbers)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return weight.detach()


def sorted_heads(lab: Lab, weight: Tensor) -> list[Address]:
    """Returns the addresses of all heads in ascending order of lambda; `weight` is (L, H)."""
    addresses = lab.kinds[0].addresses
    return [addresses[i] for i in weight.flatten().argsort(stable=True).tolist()]
