"""Peak memory of every feature on one imported model, under a hard limit.

    python -m tests.models.foreign_memory FOLDER TOKENS

prints a JSON object: feature -> largest memory of the process in MB while the feature ran. The process fails if a
feature needs more than SPARE bytes beside the process with the model in it.
"""

import contextlib
import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import torch

import models
from app import exports
from app.content import effect
from models.analysis import head_groups, head_measures, minimal_heads
from models.analysis.answer import head_attribution, logit_lens
from models.analysis.gated_predictions import Gating, Question
from models.errors import CancelledError, InputError, StructureError
from models.labs.foreign.reading.readers import MaskedReader, Seq2SeqReader
from models.prompt import Prompt

SPARE = 1_200_000_000  # two full sets of logits, 512 tokens at 262,144 entries, would not fit
WORDS = "the cat sat on the mat "


def main() -> None:
    torch.set_num_threads(1)
    lab, tokens = models.load_folder(Path(sys.argv[1])), int(sys.argv[2])
    masks = isinstance(lab.task, MaskedReader)
    prompt = lab.read(("the [cat] sat on the [mat] " if masks else WORDS) * 200, tokens)
    assert len(prompt.ids) == tokens
    prompt = lab.anchored(prompt.with_source(lab.read(("the [mat] sat on the [cat] " if masks else "a " + WORDS) * 200,
                                                      tokens)))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + SPARE, size + SPARE))
    print(json.dumps({name: peak_of(run) for name, run in features(lab, prompt).items()}))


def peak_of(run: Callable[[], object]) -> int:
    """Returns the largest resident memory while a function runs, in MB."""
    Path("/proc/self/clear_refs").write_text("5")  # begins a new peak
    with contextlib.suppress(InputError, StructureError):  # refused at the end, or by the structure
        run()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024


def features(lab: models.Lab, prompt: Prompt) -> dict[str, Callable[[], object]]:
    kind = lab.kinds[0].name
    plan = models.HeadPlan().gate(kind, 0, 0, 0.5)
    before, after = (lab.sketch(prompt, [its])[0] for its in (models.HeadPlan(), plan))
    gating = Gating.of(lab, prompt, Question.of(before, -1))
    layer = lab.layer(prompt, plan, kind, 0)

    def files() -> None:
        maps = exports.with_sinks(lab, {(kind, 0): layer})
        info = exports.about(lab, after, str(plan), "")
        exports.as_npz(info, before, after, maps)
        exports.as_json(info, before, after, maps)
        exports.as_csv(info, before, after, maps, {kind: lab.kinds[0].causal})

    def groups() -> None:
        steps = iter([False, False])  # all steps need the same memory
        with contextlib.suppress(CancelledError):
            head_groups.fit(gating, cancelled=lambda: next(steps, True))

    found: dict[str, Callable[[], object]] = {
        "maps": lambda: lab.sketch(prompt, [models.HeadPlan(), plan]),
        "all maps": lambda: lab.run(prompt, [plan]),
        "patched": lambda: lab.sketch(prompt, [plan.patch(kind, 0, 1)]),
        "effect": lambda: effect.prediction(lab, before, after, 0),
        "confidence": lambda: head_measures.confidences(lab, lab.run(prompt, [plan])[0]),
        "minimal heads": lambda: minimal_heads.learn(gating, len(prompt.ids), steps=2),
        "pruning": lambda: gating.prune_each(gating.divergence),
        "three groups": groups,
        "files": files,
        "why here": lambda: lab.score_parts(prompt, plan, (kind, 0, 1), 9, 3),
    }
    if lab.task.writes or isinstance(lab.task, Seq2SeqReader):
        found["continuation"] = lambda: list(lab.generate(prompt, plan, 2))
    if not isinstance(lab.task, Seq2SeqReader):
        found |= {"by layer": lambda: logit_lens.lens_of(lab, prompt, plan),
                  "contributions": lambda: head_attribution.attribution_of(lab, prompt, plan),
                  "two prompts": lambda: head_attribution.patching_of(lab, prompt)}
    return found


if __name__ == "__main__":
    main()
