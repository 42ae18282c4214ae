"""Releases a trained model: weights, constant matrices and card.json with its shape, data, training and scores.

    python -m models.training.cards NAME ...                 # measures again if a measure has changed; writes the card
    python -m models.training.cards NAME ... --only masses   # only the row sums of relu² attention

The scores are those of the released weights.
"""

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from models.catalogue import names
from models.nets.attention import TYPES
from models.nets.attention.dot_product import rotary_table
from models.nets.attention.mixture import Mixed
from models.nets.config import Config
from models.nets.mean_patterns import ROW_SUMS, mean_pair_patterns, mean_patterns, measured_row_sums
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Block, Model, Transformer
from models.storage import checkpoint
from models.storage.checkpoint import CHECKPOINTS, CheckpointError, read_card, read_json, read_model, write_json
from models.storage.datasets import add_folder_options
from models.storage.released import parts_of
from models.tasks.base import Pairs, Task
from models.tasks.pairs import read_by_decoder
from models.training import variants
from models.training.recipes import RECIPES, PairRecipe, task_of

MASS_TEXTS = 64  # number of training texts over which row sums are averaged
GAU_COUNTERPART_HEADS = 8  # heads of the softmax model that has as many parameters as gated attention units of one head
CONSTANT_TEXTS = 256  # number of training texts over which a constant matrix is averaged
# number of training pairs for texts of at most 64 tokens, few of which have a 30th token; for longer texts there are
# fewer pairs, with the same total number of tokens
CONSTANT_PAIRS, PAIR_TOKENS = 4096, 64


def make_card(name: str, model: Model, task: Task, folder: Path, seed: int, metric: dict[str, Any]) -> dict[str, Any]:
    """Returns the card of a model, or of a checkpoint `MODEL@STEP` of its training."""
    trained, step = parts_of(name)
    recipe, attention = RECIPES[trained], TYPES[model.config.attention]
    batch = task.corpus.batch(recipe.steps - 1, recipe.steps, seed)
    tokens = batch.texts if isinstance(batch, Pairs) else batch.tokens
    card: dict[str, Any] = {
        "name": name,
        "task": task.name,
        "attention": {"title": attention.title, "formula": attention.formula, "source": attention.published},
        "model": {"parameters": model.parameter_count(), "layers": model.config.layers,
                  "heads": model.config.heads, "width": model.config.width,
                  "vocabulary": model.config.vocabulary, "longest_text": model.limit(task.reader.limit)},
        "cost": cost(model.config),
        "data": list(task.reader.data),
        "training": {"steps": int(step or recipe.steps), "tokens_per_step": tokens.numel(), "seed": seed,
                     "optimiser": "Muon and AdamW" if recipe.muon else "AdamW",
                     "learning_rate": recipe.learning_rate, "table_rate": recipe.table_rate,
                     "minutes": None if step else round(seconds_of(folder) / 60, 1),
                     "command": f"python -m models.training {trained}" + (f" --keep {step}" if step else "")},
        "metric": metric,
        "evaluate": f"python -m models.training.evaluate {name}",
        "licence": "MIT (weights)",
    }
    if (folder / "curve.json").exists():
        curve = read_json(folder / "curve.json")
        card["training"]["precision"] = curve["precision"]
        card |= {} if step else {"curve": {"step": curve["step"], "validation_loss": curve["loss"]}}
    if recipe.memory_loss:
        card["training"]["memory_loss"] = recipe.memory_loss
    if recipe.lengths:
        card["training"]["lengths"] = list(recipe.lengths)
    if isinstance(recipe, PairRecipe):
        card["training"] |= {"label_smoothing": recipe.label_smoothing, "dropout": recipe.dropout}
        if recipe.disagreement:
            card["training"] |= {"disagreement": list(recipe.disagreement),
                                 "disagreement_weight": recipe.disagreement_weight}
    if isinstance(model, Seq2Seq):
        card["model"]["encoder_layers"] = model.config.encoder_layers
    blocks = [module for module in model.modules() if isinstance(module, Block)]
    mixed = [source for block in blocks if isinstance(source := block.attention.source, Mixed)]
    if mixed:
        card["alpha"] = {"parts": list(attention.parts),
                         "by_layer": [[round(float(a), 4) for a in source.alpha] for source in mixed]}
    card |= masses_of(model, task) | variants.part_of_card(name)
    others = {path.parent.name.removeprefix("seed-"): read_json(path)["metric"]
              for path in sorted(folder.parent.glob("seed-*/card.json"))}
    return card | ({"other_seeds": others} if others and not step else {})


