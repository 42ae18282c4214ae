"""Metrics of trainings with several seeds, from which the verdicts estimate the spread over seeds.

    python -m studies.seeds stories-softmax --seed 1           # a short training
    python -m studies.seeds stories-softmax --seed 1 --full    # as many steps as the released model has

trains models, adds the metrics of that seed to studies/seed_metrics/NAME.json, or to seed_metrics/full/NAME.json, and
releases no weights. A stopped training resumes from its state in runs/NAME. A GPU is used if there is one.

    {"name": ..., "steps": 1200, "metrics": {"0": {...}, "1": {...}, "2": {...}}}

The metrics of a seed include the precision and the learning rates of its training; older files lack both. A seed that
was trained at another rate than the recipe's is ignored. The metrics also include one value per held-out text, so that
two models are compared text by text (per_text.py); older files of translations lack these values.
"""

import argparse
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from models.errors import broken, in_repository
from models.messages import message
from models.nets.attention.base import Intervention
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Model, Transformer
from models.plan import Scale
from models.storage.checkpoint import locked, write_json
from models.tasks.assignment import GROUPS, Answered, AssignmentMetric
from models.tasks.base import Task
from models.tasks.masked import MaskedMetric
from models.tasks.pairs import PairMetric
from models.tasks.stories import StoriesMetric, StoriesReader
from models.tasks.text_scores import rouge_of_texts, rouge_scorer, sacrebleu
from models.tasks.translation import TranslationMetric
from models.training.recipes import RECIPES, SHORT, family_of, is_current, short_recipe, task_of
from models.training.trainer import precision_for, short_folder, train, train_each, training_parser
from studies import per_text
from studies.generated.sentences import sentence_bleu
from studies.zero_shot import blimp, choices

SEEDS = Path(__file__).with_name("seed_metrics")
FULL = "full"  # subfolder with the metrics of full trainings
# models of stories whose full trainings are also measured on tasks for which they were not trained
ZERO_SHOT = ("stories-softmax", "stories-selective")
TEXT = 1024  # number of tokens per text of stories or books, for the standard error due to the sampling of texts
# attention type -> scale policies under which a claim evaluates it, in addition to the trained one
READINGS = {"gau-relu2": ("length",), "gau-softmax": ("logn",)}


def add(name: str, steps: int, seed: int, metric: dict[str, Any], folder: Path | None = None) -> None:
    """Adds the metrics of one seed to the model's file, and deletes those of another number of steps."""
    path = (folder or SEEDS) / f"{name}.json"
    with locked(path.parent):
        old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        metrics = old["metrics"] if old.get("steps") == steps else {}
        metrics = dict(sorted((metrics | {str(seed): metric}).items(), key=lambda item: int(item[0])))
        partial = path.with_suffix(".partial")
        write_json(partial, {"name": name, "steps": steps, "metrics": metrics})
        partial.replace(path)


def measured(model: Model, task: Task) -> dict[str, Any]:
    """Returns the task's metric and one value per held-out text."""
    metric = task.metric
    if isinstance(metric, PairMetric):
        return metric.evaluate(model) | of_generated(cast(Seq2Seq, model), task)
    assert isinstance(model, Transformer)  # only tasks of pairs have other models
    if isinstance(metric, AssignmentMetric):
        answered = metric.answered(model)
        return metric.scores_of(answered) | {"texts": {str(events): texts_of_answers(answers)
                                                     for events, answers in answered.items()}}
    if isinstance(metric, MaskedMetric):
        guessed = metric.guessed(model)
        metrics = metric.scores_of(guessed) | {"texts": {str(length): per_text.counted(guesses.right, guesses.stretches)
                                                     for length, guesses in guessed.items()}}
        return metrics | ({"readings": readings(model, metric)} if model.config.attention in READINGS else {})
    if isinstance(metric, StoriesMetric):
        losses = metric.losses(model)
        return metric.scores_of(losses) | {"text_losses": text_losses(losses, metric.corpus.trained_length)}
    raise TypeError(f"{task.name}: nothing is known of its texts")


