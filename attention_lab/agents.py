"""The command `mcp`: the functions of `answers` as read-only tools for an agent, with the limits of a public host."""

import functools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

import attention_lab
from app.server import limits
from attention_lab import answers
from learning import loop
from models import HeadPlan, Lab
from models.errors import CheckpointError
from models.labs.foreign import HUB, cached
from models.labs.foreign.opening import hub
from models.prompt import Prompt

ABOUT = """Small Transformers, one per attention type, and interventions on their attention heads.
`models` lists the models. A plan is a text: `self-2.0~7g0` prunes the heads 0 to 7 of layer 2 of the block `self`,
`self-1.3c` makes head 3 of layer 1 constant, `self-0.2g0.5` halves its output; `_` joins the blocks `self`, `encoder`,
`decoder` and `cross`. Layers, heads and positions are counted from 0; KL divergences and losses are in nats."""
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
Arguments = ParamSpec("Arguments")
_one = threading.Lock()  # the SDK runs tools in threads; one pass at a time


@dataclass
class Agent:
    """The visitor whose allowance the tools use; implements limits.Visitor."""

    allowance: limits.Allowance = field(default_factory=limits.Allowance)
    address: str | None = None


def tool(function: Callable[Arguments, dict[str, Any]]) -> Callable[Arguments, dict[str, Any]]:
    """Returns the function as a tool, whose expected errors are sentences for the agent."""
    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> dict[str, Any]:
        try:
            with _one:
                return function(*args, **kwargs)
        except (ValueError, CheckpointError, ImportError, limits.LimitError) as error:
            raise ToolError(str(error)) from error
    return call


def models() -> dict[str, Any]:
    """Lists the models: name, task, attention type, one sentence, layers and heads per block, most tokens of a text."""
    return answers.models()


def run(model: str, text: str, plan: str = "", source: str | None = None) -> dict[str, Any]:
    """Runs a model on a text without and with a plan: tokens, predictions, losses, and the KL divergence of each.

    A masked model predicts the words in [brackets]. `source` is the second prompt of patched heads.
    """
    lab, prompt = _opened(model, text, source, passes=2)
    return answers.run(lab, prompt, HeadPlan.parse(plan))


def lens(model: str, text: str, plan: str = "", position: int = -1) -> dict[str, Any]:
    """Returns the prediction after each layer at one position (logit lens); layer 0 is the embedding."""
    lab, prompt = _opened(model, text)
    return answers.lens(lab, prompt, HeadPlan.parse(plan), position)


def contributions(model: str, text: str, plan: str = "", token: str | None = None, against: str | None = None,
                  position: int = -1) -> dict[str, Any]:
    """Returns how much each head, MLP and embedding contributes to the logit of a token; the sum is `total`.

    Without `token`, the most probable one is taken. The logit of `against` is subtracted.
    """
    lab, prompt = _opened(model, text)
    return answers.contributions(lab, prompt, HeadPlan.parse(plan), token, against, position)


def learn(task: str, attention: str = "softmax", layers: int = 2, heads: int = 4, seed: int = 0, steps: int = 1500,
          plan: str = "") -> dict[str, Any]:
    """Trains a small model, at most 3,000 steps, and returns its loss and accuracy at about 60 steps.

    Tasks: `lookup` (latest value of a variable), `repeat` (induction), `position` (fixed distance), `count` (most
    frequent symbol). The plan holds from the first step; a constant head has even weights. `baseline` is the accuracy
    without attention. 1,500 steps take about 20 s.
    """
    limits.spend(limits.TRAININGS)
    return answers.learn(loop.learn(task, attention, layers, heads, seed, steps, HeadPlan.parse(plan)))


def _opened(model: str, text: str, source: str | None = None, passes: int = 1) -> tuple[Lab, Prompt]:
    """Returns model and prompt, and counts the work against the limits."""
    if model.startswith(HUB) and cached(model) is None:
        limits.spend(limits.DOWNLOADS)
    lab, prompt = answers.opened(model, text, source)
    searches = 2 * limits.beam_passes_of(prompt) if answers.writes(lab) else 0
    limits.spend(limits.PASSES, passes * limits.passes_of(prompt) + searches)
    return lab, prompt


def main() -> None:
    """Serves the tools until stdin is closed."""
    os.environ[hub.SETTING] = "1"
    agent = Agent()
    limits.charge(lambda: agent)
    server = MCPServer("attention-lab", instructions=ABOUT, version=attention_lab.__version__, log_level="WARNING")
    for function in (models, run, lens, contributions, learn):
        server.tool(annotations=READ_ONLY)(tool(function))
    server.run("stdio")


if __name__ == "__main__":
    main()
