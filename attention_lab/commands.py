"""The commands `models`, `run`, `lens`, `contributions` and `learn`, which print results as text or JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from models import HeadPlan
from models.errors import CheckpointError
from models.messages import cut

if TYPE_CHECKING:
    from learning.loop import Learning

COMMANDS = {"models": "lists the models", "run": "prints the prediction and the effect of a plan",
            "lens": "prints the prediction after each layer (logit lens)",
            "contributions": "prints how much each head, MLP and embedding contributes to a token's logit",
            "learn": "trains a small model and prints its loss and accuracy"}
SHOWN = 5  # number of tokens of a prediction in the text output
Result = dict[str, Any]


class Parser(argparse.ArgumentParser):
    """Reports an error in one sentence on stderr, with exit status 2."""

    def error(self, message: str) -> NoReturn:
        """Prints the sentence and exits."""
        self.exit(2, f"{self.prog}: {message}\n")


def main(command: str, arguments: Sequence[str]) -> None:
    """Runs one of COMMANDS."""
    parser = _parser(command)
    options = parser.parse_args(arguments)
    try:
        if command == "learn" and not options.json:
            _learn(options)
            return
        result = _result(command, options)
    except (ValueError, CheckpointError, ImportError) as error:
        parser.error(str(error))
    print(json.dumps(result) if options.json else "\n".join(WORDS[command](result)))


def _parser(command: str) -> Parser:
    parser = Parser(prog=f"attention-lab {command}", description=f"Command that {COMMANDS[command]}.")
    parser.add_argument("--json", action="store_true", help="one JSON object, see docs/command-line.md")
    if command == "models":
        return parser
    if command == "learn":
        parser.add_argument("task", metavar="TASK", help="lookup, repeat, position or count")
        parser.add_argument("--attention", default="softmax", metavar="TYPE", help="default: %(default)s")
        for name, value in (("layers", 2), ("heads", 4), ("seed", 0), ("steps", 1500)):
            parser.add_argument(f"--{name}", type=int, default=value, help="default: %(default)s")
        parser.add_argument("--plan", default="", help="interventions from the first step, for example self-0.1c")
        return parser
    parser.add_argument("model", metavar="MODEL", help="name of a model, hf:ORG/NAME, or a folder as ./FOLDER")
    parser.add_argument("text", metavar="TEXT", help="input text; - reads it from stdin")
    parser.add_argument("--plan", default="", help="interventions on heads as in links, for example self-2.0~7g0")
    parser.add_argument("--source", metavar="TEXT", help="second prompt, for patched heads")
    if command != "run":
        parser.add_argument("--position", type=int, default=-1,
                            help="of the prediction, from 0; negative numbers count from the last one, which is the "
                                 "default")
    if command == "contributions":
        parser.add_argument("--token", help="whose logit is taken apart, with its space; default: the most probable")
        parser.add_argument("--against", metavar="TOKEN", help="whose logit is subtracted")
    return parser


def _result(command: str, options: argparse.Namespace) -> Result:
    from attention_lab import answers  # imports torch, which `--help` does not need

    if command == "models":
        return answers.models()
    plan = HeadPlan.parse(options.plan)
    if command == "learn":
        return answers.learn(_learning(options))
    lab, prompt = answers.opened(options.model, _text(options.text), options.source)
    if command == "run":
        return answers.run(lab, prompt, plan)
    if command == "lens":
        return answers.lens(lab, prompt, plan, options.position)
    return answers.contributions(lab, prompt, plan, options.token, options.against, options.position)


def _learning(options: argparse.Namespace) -> Learning:
    from learning.loop import learn

    return learn(options.task, options.attention, options.layers, options.heads, options.seed, options.steps,
                 HeadPlan.parse(options.plan))


def _learn(options: argparse.Namespace) -> None:
    """Prints one line per moment while the model trains."""
    learning = _learning(options)
    print(f"{learning.recipe}, accuracy of the best guess from the last token: {learning.baseline:.1%}", flush=True)
    for moment in learning:
        print(f"step {moment.step:4}  loss {moment.loss:.4f} nats  right answers {moment.accuracy:6.1%}", flush=True)


def _text(text: str) -> str:
    if text != "-":
        return text
    try:
        read = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("the text on stdin is not UTF-8") from error
    return read.removesuffix("\n").removesuffix("\r")  # `echo` and editors end a text with a line break


def _words_of_models(result: Result) -> Iterator[str]:
    width = max((len(info["name"]) for info in result["models"]), default=0)
    yield from (f"{info['name']:{width}}  {info['attention']}: {info['line']}" for info in result["models"])
    yield from result["hub"]


def _words_of_run(result: Result) -> Iterator[str]:
    yield _head(result)
    for row, tokens in result["tokens"].items():
        yield f"{row}: {' '.join(map(_quoted, tokens))}"
    if result["omitted"]:
        yield f"not read: the last {result['omitted']} tokens or more"
    if result["hint"]:
        yield f"hint: {result['hint']}"
    old, is_changed = result["unmodified"], bool(result["plan"])
    for at, before, after, kl in zip(result["positions"], old["predictions"], result["predictions"], result["kl"],
                                     strict=True):
        yield f"prediction at position {at['position']} of the {at['row']}:"
        yield f"  unmodified: {_top(before)}"
        if is_changed:
            yield from (f"  under the plan: {_top(after)}", f"  KL divergence: {kl:.4f} nats")
    if old["loss"] is not None:
        yield f"loss: {old['loss']:.4f}" + (f" unmodified, {result['loss']:.4f} under the plan" if is_changed else "") \
            + " (nats per token)"
    if "shift" in result:
        yield f"1 - cosine similarity of the text's vectors: {result['shift']['text']:.4f}"
    if old["written"]:
        yield f"output: {cut(old['written'], len(old['written']))}"
        if is_changed:
            yield f"output under the plan: {cut(result['written'], len(result['written']))}"


def _words_of_lens(result: Result) -> Iterator[str]:
    yield _head(result)
    yield f"after {_quoted(result['tokens'][result['position']])} at position {result['position']}:"
    yield from (f"  {f'layer {i}' if i else 'embedding'}: {_top(layer['top'])}"
                for i, layer in enumerate(result["layers"]))
    yield f"the first layer whose top token is the answer: {result['first']}"


def _words_of_contributions(result: Result) -> Iterator[str]:
    against = "" if result["against"] is None else f" minus that of {_quoted(result['against'])}"
    yield _head(result)
    yield f"logit of {_quoted(result['token'])}{against} at position {result['position']}: {result['total']:.3f}, " \
          "the sum of"
    parts = {f"{kind} layer {layer} head {head}": value for kind, layers in result["heads"].items()
             for layer, row in enumerate(layers) for head, value in enumerate(row)} | result["rest"]
    yield from (f"  {value:+.3f}  {name}" for name, value in sorted(parts.items(), key=lambda its: -abs(its[1])))


WORDS = {"models": _words_of_models, "run": _words_of_run, "lens": _words_of_lens,
         "contributions": _words_of_contributions}


def _head(result: Result) -> str:
    return f"{result['model']}, plan: {result['plan'] or 'none'}"


def _top(prediction: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{_quoted(entry['label'])} {entry['probability']:.1%}" for entry in prediction[:SHOWN])


def _quoted(token: str) -> str:
    """Returns a token in quotation marks, without the control characters that a terminal would obey."""
    return f"“{cut(token, len(token))}”"
