"""Descriptions of the variants: models that differ from the base model of their attention type in more than the seed.

`python -m models.training.variants` writes them into the cards of the released models.
"""

from dataclasses import asdict
from typing import Any

from models.info import Variant
from models.messages import N_
from models.storage.checkpoint import CHECKPOINTS, read_card, write_json
from models.storage.released import parts_of

_SHORTER_MEMORY = N_("Trained to keep few words in memory.")
_LONGER = N_("The same attention type, trained on 512 tokens.")
_GATED = N_("Learned gates pruned heads; the weights were trained further.")
_LEFT = N_("{n} heads left")
_STEP, _LABEL = N_("step {n}"), N_("checkpoint")
_AGAIN = N_("A checkpoint of a second training; the released model is from the first.")

VARIANTS = {
    "stories-selective-memory": Variant("stories-selective", N_("selective, memory loss"), N_("memory"),
                                        _SHORTER_MEMORY, 6, 1),
    "stories-selective-memory-512": Variant(
        "stories-selective", N_("selective, memory loss, 512 tokens"), N_("memory, 512 tokens"),
        N_("Trained to keep few words in memory, at 512 tokens."), 6, 4),
    "stories-selective-512": Variant("stories-selective", N_("selective, 512 tokens"), N_("512 tokens"), _LONGER, 1, 3),
    "stories-softmax-512": Variant("stories-softmax", N_("softmax, 512 tokens"), N_("512 tokens"), _LONGER, 0, 4),
    "stories-softmax-wide": Variant(
        "stories-softmax", N_("softmax, twice the heads"), N_("twice the heads"),
        N_("Softmax, twice the heads and attention parameters."), 7, 0),
    "masked-gau-softmax-128": Variant("masked-gau-softmax", N_("GAU softmax, 128 tokens"), "128", "", 3, 5),
    "translation-softmax-one-pass": Variant(
        "translation-softmax", N_("softmax, one pass"), N_("one pass"),
        N_("Softmax trained with one pass, as a baseline."), 0, 3),
    "translation-disagreement-sub": Variant(
        "translation-softmax", N_("values disagree"), N_("values disagree"),
        N_("Heads trained to have different values."), 1, 0),
    "translation-disagreement-pos": Variant(
        "translation-softmax", N_("positions disagree"), N_("positions disagree"),
        N_("Heads trained to attend to different positions."), 2, 2),
    "translation-disagreement-out": Variant(
        "translation-softmax", N_("outputs disagree"), N_("outputs disagree"),
        N_("Heads trained to have different outputs."), 6, 1),
    "translation-disagreement-all": Variant(
        "translation-softmax", N_("all three disagree"), N_("all three disagree"),
        N_("Heads trained to differ in values, positions and outputs."), 5, 4),
    "translation-pruned-60": Variant("translation-softmax", _LEFT, _LEFT, _GATED, 3, 4, n=60),
    "translation-pruned-55": Variant("translation-softmax", _LEFT, _LEFT, _GATED, 4, 5, n=55),
}


def part_of_card(name: str) -> dict[str, Any]:
    """Returns the `variant` entry of a model's card; an empty dict for the base model of an attention type."""
    model, step = parts_of(name)
    variant = Variant(model, _LABEL, _STEP, _AGAIN, 0, 5, n=int(step)) if step else VARIANTS.get(name)
    return {} if variant is None else \
        {"variant": {key: value for key, value in asdict(variant).items() if key != "n" or value}}


def main() -> None:
    """Writes the descriptions into the cards."""
    for name in VARIANTS:
        path = CHECKPOINTS / name / "card.json"
        if path.exists():
            write_json(path, read_card(path.parent) | part_of_card(name))


if __name__ == "__main__":
    main()
