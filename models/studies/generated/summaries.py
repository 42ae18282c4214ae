"""ROUGE of each test report, so that two summarisers can be compared report by report.

    python -m models.studies.generated.summaries summary-softmax summary-dense-softmax

Writes models/studies/measurements/NAME.rouge.json: ROUGE-1, -2 and -L F1 in percent with the card's beam, their means
over all test reports, and ROUGE-L of each report.
"""

from __future__ import annotations

import argparse
from typing import Any, cast

from models.catalogue import names
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.loading import load
from models.studies.command import study
from models.tasks.base import Task
from models.tasks.summary import SummaryMetric
from models.tasks.text_scores import mean_of, rouge_of_texts


def measure(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns mean ROUGE over all test reports, and ROUGE-L of each report in the order of the file.

    Args:
        lab: summarisation model.
        task: task of the model.
        arguments: not used.
    """
    metric, model = cast(SummaryMetric, task.metric), cast(Seq2SeqLab, lab).model
    reports, references = task.corpus.test()
    scores = rouge_of_texts(metric.translate(model, reports), references)
    means = mean_of(scores)
    print(f"{lab.name}: {means}, by the card {lab.card['metric']}", flush=True)
    return {**means, "texts": [round(float(score), 2) for score in scores["rougeL"]]}


def main() -> None:
    """Runs the command of the module's docstring."""
    study("rouge", __doc__, [name for name in names() if name.startswith("summary-")], load, measure)


if __name__ == "__main__":
    main()
