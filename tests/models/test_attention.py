"""Every attention type and the model around it: formulas, causality, and the documented fresh weights."""

from dataclasses import replace

import pytest
import torch
from oracles import gates, layer_output, layer_weights, logits, torchs_attention, transformer, turn
from tiny import HEADS, WIDTH, either_way, heads_of, make_config, make_model, random_ids
from torch.testing import assert_close

from models.nets.attention import TYPES
from models.nets.attention.base import NO_INTERVENTION, Intervention, Record, causal_mask, intervene, with_baseline
from models.nets.attention.dot_product import rotary_table, rotate
from models.nets.config import Config
from models.nets.transformer import Transformer

N = 11  # number of tokens: odd, and larger than the width of a head
LAYER = 1  # the second layer, whose input is not a function of one token alone


def module_and_input(attention: str, causal: bool = True) -> tuple[torch.nn.Module, torch.Tensor]:
    module = make_model(attention, causal=causal).blocks[LAYER].attention
    return module, torch.randn(3, N, WIDTH, generator=torch.Generator().manual_seed(1))


def record_of(module: torch.nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, Record]:
    records: list[Record] = []
    return module(x, rotary_table(x.shape[1], WIDTH // module.heads), NO_INTERVENTION, records), records[0]


@either_way
def test_gates_are_recorded(attention: str, causal: bool):
    module, x = module_and_input(attention, causal)
    record = record_of(module, x)[1]
    if attention != "gated":
        assert record.gates is None
        return
    assert_close(record.gates.double(), gates(module, x), rtol=1e-4, atol=1e-5)
    assert record.gates.shape == (3, module.heads, N) and record.gates.std() > 0.1
    # a gate of the plan multiplies the head's output, which the computed gate has already scaled
    closed = Intervention(gate=torch.tensor([0.0, 1.0, 0.5, 1.0]).view(-1, 1, 1))
    records: list[Record] = []
    module(x, rotary_table(N, WIDTH // module.heads), closed, records)
    assert_close(records[0].gates, record.gates)
    assert_close(records[0].norms, record.norms * closed.gate.squeeze(-1))


@pytest.mark.parametrize("attention_width, heads", [(64, 8), (48, 4)])
def test_attention_wider_than_the_model(attention_width: int, heads: int):
    """The number of parameters is proportional to the attention width."""
    config = replace(make_config("softmax"), attention_width=attention_width, heads=heads)
    torch.manual_seed(0)
    module = Transformer(config, initial_std=0.3).blocks[LAYER].attention
    x = torch.randn(3, N, WIDTH, generator=torch.Generator().manual_seed(1))
    output = module(x, rotary_table(N, attention_width // heads))
    assert_close(output.double(), torchs_attention(module, x), rtol=1e-4, atol=1e-5)
    assert sum(p.numel() for p in module.parameters()) == 4 * WIDTH * attention_width
    assert config.head_width == attention_width // heads and make_config("softmax").head_width == WIDTH // HEADS


@pytest.mark.parametrize("width", [2, 8, 64])
def test_rope_is_complex_multiplication(width: int):
    x = torch.randn(2, 3, 130, width)  # 130 positions: more than any text can have
    assert_close(rotate(x, rotary_table(130, width)).double(), turn(x), rtol=1e-4, atol=1e-4)


@either_way
def test_scores_weights_and_outputs_are_those_of_the_formula(attention: str, causal: bool):
    """Scores, weights and outputs equal those of oracles.py in float64. Scores of a causal model are -inf above the
    diagonal. Weights are the normalised values of scores minus F, the selective mask. Rows sum to 1 if the type's
    weights are a distribution."""
    module, x = module_and_input(attention, causal)
    output, record = record_of(module, x)
    future = causal_mask(N) if causal else torch.zeros(N, N, dtype=torch.bool)
    assert_close(record.scores.double(), logits(module, x).masked_fill(future, float("-inf")), rtol=1e-4, atol=1e-4)
    assert_close(record.live.double(), layer_weights(module, x), rtol=1e-4, atol=1e-5)
    assert_close(output.double(), layer_output(module, x), rtol=1e-4, atol=1e-4)
    assert output.std() > 0.1  # the output is large compared with the tolerance
    mask = 0.0 if record.mask is None else record.mask.unsqueeze(1)
    assert_close(record.live, module.normalise(record.scores)[0])
    assert_close(record.live[..., future], torch.zeros_like(record.live[..., future]), rtol=0, atol=0)
    sums = record.live.sum(-1)
    if module.is_distribution:
        assert_close(record.live, (record.scores - mask).softmax(-1))
        assert_close(sums, torch.ones(3, module.heads, N))
    else:
        assert (sums - 1).abs().max() > 0.1


@either_way
def test_the_normaliser_is_what_rows_are_divided_by(attention: str, causal: bool):
    """weight = exp(score - F - ln Z); F is 0 except in selective attention, and unnormalised rows record their sum."""
    module, x = module_and_input(attention, causal)
    _, record = record_of(module, x)
    log_z = module.log_normaliser(record.scores)
    if module.is_distribution:
        scores = record.scores if record.mask is None else record.scores - record.mask.unsqueeze(1)
        assert_close((scores - log_z.unsqueeze(-1)).exp(), record.live)
    else:
        assert_close(log_z.exp(), record.live.sum(-1).clamp_min(1e-9))


@pytest.mark.parametrize("first", [1, 2, 7, N - 1])
def test_nothing_sees_the_future(attention: str, first: int):
    """Tokens from `first` on change all positions from there on, and none before, in any layer."""
    model = make_model(attention)
    ids, other = random_ids(2, N)
    other = torch.cat((ids[:first], (ids[first:] + 7) % model.config.vocabulary))
    runs = []
    for tokens in (ids, other):
        records: list[Record] = []
        runs.append((model(tokens[None], records=records)[0], torch.stack([r.live[0] for r in records])))
    (hidden, live), (hidden_other, live_other) = runs
    assert_close(hidden[:first], hidden_other[:first], rtol=0, atol=0)
    assert_close(live[:, :, :first], live_other[:, :, :first], rtol=0, atol=0)
    assert (hidden[first:] - hidden_other[first:]).abs().amax(-1).min() > 1e-3


def test_weights_that_no_text_changes(attention: str):
    """Two texts without a common word differ in the weights of all types but those with tables."""
    module, x = module_and_input(attention)
    live = record_of(module, x)[1].live
    same = torch.equal(live[0], live[1])
    assert same != TYPES[attention].reads_text


@either_way
def test_texts_of_a_batch_do_not_mix(attention: str, causal: bool):
    model, ids = make_model(attention, causal=causal), random_ids(4, N)
    assert_close(model(ids)[2], model(ids[2:3])[0], rtol=1e-4, atol=1e-5)


@either_way
def test_gradients_are_finite_and_reach_every_weight(attention: str, causal: bool):
    model = make_model(attention, causal=causal, length=N).requires_grad_(True)
    model.logits(model(random_ids(2, N))).square().mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any(), name


def test_the_list_of_types():
    """Each type has its own name, formula and source, which the page and the cards print."""
    assert len(TYPES) == 19 == len({kind.title for kind in TYPES.values()})
    assert len({(kind.formula, kind.published) for kind in TYPES.values()}) == 19
    for name, kind in TYPES.items():
        assert kind.formula and any(where in kind.published for where in ("arXiv", "kexue.fm"))
        assert kind.policies[0] == "trained" and len(set(kind.policies)) == len(kind.policies)
        assert kind.selects == (name == "selective") and kind.replaces_mlp == name.startswith("gau-")
        assert kind.is_distribution == ("relu2" not in name)


def test_a_share_of_the_constant_beside_untouched():
    weights, constant = torch.rand(2, 3, 4, 4).softmax(-1), torch.rand(3, 4, 4).softmax(-1)
    share = torch.tensor([0.0, 0.4, 1.0])[:, None, None]
    both = intervene(weights, with_baseline(Intervention(constant=constant, share=share), torch.ones(1, 1, 1)))
    assert_close(both[0], weights[0])
    assert_close(both[1], intervene(weights[1:], Intervention(constant=constant, share=share))[0])


CONFIG = Config("softmax", vocabulary=512, width=256, layers=2, heads=4, trained_length=96)
C, D, H, LENGTH = 256, 64, 4, 96
SCORES = {  # number of parameters for the scores of one layer, as the papers count them
    **dict.fromkeys(("softmax", "log-n", "temperature", "selective"), 2 * C**2), "scalable-softmax": 2 * C**2 + H,
    "gated": 2 * C**2 + C * H,  # C * H parameters belong to the gate after the scores
    # Tay et al. 2020, table 1, with a W2 for each head and biases b1 and b2; a and b are 8 and 12
    "dense": C**2 + C + H * (D * LENGTH + LENGTH), "random": H * LENGTH**2, "fixed-random": 0,
    "factorized-dense": C**2 + C + H * (D + 1) * (8 + 12), "factorized-random": H * 2 * LENGTH * 8,
    # one projection to 128, then a factor and a shift for q and for k
    **dict.fromkeys(("gau-relu2", "gau-relu2-mixed", "gau-softmax", "gau-log-n"), C * 128 + 4 * 128),
    "gau-relu2-learned": C * 128 + 4 * 128 + 1,
}
for one, other in (("random", "dense"), ("dense", "softmax"), ("random", "softmax")):
    SCORES[f"{one}-{other}"] = SCORES[one] + SCORES[other] + 2  # a mixture also has the two weights alpha


def test_logits_are_those_of_the_formulas(attention: str):
    """Every norm gets random weights, because initial weights of 1 could hide a mistake."""
    model, ids = make_model(attention), random_ids(3, 11)
    torch.manual_seed(2)
    for module in model.modules():
        if isinstance(module, torch.nn.RMSNorm):
            module.weight.copy_(1 + 0.3 * torch.randn(WIDTH))
    expected = transformer(model, ids)
    assert_close(model.logits(model(ids)).double(), expected, rtol=1e-4, atol=1e-3)
    assert expected.std() > 1  # the logits are large compared with the tolerance


def test_output_scale_is_a_factor_on_the_logits():
    torch.manual_seed(0)
    model, hidden = Transformer(CONFIG), torch.randn(3, CONFIG.width)
    scaled = Transformer(replace(CONFIG, output_scale=0.1))
    scaled.load_state_dict(model.state_dict())
    assert_close(scaled.logits(hidden), model.logits(hidden) / 10)


@pytest.mark.parametrize("initial_std, embedding_std", [(None, 0.02), (0.02, 1.0)])
def test_fresh_weights(initial_std: float | None, embedding_std: float):
    """The deviation is LeCun's or the given one, over sqrt(2 layers) if written to the residual stream."""
    torch.manual_seed(0)
    model = Transformer(CONFIG, initial_std, embedding_std).requires_grad_(False)
    writes = (2 * CONFIG.layers) ** -0.5
    assert float(model.embedding.weight.std()) == pytest.approx(embedding_std, rel=0.015)
    for block in model.blocks:
        attention = block.attention
        for linear in (attention.source.query, attention.source.key, attention.value, block.up):
            assert float(linear.weight.std()) == pytest.approx(initial_std or 256**-0.5, rel=0.015)
        assert float(attention.output.weight.std()) == pytest.approx((initial_std or 256**-0.5) * writes, rel=0.015)
        assert float(block.down.weight.std()) == pytest.approx((initial_std or 1024**-0.5) * writes, rel=0.015)


@pytest.mark.parametrize("name", SCORES)
def test_parameter_count(name: str):
    """As the config says: tied embeddings count once, and a gated attention unit has one norm and no MLP."""
    model = Transformer(replace(CONFIG, attention=name, heads=heads_of(name)))
    block = 6 * C**2 + C if name.startswith("gau-") else 10 * C**2 + 2 * C
    assert model.parameter_count() == 512 * C + 2 * (SCORES[name] + block) + C
