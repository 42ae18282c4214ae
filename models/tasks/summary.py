"""Summary: the probable cause of an aviation accident, from its narrative (U.S. National Transportation Safety Board).

Investigators wrote both texts. The split is that of the data set: training, validation and test share no narrative.
Narratives are cut to the trained length; nine in ten are not longer. Pairs whose cause is longer than the target's
limit, one in fifty, are not used for training.
"""

import functools
import gzip
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from typing_extensions import override

from models.messages import N_, message
from models.nets.seq2seq import Seq2Seq
from models.storage.datasets import DATA, files
from models.tasks.pairs import BEAM, PairCorpus, PairMetric, PairReader, clean, train_bpe
from models.tasks.text_scores import rouge

TOKENIZER = Path(__file__).with_name("summary_tokenizer.json")
LENGTH = 224  # tokens of a narrative, `start` and `end` included: the 90th percentile
TARGET_LENGTH = 48  # tokens of a cause: the 97th percentile
# ROUGE-1, -2, -L of two baselines, from SOURCE.txt: the cause of the nearest training text (by TF-IDF), and a random
# cause
NEAREST, RANDOM = (38.0, 19.0, 32.9), (25.2, 7.9, 21.4)


class SummaryReader(PairReader):
    """Reads accident reports; the decoder writes the probable cause."""

    name = "summary"
    title = N_("Accident report to cause")
    line = N_("Names the probable cause of an aircraft accident from its report.")
    request = N_("Type an accident report, like The airplane ran out of fuel.")
    tokenizer_file = TOKENIZER
    limit = trained_length = LENGTH
    target_limit = TARGET_LENGTH
    examples = (
        (N_("Crosswind"), "The student pilot was landing in a gusty crosswind from the left. The airplane touched "
         "down, veered to the left and went off the side of the runway. The left wing struck a snowbank."),
        (N_("Fuel"), "During the approach the engine lost power, and the pilot landed in a field, where the "
         "airplane hit a fence. An examination found no fuel in the left tank. The fuel selector was set to the "
         "left tank."),
        (N_("Landing gear"), "The pilot heard a horn as he flared for landing and thought that it was the stall "
         "warning. The airplane touched down with the landing gear retracted. An examination of the landing gear "
         "revealed no anomalies."),
        (N_("No reason found"), "In cruise flight the engine lost all power. The pilot landed on a road, where the "
         "right wing struck a sign. The engine was examined and ran normally. The reason for the loss of power was "
         "not determined."),
        (N_("An animal"), "The airplane struck a deer during the landing roll at night. The pilot had flown low "
         "over the runway before to see whether it was clear."),
    )
    data = (
        {"name": N_("Aviation accidents and probable causes, U.S. National Transportation Safety Board (NTSB), "
                    "collected by RTI International: 18,866 for training, 1,500 for validation, 1,500 for test"),
         "licence": "public domain (U.S. Government work)",
         "attribution": "National Transportation Safety Board (ntsb.gov), aviation accident database"},
    )


class SummaryCorpus(PairCorpus):
    """Accident reports and their probable causes."""

    shapes = ((104, 32), (144, 32), (144, 48), (184, 48), (LENGTH, 32), (LENGTH, TARGET_LENGTH))

    @override
    def pairs(self, split: str) -> list[tuple[str, str]]:
        return read_pairs(self._data, split)


class SummaryMetric(PairMetric):
    """ROUGE of causes."""

    def evaluate(self, model: Seq2Seq) -> dict[str, Any]:
        """Returns ROUGE over all test texts, by beam search and greedily."""
        texts, references = self.corpus.test()
        greedy = rouge(self.translate(model, texts, 1), references)
        return {**rouge(self.translate(model, texts), references),
                **{f"{name}_greedy": value for name, value in greedy.items()}, "beam": BEAM, "texts": len(texts)}

    @staticmethod
    @override
    def describe(metric: dict[str, Any]) -> str:
        return message("ROUGE-1 {one}, ROUGE-2 {two}, ROUGE-L {longest} (nearest training report: {nearest})",
                       one=metric["rouge1"], two=metric["rouge2"], longest=metric["rougeL"],
                       nearest=", ".join(map(str, NEAREST)))


@functools.cache
def read_pairs(data: Path, split: str) -> list[tuple[str, str]]:
    """Returns the cleaned pairs (narrative, cause) of a split, in the order of the file."""
    path, = files(data, f"ntsb_probable_cause/{split}.tsv.gz")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()[1:]
    return [(clean(text), clean(cause)) for _, text, cause in (line.split("\t") for line in lines)]


def train_tokenizer(data: Path = DATA) -> Tokenizer:
    """Trains byte-level BPE of 4,000 tokens on narratives and causes of the training split."""
    return train_bpe([text for pair in read_pairs(data, "train") for text in pair])
