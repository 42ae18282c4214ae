"""The training recipe of each released model.

Models of a family have the same data, steps and seed, so that two of these models differ in the attention type only.
Each attention type has separate learning rates, which are chosen by the same rule for all types
(models/training/sweeps).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models import catalogue
from models.nets.config import Config, PairConfig
from models.storage.datasets import DATA
from models.tasks import TASKS
from models.tasks.assignment import TRAINED_EVENTS
from models.tasks.base import Task
from models.tasks.dialogue import DialogueReader
from models.tasks.masked import LENGTH, MIXED, MaskedReader
from models.tasks.pairs import PairReader
from models.tasks.stories import CONTEXT, StoriesReader
from models.tasks.summary import SummaryReader
from models.tasks.translation import TranslationReader
from models.training import sweeps

# Models that are compared with each other are trained for one pass over the pairs. Three seeds of nine models take
# eight hours on one core, and would take thirty-six hours with five passes.
_one_pass: dict[str, Any] = {"steps": 800, "warmup": 100}
# Steps of the short trainings with several seeds, which measure the spread over seeds. They are the same for all models
# of a family, and fewer than in the recipes. Assignment is the exception: before 2,000 steps it is not learned at all.
SHORT = {"assignment": 3000, "stories": 1200, "masked": 900, "translation": 800, "summary": 800, "dialogue": 800}


@dataclass(frozen=True)
class Recipe:
    """The training of one model."""

    config: Config  # shape of the model
    steps: int  # number of optimiser steps
    learning_rate: float  # largest learning rate, after the warm-up; a cosine lowers it to a tenth
    warmup: int = 100  # number of steps of the linear warm-up
    # True to train matrices by Muon, scaled to AdamW's step size, and all other parameters by AdamW; False for AdamW
    # alone. W2 of dense Synthesizers, a stack of one matrix per head, is trained by AdamW.
    muon: bool = False
    beta2: float = 0.95  # decay of AdamW's second moment
    weight_decay: float = 0.1  # weight decay of matrices; vectors, stacks and tables have none
    table_rate: float = 10.0  # factor on the rate of a Synthesizer's tables, which have to change more
    # initial_std and embedding_std: standard deviations of the initial weights, see Transformer
    initial_std: float | None = None
    embedding_std: float = 0.02
    memory_loss: float = 0.0  # weight of selective attention's memory loss; 0 for none
    lengths: tuple[int, ...] = ()  # lengths of the training texts, if they differ from the family's usual length
    compiled: bool = False  # True to train under torch.compile, which is faster if every step has the same shape


@dataclass(frozen=True)
class PairRecipe(Recipe):
    """The training of an encoder-decoder."""

    label_smoothing: float = 0.1  # fraction of the target's probability that is spread over the vocabulary
    dropout: float = 0.0  # see Seq2Seq
    disagreement: tuple[str, ...] = ()  # terms of nets/disagreement.py that are maximised too
    disagreement_weight: float = 1.0  # weight lambda of these terms; 1 in the source


def _pair_config(reader: type[PairReader]) -> PairConfig:
    shorter = reader.target_limit if reader.target_limit < reader.trained_length else 0
    return PairConfig("", vocabulary=reader.vocabulary, width=192, layers=3, heads=8,
                      trained_length=reader.trained_length, encoder_layers=3, target_length=shorter)


# These rates are for attention types without a result in models/training/sweeps. The steps are 1.6 passes over the
# texts for stories and for masked. With 1,200 and 900 steps, as in SHORT, the ranking of the types still changed
# from step to step. Three settings decide whether variable assignment is learned at all. Selective attention at 24
# events reached an accuracy of 0.66 after 4,000 steps if embeddings have initial standard deviation 0.02 instead of 1;
# 0.64 after 3,000 steps with learning rate 2e-3 and beta2 0.95; above 0.99 after 2,000 steps with these settings.
_assignment = Recipe(Config("", vocabulary=64, width=128, layers=3, heads=4, output_scale=0.1,
                            trained_length=2 * TRAINED_EVENTS + 1), steps=3000,
                     learning_rate=1e-3, beta2=0.99, weight_decay=0.01, embedding_std=1.0)
# After 300 steps of 16 texts, Muon has perplexity 24.9 on stories and 99 on books, AdamW at its best rate 32.7 and 119.
# Muon with 8 texts per step and 600 steps has 19.7 and 89.
_stories = Recipe(Config("", vocabulary=StoriesReader.vocabulary, width=192, layers=4, heads=8, trained_length=CONTEXT),
                  steps=4800, learning_rate=8e-3, muon=True, initial_std=0.02, compiled=True)
_masked = replace(_stories, steps=2400, config=replace(
    _stories.config, vocabulary=MaskedReader.vocabulary, causal=False, trained_length=LENGTH))

# Five passes over the pairs; label smoothing is that of Vaswani et al. (2017), section 5.4. Their dropout is meant for
# many more passes, and makes a step half as long again (1.8 instead of 1.2 s on one core).
_translation = PairRecipe(_pair_config(TranslationReader),
                          steps=4000, learning_rate=4e-3, warmup=200, muon=True, initial_std=0.02, compiled=True)
# 1.6 passes (summary) and 1.3 passes (dialogue) over the pairs take an hour on half a core. The learning rate is the
# one that the sweeps of translation and dialogue chose for all their attention types; the models have the same shape.
# They are not compiled: compilation takes a minute per shape of batches and saves only a sixth of the time of a step.
_summary = replace(_translation, steps=1600, learning_rate=8e-3, warmup=100, compiled=False,
                   config=_pair_config(SummaryReader))
_dialogue = replace(_summary, steps=1200, config=_pair_config(DialogueReader))


def _with(family: str, attention: str, swept: str = "", **changes: Any) -> Recipe:
    """Returns the recipe of an attention type in a family, with the rates that the sweep chose."""
    recipe = {"assignment": _assignment, "stories": _stories, "masked": _masked, "translation": _translation,
              "summary": _summary, "dialogue": _dialogue}[family]
    # Two gated attention units have about a tenth more parameters than one block.
    shape: dict[str, Any] = {"heads": 1, "layers": 2 * recipe.config.layers} if attention.startswith("gau-") else {}
    own = sweeps.chosen(family, swept) if swept else {}
    changes = (own or sweeps.chosen(family, attention)) | changes
    return replace(recipe, config=replace(recipe.config, attention=attention, **shape), **changes)


def _as(recipe: Recipe, **config: Any) -> Recipe:
    """Returns the recipe with these fields of the model's config changed."""
    return replace(recipe, config=replace(recipe.config, **config))


