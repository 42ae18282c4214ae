"""Attention sinks and computed gates: of our models, against a trace and a plan; of an imported model, as a column."""

import csv
import io

import numpy
import pytest
import torch
from foreign_tiny import eager_of, lab_of
from torch.testing import assert_close

import models
from app import exports
from app.content import effect
from models.loading import own
from models.nets.attention.base import Intervention
from models.tasks.base import Batch
from models.thumbnails import thumbnails
from models.trace import scores_with_sink, sink, with_sink
from studies.corpus.sinks import gates_of, has_gates, measure, shares_of, with_gates

TEXT = "One day Emma saw a little bird. The bird looked at Emma and"


def batch_of(name: str) -> Batch:
    ids = torch.tensor([own(name).read(TEXT).ids])
    return Batch(ids, torch.cat((ids[:, 1:], torch.full((1, 1), -1)), 1))


@pytest.mark.parametrize("name", ["stories-softmax", "stories-gated"])
def test_shares_and_gates_are_the_traces(name: str):
    lab, trace = own(name), models.run(own(name), TEXT)
    assert_close(shares_of(lab.model, [batch_of(name)])[0], torch.from_numpy(sink(trace.weights["self"])),
                 rtol=1e-4, atol=1e-5)
    assert has_gates(lab.model) == (name == "stories-gated") == bool(trace.gates)
    if trace.gates:
        found = gates_of(lab.model, [batch_of(name)])[0]
        assert_close(found, torch.from_numpy(trace.gates["self"]), rtol=1e-4, atol=1e-5)


@torch.inference_mode()
def test_gates_for_every_token_are_those_of_a_plan_on_open_ones():
    """Constant gates in the model equal a plan's gates on a model whose computed gates are all 1."""
    model, tokens = own("stories-gated").model, batch_of("stories-gated").tokens
    gates = torch.rand((4, 8), generator=torch.Generator().manual_seed(0))
    is_open = with_gates(model, torch.ones(4, 8))
    assert_close(with_gates(model, gates)(tokens),
                 is_open(tokens, [Intervention(gate=its.view(8, 1, 1)) for its in gates]), rtol=1e-4, atol=1e-4)
    assert not torch.allclose(is_open(tokens), model(tokens), atol=0.1)
    # the model is unchanged afterwards
    assert has_gates(model) and model.blocks[0].attention.gating.weight.shape == (8, 192)


def test_what_is_measured():
    model, batch = own("stories-gated").model, batch_of("stories-gated")
    found = measure(model, [batch], [batch])
    assert found["windows"] == 1 and found["window"] == batch.tokens.shape[1]
    assert found["by_window"][0] == pytest.approx(sum(map(sum, found["share"])) / 32, abs=1e-4)
    gates = gates_of(model, [batch])[0]
    assert found["gates"]["closed"] == pytest.approx(float((gates < 0.1).float().mean()), abs=1e-4)
    assert found["gates"]["first"] == pytest.approx(float(gates[:, :, 0].mean()), abs=1e-4)
    assert found["gates"]["by_window"][0] == pytest.approx(sum(map(sum, found["gates"]["mean"])) / 32, abs=1e-4)
    assert set(found["losses"]) == set(found["perplexity"]) == {"own", "constant", "open"}
    for way, losses in found["losses"].items():
        assert torch.tensor(losses).exp().item() == pytest.approx(found["perplexity"][way], rel=1e-2)
    assert found["perplexity"]["own"] < found["perplexity"]["constant"] < found["perplexity"]["open"]
    assert set(measure(own("stories-softmax").model, [batch], [batch])) == {"windows", "window", "share", "by_window"}


def test_the_sink_of_an_imported_model_is_a_column():
    """The sink's score is the model's parameter, its weight is the softmax's, and rows sum to 1 with it."""
    lab, plan = lab_of("gpt_oss"), models.HeadPlan()
    trace = models.run(lab, TEXT)
    assert lab.kinds[0].attention.has_sink and not lab_of("llama").kinds[0].attention.has_sink
    live, scores = trace.live["self"], trace.scores["self"]
    sinks = numpy.stack([layer.self_attn.sinks.detach().numpy() for layer in eager_of("gpt_oss").model.layers])
    whole = scores_with_sink(scores, live)
    numpy.testing.assert_allclose(whole[..., -1], numpy.broadcast_to(sinks[..., None], live.shape[:3]), atol=1e-4)
    assert_close(torch.tensor(whole).softmax(-1), torch.tensor(with_sink(live)), rtol=1e-4, atol=1e-5)
    tiles = effect.tiles_of(trace, lab.kinds[0])
    numpy.testing.assert_array_equal(tiles, thumbnails(with_sink(live)))
    numpy.testing.assert_array_equal(tiles, effect.tiles_of(lab.sketch(trace.prompt, [plan])[0], lab.kinds[0]))


def test_thumbnails_of_a_long_text_keep_the_sink_apart():
    maps = numpy.zeros((1, 130, 130), numpy.float32)
    maps[0, :, 0] = 0.75
    small = thumbnails(maps, has_sink=True)
    assert small.shape == (1, 44, 45) and not small[..., 1:-1].any()
    assert set(small[..., -1].flat) == {round(255 * 0.5)}


def test_files_have_the_sink():
    lab = lab_of("gpt_oss")
    trace = models.run(lab, TEXT)
    maps = exports.with_sinks(lab, exports.maps_of(trace))
    info = exports.about(lab, trace, "", "")
    text = exports.as_csv(info, trace, trace, maps, {"self": True}, exports.sinks_of(lab)).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text.partition("\n")[2])))
    sums: dict[tuple[str, ...], float] = {}
    for row in rows:
        place = row["layer"], row["head"], row["query"]
        sums[place] = sums.get(place, 0.0) + float(row["weight"])
    numpy.testing.assert_allclose([*sums.values()], 1, atol=1e-5)
    assert [row["key"] for row in rows[:5]] == ["1", "sink", "1", "2", "sink"] and "sink" in info
    file = numpy.load(io.BytesIO(exports.as_npz(info, trace, trace, maps)))
    assert file["self 2 scores"].shape == file["self 2 weights"].shape == (4, len(trace.tokens), len(trace.tokens) + 1)
