"""Dialogue: predicts the next reply in small talk, from the profile of the person who replies and the last turns.

    I am a plumber. I have three children. | Hi there! | Hello! | How old are you?    ->    I'm 40 years old.

Bars separate the profile from the turns and the turns from one another. The last turn is always by the other person.
If profile and turns are too long for the model, the oldest turns are left out. The split into training, validation and
test is that of the data set, by profile.
"""

import functools
import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from typing_extensions import override

from models.messages import N_, message
from models.nets.seq2seq import Seq2Seq
from models.storage.datasets import DATA, files
from models.tasks.pairs import BEAM, PairCorpus, PairMetric, PairReader, clean, train_bpe
from models.tasks.text_scores import bleu_of_order, rouge

TOKENIZER = Path(__file__).with_name("dialogue_tokenizer.json")
BAR = "|"
# tokens of profile and turns, `start` and `end` included: enough for a profile of the 95th percentile and four turns of
# median length
LENGTH = 96
TARGET_LENGTH = 40  # tokens of a reply, the 99th percentile


class DialogueReader(PairReader):
    """Reads a persona and a conversation; the decoder writes the next turn."""

    name = "dialogue"
    title = N_("Small talk")
    line = N_("Replies in small talk as a person with a given profile. A language model wrote the training texts.")
    request = N_("Type a profile and turns, like I am a cook. | Hi! | Hello!")
    cuts_oldest = True
    tokenizer_file = TOKENIZER
    limit = trained_length = LENGTH
    target_limit = TARGET_LENGTH
    examples = (
        (N_("A question about the profile"),
         "I am a cook. I have two dogs. I like to read. | Hi there! | Hello! How are "
         "you? | I'm good, thanks. What do you do for a living?"),
        (N_("A pet"), "I am a cook. I have two dogs. I like to read. | Hello! | Hi! How are you? | I'm doing well. "
         "Do you have any pets?"),
        (N_("Not in the profile"), "I live in a small town. I play the guitar. | Hi! What is your favorite food?"),
        (N_("Agreement"), "I love to swim in the ocean. My favorite color is green. | Hi! | Hello! What do you like "
         "to do for fun? | I like to swim. I go to the beach every day."),
        (N_("Where the other person lives"), "I have a big family. I work in a bank. | Hi, how are you? | I'm great! "
         "Where are you from? | I'm from Canada. I live near a lake."),
    )
    data = (
        {"name": N_("Synthetic-Persona-Chat, written by a language model: 1,648 conversations of its validation and "
                    "test files (30,421 replies for training, 10,424 for validation, 2,731 for test)"),
         "licence": "CC BY 4.0",
         "attribution": "Pegah Jandaghi, XiangHai Sheng, Xinyi Bai, Jay Pujara, Hakim Sidahmed, “Faithful "
                        "Persona-based Conversational Dataset Generation with Large Language Models” (2023)"},
    )

    def clean(self, text: str) -> str:
        """Returns the cleaned text with one bar between profile and turns, and no bar at the ends."""
        return f" {BAR} ".join(part for part in map(clean, text.split(BAR)) if part)

    @functools.cached_property
    def _bar(self) -> int:
        bar = self.tokenizer.token_to_id(f"Ġ{BAR}")
        assert bar is not None  # the tokenizer was trained on texts with bars
        return bar

    def cut(self, ids: Sequence[int], most: int) -> list[int]:
        """Returns the profile and as many of the last turns as fit, or the first tokens of a text without turns."""
        bars = [place for place, token in enumerate(ids) if token == self._bar]
        if len(ids) <= most or not bars:
            return list(ids[:most])
        profile = list(ids[:bars[0]])
        return next((profile + list(ids[bar:]) for bar in bars[1:] if len(profile) + len(ids) - bar <= most),
                    list(ids[:most]))

    def _read_chars(self, text: str, count: int) -> int:
        return len(text)  # older turns are left out, so the text is always read to its end


class DialogueCorpus(PairCorpus):
    """Profiles, turns and replies."""

    shapes = ((LENGTH, 12), (LENGTH, 20), (LENGTH, TARGET_LENGTH))

    @override
    def pairs(self, split: str) -> list[tuple[str, str]]:
        return read_pairs(self._data, split)

    def replies_per_conversation(self) -> list[int]:
        """Returns the number of texts of `test` in each conversation; the texts of one conversation are adjacent."""
        first: dict[str, int] = {}
        for number, pairs in enumerate(read_conversations(self._data, "test")):
            for text, _ in pairs:
                first.setdefault(text, number)
        return list(Counter(first.values()).values())


class DialogueMetric(PairMetric):
    """BLEU and ROUGE of replies."""

    def evaluate(self, model: Seq2Seq) -> dict[str, Any]:
        """Returns BLEU and ROUGE over all test replies, by beam search and greedily."""
        texts, references = self.corpus.test()
        result: dict[str, Any] = {}
        for suffix, beam in (("", BEAM), ("_greedy", 1)):
            replies = self.translate(model, texts, beam)
            scores = {f"bleu{order}": round(bleu_of_order(replies, references, order), 2) for order in (1, 4)}
            result |= {f"{name}{suffix}": score for name, score in (scores | rouge(replies, references)).items()}
        return result | {"beam": BEAM, "texts": len(texts), "references": sum(map(len, references))}

    @staticmethod
    @override
    def describe(metric: dict[str, Any]) -> str:
        return message("BLEU-1 {one}, BLEU-4 {four}, ROUGE-L {longest}", one=metric["bleu1"], four=metric["bleu4"],
                       longest=metric["rougeL"])


def read_pairs(data: Path, split: str) -> list[tuple[str, str]]:
    """Returns the cleaned pairs (profile and turns, reply) of a split, in the order of the file."""
    return [pair for pairs in read_conversations(data, split) for pair in pairs]


@functools.cache
def read_conversations(data: Path, split: str) -> list[list[tuple[str, str]]]:
    """Returns the cleaned pairs (profile and turns, reply) of each conversation; its first turn is no reply."""
    path, = files(data, f"synthetic_persona_chat/{split}.jsonl.gz")
    conversations = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        conversation = json.loads(line)
        profiles = [" ".join(map(clean, conversation[name])) for name in ("persona_1", "persona_2")]
        turns = [clean(turn) for turn in conversation["turns"]]
        conversations.append([(f" {BAR} ".join((profiles[count % 2], *turns[:count])), turns[count])
                              for count in range(1, len(turns))])
    return conversations


def train_tokenizer(data: Path = DATA) -> Tokenizer:
    """Trains byte-level BPE of 4,000 tokens on profiles and turns of the training split, joined by bars."""
    pairs = read_pairs(data, "train")
    profiles = dict.fromkeys(text.partition(f" {BAR} ")[0] for text, _ in pairs)
    return train_bpe([*profiles, *(f"{BAR} {reply}" for _, reply in pairs)])
