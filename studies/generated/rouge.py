"""ROUGE of each test text of summaries and dialogues, so that two models can be compared text by text.

    python -m studies.generated.rouge summary-softmax summary-dense-softmax dialogue-softmax

Writes studies/measurements/NAME.rouge.json: ROUGE-1, -2 and -L F1 in percent with the card's beam, their means
over all test texts, ROUGE-L of each text, and the number of texts in each conversation of dialogues.
"""

import argparse
from typing import Any, cast

from models.catalogue import names
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.loading import load
from models.tasks.base import Task
from models.tasks.dialogue import DialogueCorpus
from models.tasks.pairs import PairMetric
from models.tasks.text_scores import mean_of, rouge_of_texts
from studies.command import study

FAMILIES = ("summary-", "dialogue-")


def measure(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns mean ROUGE over all test texts, and ROUGE-L of each text in the order of the file."""
    metric, model = cast(PairMetric, task.metric), cast(Seq2SeqLab, lab).model
    texts, references = task.corpus.test()
    scores = rouge_of_texts(metric.translate(model, texts), references)
    means = mean_of(scores)
    print(f"{lab.name}: {means}, by the card {lab.card['metric']}", flush=True)
    conversations = {"conversations": task.corpus.replies_per_conversation()} \
        if isinstance(task.corpus, DialogueCorpus) else {}
    return {**means, **conversations, "texts": [round(float(score), 2) for score in scores["rougeL"]]}


if __name__ == "__main__":
    study("rouge", __doc__, [name for name in names() if name.startswith(FAMILIES)], load, measure)
