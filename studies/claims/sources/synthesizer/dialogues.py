"""Claim 2 in dialogues: Synthesizers in the self-attention of encoder and decoder."""

from collections.abc import Mapping

import numpy
from numpy import ndarray

from models.messages import N_, message
from studies import per_text
from studies.bootstrap import error
from studies.claims import commands, tables
from studies.claims.contrast import Side, judged, of_trainings
from studies.claims.evidence import Evidence, Metric
from studies.claims.sources.synthesizer.summaries import COMPARED, INTERVAL, behind, rouge_chart
from studies.claims.statement import Statement
from studies.claims.verdict import Estimate, below_in_texts

ALONE = ("random", "dense")
SCORES = {  # BLEU-1, BLEU-4 and ROUGE-L on PersonaChat in the source
    "softmax": ("12.03", "3.20", "13.38"), "random": ("14.64", "2.25", "15.00"), "dense": ("15.58", "4.02", "15.22"),
    "dense-softmax": ("14.24", "3.57", "14.22"), "random-softmax": ("14.70", "2.28", "14.79")}


def statement(evidence: Evidence, titles: Mapping[str, str]) -> Statement:
    """Returns the statement that Synthesizers without softmax reply better than softmax."""
    rouge, replies = _measured(evidence)
    errors = {name: INTERVAL * error(_by_conversation(values, replies) / replies, replies)
              for name, values in rouge.items()}
    checks = [below_in_texts(message("{kind} above softmax", kind=titles[name]), _behind_in_conversations(
        rouge, name, replies)) for name in ALONE]
    rows, here = [], N_("here, ROUGE-L")
    for name in COMPARED:
        own = evidence.card(f"dialogue-{name}").get("metric", {})
        rows.append({
            N_("attention"): titles[name], N_("source, BLEU-1 / BLEU-4"): " / ".join(SCORES[name][:2]),
            N_("source, ROUGE-L"): SCORES[name][2],
            N_("here, BLEU-1 / BLEU-4"): f"{own['bleu1']:.2f} / {own['bleu4']:.2f}" if own else tables.NOTHING,
            here: f"{rouge[name].mean():.1f} ± {errors[name]:.1f}" if name in rouge
            else tables.NOTHING})
    return judged(
        "synthesizer-dialogues",
        message("ROUGE-L: {values}", values=tables.each([
            (titles[name], row[here]) for name, row in zip(COMPARED, rows, strict=True)])),
        _new(evidence, replies), checks, rows, rouge_chart(rouge, errors, titles),
        commands.full_seeds(f"python -m studies.generated.rouge {' '.join(f'dialogue-{name}' for name in COMPARED)}",
                            [f"dialogue-{name}" for name in COMPARED]),
        values=tables.each([
            (titles[name], SCORES[name][2]) for name in COMPARED]))


def _measured(evidence: Evidence) -> tuple[dict[str, ndarray], ndarray]:
    """Returns ROUGE-L of each reply by attention type, and the number of replies in each conversation."""
    rouge: dict[str, ndarray] = {}
    replies = numpy.array([], int)
    for name in COMPARED:
        study = evidence.study(f"dialogue-{name}", "rouge")
        replies = replies if len(replies) else numpy.array(study.get("conversations", ()), int)
        values = numpy.array(study.get("texts", ()), float)
        if len(values) and (replies > 0).all() and len(values) == replies.sum():
            rouge[name] = values
    return rouge, replies


def _new(evidence: Evidence, replies: ndarray) -> Estimate | None:
    """Returns ROUGE-L of random and dense minus softmax's on replies that no training text contains."""
    known = evidence.measured.get("known_replies", {}).get("replies")
    if known is None or not len(replies):
        return None
    is_new = numpy.ones(replies.sum())
    is_new[[*known]] = 0
    counts = _by_conversation(is_new, replies)

    def texts(metric: Metric) -> per_text.Texts:
        values = per_text.rouge(metric).values
        if values.shape != is_new.shape:
            raise KeyError("other replies")
        return per_text.Texts(_by_conversation(values * is_new, replies) / numpy.maximum(counts, 1), counts)

    def mean(metric: Metric) -> float:
        return float(numpy.average(texts(metric).values, weights=counts))

    def side(name: str) -> Side:
        return Side(f"dialogue-{name}", mean, texts)

    return of_trainings(evidence, [side(name) for name in ALONE], [side("softmax")],
                        [side(name) for name in ("softmax", *ALONE)])


def _by_conversation(values: ndarray, replies: ndarray) -> ndarray:
    """Returns the sum of the values of each conversation's replies."""
    return numpy.add.reduceat(values, numpy.cumsum(replies) - replies)


def _behind_in_conversations(rouge: Mapping[str, ndarray], name: str, replies: ndarray) -> ndarray | None:
    """Returns the ROUGE-L of softmax minus the ROUGE-L of another type, one value per conversation."""
    difference = behind(rouge, name)
    return None if difference is None else _by_conversation(difference, replies) / replies.mean()
