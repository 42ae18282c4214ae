"""Names in word pieces: the pairs of tokens, and the measured values against the trace of a single text."""

import pytest
import torch

import models
from models.loading import own
from models.nets.attention.selective import selection
from models.tasks.stories import StoriesReader
from studies.corpus.word_pieces import measure, pairs

TEXT = "One day Emma saw a lantern. The bird looked at Emma and"


def test_pairs_are_first_pieces_of_names_and_words():
    lab = own("stories-selective")
    ids = torch.tensor([lab.read(TEXT).ids])
    labels = [lab.task.labels[i] for i in ids[0].tolist()]
    found = {kind: [labels[i - 1:i + 1] for i in where[0].nonzero().flatten().tolist()]
             for kind, where in pairs(lab.task.labels, ids).items()}
    assert found["names"] == [[" Em", "ma"]] * 2
    assert found["others"] == [[" l", "ant"]]  # "ern" is the third piece of "lantern", so it is in no pair
    assert [" day", " Em"] in found["words"] and ["ma", " saw"] not in found["words"]


def test_word_piece_numbers_are_those_of_the_trace():
    lab = own("stories-selective")
    found = measure(lab.model, lab.task.labels, torch.tensor([lab.read(TEXT).ids]))
    trace = models.run(lab, TEXT)
    kinds = pairs(lab.task.labels, torch.tensor([trace.prompt.ids]))
    for layer, its in enumerate(found["layers"]):
        mask_values = selection(torch.tensor(trace.scores["self"][layer][None]))[0]
        for kind, places in kinds.items():
            chosen = [float(mask_values[k, k - 1]) for k in places[0].nonzero().flatten().tolist()]
            assert its[kind] == pytest.approx([sum(chosen) / len(chosen)], abs=1e-3)
    assert found["windows"] == 1 and found["names"] == 2
    assert {its["name"] for its in found["most"]} == {"Em|ma"}


def test_the_example_has_a_name_in_pieces():
    text = dict(StoriesReader.examples)["A name in pieces"]
    task = StoriesReader()
    assert pairs(task.labels, torch.tensor([task.read(text).ids]))["names"].any()
