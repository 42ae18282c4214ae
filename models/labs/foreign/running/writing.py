"""Generation: a causal model's continuation, and a decoder's output, which is always greedy."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from models.generate.decoding import GREEDY, Sampling
from models.labs.foreign.reading.readers import Seq2SeqReader, TextReader
from models.labs.foreign.reading.texts import is_begun, partial_bytes
from models.labs.foreign.running.attention import Sink
from models.labs.foreign.running.passes import PassLab
from models.labs.foreign.running.positions import Answer, no_losses
from models.plan import HeadPlan
from models.prompt import Prompt, TargetPrompt, readable
from models.tasks.characters import decoded

MAX_WRITTEN = 64  # largest number of decoder tokens, the first included


def with_target(lab: PassLab, prompt: Prompt) -> TargetPrompt:
    """Returns the prompt with the model's baseline output as teacher-forced target."""
    if isinstance(prompt, TargetPrompt):
        return prompt
    if not isinstance(lab.task, Seq2SeqReader):
        raise ValueError(f"{lab.name} has no decoder beside its encoder")
    return TargetPrompt.of(prompt, (_start(lab), *write(lab, lab.task, prompt, HeadPlan())))


def forced(lab: PassLab, task: Seq2SeqReader, prompt: Prompt, target: str) -> TargetPrompt:
    """Returns the prompt with a typed text as target, after the tokens that begin every output of the model."""
    ids = task.tokenizer(text_target=readable(target), add_special_tokens=False)["input_ids"]
    first = task.first_token(prompt, lab.model.generation_config.forced_bos_token_id)
    row = (_start(lab), *(() if first is None else (int(first),)), *ids)[:min(MAX_WRITTEN, lab.limit)]
    return TargetPrompt.of(prompt, row)


@torch.inference_mode()
def continue_text(lab: PassLab, task: TextReader, prompt: Prompt, plan: HeadPlan, count: int,
                  sampling: Sampling = GREEDY) -> Iterator[int]:
    """Yields the token ids of a continuation; stops at the end token or at the limit."""
    ends, ids = _ends(lab), list(prompt.ids)
    for _ in range(min(count, lab.limit - len(ids))):
        grown = replace(prompt, ids=tuple(ids))
        logits = lab.result(task.inputs(grown), grown, plan).logits_at([-1])[0]
        logits[task.without_token] = float("-inf")
        token = sampling.choose(logits, len(ids))
        if token in ends:
            return
        ids.append(token)
        yield token


@torch.inference_mode()
def write(lab: PassLab, task: Seq2SeqReader, prompt: Prompt, plan: HeadPlan, count: int = MAX_WRITTEN) -> Iterator[int]:
    """Yields the token ids of the decoder's output, without start and end token."""
    inputs = task.inputs(prompt)
    settings: Any = lab.model.generation_config
    encoded = lab.forward(inputs, prompt, plan, module=lab.model.get_encoder())
    row, ends = [_start(lab)], _ends(lab)
    never = [*(i for i in {settings.pad_token_id, row[0]} if i is not None and i not in ends), *task.without_token]
    for _ in range(min(count, MAX_WRITTEN - 1, lab.limit - 1)):
        given = {"encoder_outputs": encoded, "attention_mask": inputs["attention_mask"], "use_cache": False,
                 "decoder_input_ids": torch.tensor([row])}
        logits = lab.result(given, prompt, plan).logits_at([-1])[0]
        logits[never] = float("-inf")
        token = int(logits.argmax())
        forced = task.first_token(prompt, settings.forced_bos_token_id) if len(row) == 1 else None
        token = token if forced is None else int(forced)
        if token in ends:
            return
        row.append(token)
        yield token


def run_with_target(lab: PassLab, task: Seq2SeqReader, prompt: Prompt, plan: HeadPlan,
                   sink: Sink) -> tuple[Answer, Mapping[str, tuple[str, ...]], str | None]:
    """Runs a recorded pass over the text and the decoder's tokens."""
    row = prompt.target if isinstance(prompt, TargetPrompt) else (_start(lab), *write(lab, task, prompt, plan))
    written = None if isinstance(prompt, TargetPrompt) and plan else task.wrote(row[1:])
    given = {**task.inputs(prompt), "decoder_input_ids": torch.tensor([row]), "use_cache": False}
    logits = lab.forward(given, prompt, plan, sink).logits[0]
    return Answer(task.answer_row(row, logits), no_losses(prompt)), task.rows(prompt, row), written


def as_text(task: TextReader, steps: Iterator[int]) -> Iterator[str]:
    """Yields the text of each token; yields an empty string for a token that leaves a character incomplete."""
    pending: list[int] = []
    raw = b""
    for token in steps:
        part = partial_bytes(task.tokenizer, task.tokenizer.convert_ids_to_tokens(token))
        pending.append(token)
        raw += part or b""
        if part is not None and is_begun(raw):
            yield ""
            continue
        text = decoded(raw) if part is not None else None
        yield "".join(task.pieces[i] for i in pending) if text is None else text
        pending, raw = [], b""
    if pending:
        yield "".join(task.pieces[i] for i in pending)


def _start(lab: PassLab) -> int:
    settings: Any = lab.model.generation_config
    known = (settings.decoder_start_token_id, getattr(lab.task.config, "decoder_start_token_id", None),
             settings.bos_token_id, settings.pad_token_id)
    return next((int(i) for i in known if i is not None), 0)


def _ends(lab: PassLab) -> set[int]:
    settings: Any = lab.model.generation_config
    end = settings.eos_token_id if settings.eos_token_id is not None else lab.task.config.eos_token_id
    return {end} if isinstance(end, int) else set(end or ())