def masses_of(model: Model, task: Task) -> dict[str, Any]:
    """Returns the mean row sums by length if rows of the attention type need not sum to 1, else an empty dict."""
    if TYPES[model.config.attention].is_distribution or not isinstance(model, Transformer):
        return {}
    return {ROW_SUMS: measured_row_sums(model, task.corpus.typical(MASS_TEXTS))}


def cost(config: Config) -> dict[str, int]:
    """Returns the cost of a model's attention scores, and for comparison that of the scores of softmax attention."""
    counts = dict.fromkeys(("score_parameters", "score_multiplications", "softmax_score_parameters",
                            "softmax_score_multiplications"), 0)
    plain = replace(config, attention="softmax", attention_width=0, heads=config.width // config.head_width)
    for which, priced in (("", config), ("softmax_", plain)):
        if config.heads == 1 and which:
            priced = replace(priced, heads=GAU_COUNTERPART_HEADS, layers=config.layers // 2)
        for layers, length in priced.self_attention_stacks:
            parameters, multiplications = _scores_cost(replace(priced, trained_length=length))
            counts[f"{which}score_parameters"] += layers * parameters
            counts[f"{which}score_multiplications"] += layers * multiplications
    return counts


def _scores_cost(config: Config) -> tuple[int, int]:
    """Returns the parameters of one layer's scores, and their multiplications for one text of the trained length."""
    with torch.device("meta"):
        source = TYPES[config.attention](config).source
        x = torch.empty(1, config.trained_length, config.width)
        rotary = rotary_table(config.trained_length, config.head_width)
        with FlopCounterMode(display=False) as counter:
            source(x, rotary, 1.0)
    return sum(parameter.numel() for parameter in source.parameters()), counter.get_total_flops() // 2


def seconds_of(folder: Path) -> float:
    """Returns the training time in seconds, from the last line of the log."""
    times = re.findall(r"seconds (\d+)", (folder / "log.txt").read_text())
    return float(times[-1]) if times else 0.0


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=names(), metavar="NAME", help=", ".join(names()))
    add_folder_options(parser)
    parser.add_argument("--only", choices=["masses"], help="a part of what a card has")
    arguments = parser.parse_args()
    for name in arguments.names:
        folder = CHECKPOINTS / name
        try:
            card, task = read_card(folder), task_of(name, arguments.data, arguments.runs)
            model = read_model(folder)
            metric = {"metric": task.metric.evaluate(model)} if arguments.only != "masses" else {}
            write_json(folder / "card.json", card | metric | masses_of(model, task))
        except (CheckpointError, FileNotFoundError) as error:
            parser.error(str(error))


def constants_of(model: Model, task: Task) -> dict[str, Tensor]:
    """Returns attention block -> constant matrices (L, H, queries, keys), the mean patterns over training texts."""
    limit = model.limit(task.reader.limit)
    if isinstance(model, Seq2Seq):
        texts, targets = task.corpus.typical(CONSTANT_PAIRS * PAIR_TOKENS // task.reader.limit)
        return mean_pair_patterns(model, texts[:, :limit],
                                  read_by_decoder(targets[:, :model.target_limit(task.reader.target_limit)]))
    return {"self": mean_patterns(cast(Transformer, model), task.corpus.typical(CONSTANT_TEXTS)[:, :limit])}


def finish(name: str, model: Model, task: Task, folder: Path, seed: int, target: Path) -> None:
    """Releases a trained model: computes constant matrices, writes the files, evaluates the written weights."""
    checkpoint.write(target, model, constants_of(model, task))
    shipped = read_model(target)
    card = make_card(name, shipped, task, folder, seed, task.metric.evaluate(shipped))
    write_json(target / "card.json", card | {"weights": checkpoint.digests(target)})


if __name__ == "__main__":
    main()