# family -> variant -> recipe; a model's name is FAMILY-VARIANT
VARIANTS: dict[str, dict[str, Recipe]] = {
    "assignment": {name: _with("assignment", name) for name in ("softmax", "selective", "random", "log-n")},
    "stories": {
        **{name: _with("stories", name) for name in (
            "softmax", "log-n", "scalable-softmax", "selective", "gated", "dense", "random", "fixed-random",
            "factorized-dense", "factorized-random", "random-dense", "dense-softmax", "random-softmax")},
        "selective-memory": _with("stories", "selective", "selective-memory", memory_loss=0.1),
        # A model with twice as many heads, each as wide as the heads of the other models.
        "softmax-wide": _as(_with("stories", "softmax", "softmax-wide"), heads=16, attention_width=384),
        "softmax-512": _as(_with("stories", "softmax"), trained_length=512),
        "selective-512": _as(_with("stories", "selective"), trained_length=512),
        "selective-memory-512": _as(_with("stories", "selective", memory_loss=0.1), trained_length=512)},
    "masked": {
        **{name: _with("masked", name) for name in (
            "softmax", "log-n", "scalable-softmax", "temperature", "gau-relu2", "gau-relu2-learned", "gau-softmax",
            "gau-log-n")},
        # For comparison with masked-gau-softmax, which is evaluated at this length without training at it.
        "gau-softmax-128": _as(_with("masked", "gau-softmax", lengths=(128,)), trained_length=128),
        "gau-relu2-mixed": _with("masked", "gau-relu2-mixed", lengths=MIXED)},
    "translation": {
        "softmax": _with("translation", "softmax"),
        "softmax-one-pass": _with("translation", "softmax", **_one_pass),
        **{name: _with("translation", name, **_one_pass) for name in (
            "dense", "random", "factorized-random", "random-softmax")},
        **{f"disagreement-{name}": _with("translation", "softmax", disagreement=terms, **_one_pass)
           for name, terms in {"sub": ("sub",), "pos": ("pos",), "out": ("out",),
                               "all": ("sub", "pos", "out")}.items()}},
    **{family: {name: _with(family, name) for name in (
        "softmax", "random", "dense", "dense-softmax", "random-softmax")} for family in ("summary", "dialogue")},
}
RECIPES = {f"{family}-{variant}": recipe for family, recipes in VARIANTS.items() for variant, recipe in recipes.items()}
FAMILIES = {f"{family}-{variant}": family for family, recipes in VARIANTS.items() for variant in recipes}


def short_recipe(name: str) -> Recipe:
    """Returns the shorter recipe of the trainings that only measure the spread over seeds (studies/seeds.py)."""
    return replace(RECIPES[name], steps=SHORT[FAMILIES[name]])


def family_of(name: str) -> str:
    """Returns the family (a key of TASKS) of a model with a recipe, or of a released model, from its card."""
    return FAMILIES[name] if name in FAMILIES else catalogue.find(name).task.name


def is_current(name: str, training: Mapping[str, Any]) -> bool:
    """Returns False if a training had other learning rates than those that the sweep chooses now."""
    return name not in RECIPES or all(training.get(rate) in (None, getattr(RECIPES[name], rate))
                                      for rate in ("learning_rate", "table_rate"))


def task_of(name: str, data: Path = DATA, cache: Path | None = None) -> Task:
    """Returns the task of a model."""
    family = family_of(name)
    options: dict[str, Any] = {}
    if family == "stories":
        options = {"context": RECIPES[name].config.trained_length}
    if family == "masked" and RECIPES[name].lengths:
        options = {"lengths": RECIPES[name].lengths}
    return TASKS[family].build(data, cache, **options)