def of_generated(model: Seq2Seq, task: Task) -> dict[str, list[float]]:
    """Returns one value per generated text: `sentence_bleu` of translations, `rouge_texts` (ROUGE-L) of other texts."""
    metric, (texts, references) = cast(PairMetric, task.metric), task.corpus.test()
    generated = metric.translate(model, texts)
    if isinstance(metric, TranslationMetric):
        return {"sentence_bleu": sentence_bleu(generated, references)}
    return {"rouge_texts": [round(float(score), 2) for score in rouge_of_texts(generated, references)["rougeL"]]}


def zero_shot(model: Transformer, task: Task, data: Path) -> dict[str, Any]:
    """Returns the results of a stories model on the next sentences (`choices`) and on BLiMP (`blimp`)."""
    reader = cast(StoriesReader, task.reader)
    return {"choices": {name: choices.measure(model, reader, choices.read_items(data, name)) for name in choices.SETS},
            "blimp": blimp.measure(model, reader, blimp.read_pairs(data))}


def texts_of_answers(answered: Answered) -> dict[str, dict[str, list[int]]]:
    """Returns the answers by group of texts, in the form that per_text.shares reads."""
    count = len(answered.tokens)
    groups = (torch.arange(count) * GROUPS // count).unsqueeze(1).expand_as(answered.right)
    return {what: per_text.counted(answered.right[queries], groups[queries])
            for what, queries in answered.among().items()}


def text_losses(losses: Mapping[str, Tensor], window: int) -> list[float]:
    """Returns the mean losses of texts of TEXT tokens in nats."""
    together = TEXT // window
    return [round(float(mean), 4) for values in losses.values()
            for mean in values[:len(values) // together * together].unflatten(0, (-1, together)).mean(1)]


def readings(model: Transformer, metric: MaskedMetric) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns the results at hidden tokens of held-out text under the scale policies in READINGS."""
    def read(policy: str, length: int) -> dict[str, list[Intervention]]:
        scale = Scale(policy, model.config.trained_length if policy == "logn" else None)
        return {"interventions": [Intervention(factor=block.attention.factor(scale, length)) for block in model.blocks]}

    return {policy: {str(length): {"accuracy": guesses.accuracy, "loss": round(float(guesses.losses.mean()), 4),
                                   "texts": per_text.counted(guesses.right, guesses.stretches)}
                     for length, guesses in metric.guessed(model, functools.partial(read, policy)).items()}
            for policy in READINGS[model.config.attention]}


def read_seeds(name: str, folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """Returns the metrics of a model's trainings in one folder by seed."""
    path = (folder or SEEDS) / f"{name}.json"
    if not path.exists():
        return {}
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {str(seed): metric for seed, metric in that_count(name, stored).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise broken(in_repository(path), message("is damaged")) from error


def that_count(name: str, stored: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Returns the metrics of the trainings that are long enough and had the recipe's current learning rates."""
    metrics = {int(seed): dict(metric) for seed, metric in stored["metrics"].items() if is_current(name, metric)}
    return metrics if int(stored["steps"]) >= SHORT[family_of(name)] else {}  # else they may have another spread


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = training_parser(__doc__)
    parser.add_argument("--full", action="store_true", help="train as many steps as the released model")
    train_each(parser, _train_one)


def _train_one(arguments: argparse.Namespace, name: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    task = task_of(name, arguments.data, arguments.runs)
    if isinstance(task.metric, PairMetric):  # reports a missing library before the training
        sacrebleu()
        rouge_scorer()
    recipe = RECIPES[name] if arguments.full else short_recipe(name)
    folder = arguments.runs / name / f"seed-{arguments.seed}" if arguments.full else \
        short_folder(arguments.runs, name, recipe, arguments.seed)
    precision = precision_for(folder, device, arguments.precision)
    model = train(recipe, task.corpus, folder, arguments.seed, device, precision).cpu()
    metric = measured(model, task)
    if arguments.full and name in ZERO_SHOT:
        metric |= zero_shot(cast(Transformer, model), task, arguments.data)
    settings = {"precision": precision, "device": device.type, "learning_rate": recipe.learning_rate,
                "table_rate": recipe.table_rate}
    add(name, recipe.steps, arguments.seed, metric | settings, SEEDS / FULL if arguments.full else None)


if __name__ == "__main__":
    main()
