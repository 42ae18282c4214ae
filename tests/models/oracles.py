"""Slow, plain computations against which the fast ones are checked. No code here imports the package `models`."""

import math

import torch
from torch import Tensor
from torch.nn import functional


def selective(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Computes weights (H, N, N) and F[i, j] = sum of relu(scores[0, k, j]), j < k < i; F[:, 0] = 0 for BOS."""
    heads, n, _ = scores.shape
    logits = scores.double().tolist()
    mask = [[sum(max(0.0, logits[0][k][j]) for k in range(j + 1, i)) if j else 0.0 for j in range(n)] for i in range(n)]
    weights = torch.zeros(heads, n, n, dtype=torch.float64)
    for h in range(heads):
        for i in range(n):
            exponentials = [math.exp(logits[h][i][j] - mask[i][j]) for j in range(i + 1)]
            for j in range(i + 1):
                weights[h, i, j] = exponentials[j] / sum(exponentials)
    return weights, torch.tensor(mask, dtype=torch.float64)


def turn(x: Tensor, base: float = 10_000.0) -> Tensor:
    """Rotates (..., N, D) by RoPE: the pair (k, k + D/2) at p is multiplied by exp(i p / base^(-2k/D))."""
    n, width = x.shape[-2:]
    pairs = torch.complex(x[..., :width // 2].double(), x[..., width // 2:].double())
    angles = torch.tensor([[p * base ** (-2 * k / width) for k in range(width // 2)] for p in range(n)],
                          dtype=torch.float64)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), -1)


def projected(x: Tensor, weight: Tensor, heads: int) -> Tensor:
    """Projects (B, N, C) by (C, C) to (B, H, N, C / H) in float64; head h has the h-th block of outputs."""
    return torch.stack((x.double() @ weight.double().T).chunk(heads, -1), 1)


def swish(x: Tensor) -> Tensor:
    """Returns x sigmoid(x) in float64 (Ramachandran et al. 2017)."""
    return x.double() / (1 + (-x.double()).exp())


def transformer(model, tokens: Tensor) -> Tensor:
    """Returns the logits (B, N, V) of a model for ids (B, N), in float64."""
    def norm(x: Tensor, weight: Tensor) -> Tensor:  # RMS norm (Zhang and Sennrich 2019, eq. 4)
        return x / (x.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps).sqrt() * weight.double()

    embedding = model.embedding.weight.double()
    x = embedding[tokens]
    for block in model.blocks:
        x = x + layer_output(block.attention, norm(x, block.attention_norm.weight))
        if isinstance(getattr(block.attention, "gate", None), torch.nn.Linear):
            continue  # a layer with a gated attention unit has no MLP
        hidden = norm(x, block.mlp_norm.weight) @ block.up.weight.double().T
        # approximation of GELU by Hendrycks and Gimpel 2016, section 2
        gelu = 0.5 * hidden * (1 + torch.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))
        x = x + gelu @ block.down.weight.double().T
    return norm(x, model.norm.weight) @ embedding.T


# Scores, by the name of the type's source class: x is (B, N, C), the result (B, H, N, N) in float64 without a mask.

def dot_product(source, x: Tensor) -> Tensor:
    query, key = (turn(projected(x, linear.weight, source.heads)) for linear in (source.query, source.key))
    return torch.einsum("bhid,bhjd->bhij", query, key) / math.sqrt(query.shape[-1])


def shared_dot_product(source, x: Tensor) -> Tensor:
    """Returns scores of one head with one projection, scaled and shifted twice (Hua et al. 2022, section 3.1)."""
    z = swish(x.double() @ source.shared.weight.double().T)
    query, key = (turn(z * source.scale[i].double() + source.shift[i].double()) for i in (0, 1))
    return (torch.einsum("bid,bjd->bij", query, key) / math.sqrt(128)).unsqueeze(1)


def table(source, x: Tensor) -> Tensor:
    n = x.shape[1]
    return source.table[:, :n, :n].double().expand(len(x), -1, -1, -1)


def factorized_table(source, x: Tensor) -> Tensor:
    n = x.shape[1]
    product = torch.einsum("hik,hjk->hij", source.query_table.double(), source.key_table.double())
    return product[:, :n, :n].expand(len(x), -1, -1, -1)


def position(p: int, width: int) -> list[float]:
    """Returns the encoding of position p: sines, then cosines, of p base^(-2k/C) (Vaswani et al. 2017, section 3.5)."""
    angles = [p * 10_000.0 ** (-2 * k / width) for k in range(width // 2)]
    return [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]


def hidden_of_head(hidden, x: Tensor, head: int) -> Tensor:
    """Returns relu(W1 (x + position) + b1) of one head, (B, N, C) -> (B, N, D), with this head's rows of W1."""
    batch, n, width = x.shape
    placed = x.double() + torch.tensor([position(p, width) for p in range(n)], dtype=torch.float64)
    rows = slice(head * width // hidden.heads, (head + 1) * width // hidden.heads)
    return (placed @ hidden.linear.weight[rows].double().T + hidden.linear.bias[rows].double()).clamp_min(0)


def on_positions(positions, hidden: Tensor, head: int) -> Tensor:
    return hidden @ positions.weight[head].double() + positions.bias_table[head].double()


def dense(source, x: Tensor) -> Tensor:
    heads = [on_positions(source.positions, hidden_of_head(source.hidden, x, head), head)
             for head in range(source.heads)]
    return torch.stack(heads, 1)[..., :x.shape[1]]


def factorized_dense(source, x: Tensor) -> Tensor:
    """Returns scores in which key q a + p has the score tiled[p] interleaved[q], with a = length of tiled."""
    heads = []
    for head in range(source.heads):
        hidden = hidden_of_head(source.hidden, x, head)
        tiled, interleaved = (on_positions(part, hidden, head) for part in (source.tiled, source.interleaved))
        a = tiled.shape[-1]
        heads.append(torch.stack([tiled[..., j % a] * interleaved[..., j // a] for j in range(x.shape[1])], -1))
    return torch.stack(heads, 1)


def mixed(source, x: Tensor) -> Tensor:
    exponentials = [math.exp(a) for a in source.mixing_table.tolist()]
    return sum(e / sum(exponentials) * source_scores(part, x)
               for e, part in zip(exponentials, source.parts, strict=True))


SOURCES = {"DotProduct": dot_product, "SharedDotProduct": shared_dot_product, "Table": table, "FixedTable": table,
           "FactorizedTable": factorized_table, "DenseScores": dense, "FactorizedDenseScores": factorized_dense,
           "RandomAndDense": mixed, "DenseAndDotProduct": mixed, "RandomAndDotProduct": mixed}


def source_scores(source, x: Tensor) -> Tensor:
    return SOURCES[type(source).__name__](source, x)


# Attention weights and outputs of each type, computed from the scores.

def divisor(module, n: int) -> float | None:
    """Returns the divisor of the weights in relu² attention; None for the other types."""
    divisors = {"GauRelu2": module.trained_length, "GauRelu2Mixed": n}
    if type(module).__name__ == "GauRelu2Learned":
        return math.exp(module.log_divisor.item())
    return divisors.get(type(module).__name__)


def temperatures(module, n: int) -> Tensor:
    """Returns the factors (H, N, 1) on the scores of each query, computed query by query."""
    kind = type(module).__name__
    rows = []
    for head in range(module.heads):
        for i in range(n):
            keys = i + 1 if module.causal else n
            if kind in ("LogN", "GauLogN"):
                rows.append(math.log(keys, 512))
            elif kind == "Temperature":
                rows.append(math.log(module.trained_length, 512))
            elif kind == "ScalableSoftmax":
                rows.append(module.scalable[head].item() * math.log(keys))
            else:
                rows.append(1.0)
    return torch.tensor(rows, dtype=torch.float64).view(module.heads, n, 1)


def logits(module, x: Tensor) -> Tensor:
    """Returns the scores (B, H, N, N) that a layer's attention type normalises, in float64 without a mask."""
    raw = source_scores(module.source, x)
    n = x.shape[1]
    return raw * temperatures(module, n) if divisor(module, n) is None else raw / math.sqrt(divisor(module, n))


def layer_weights(module, x: Tensor) -> Tensor:
    """Returns the attention weights (B, H, N, N) over the visible keys in float64: relu² by its divisor, or softmax."""
    n = x.shape[1]
    future = torch.full((n, n), module.causal, dtype=torch.bool).triu(1)
    if divisor(module, n) is not None:
        raw = source_scores(module.source, x)
        return (raw.clamp_min(0) ** 2 / divisor(module, n)).masked_fill(future, 0)
    if type(module).__name__ == "Selective":
        return torch.stack([selective(scores)[0] for scores in logits(module, x)])
    exponentials = logits(module, x).exp().masked_fill(future, 0)
    return exponentials / exponentials.sum(-1, keepdim=True)


def layer_output(module, x: Tensor) -> Tensor:
    """Returns the output (B, N, C) of a layer in float64."""
    weights = layer_weights(module, x)
    if isinstance(getattr(module, "gate", None), torch.nn.Linear):
        gate, value = (swish(x.double() @ linear.weight.double().T) for linear in (module.gate, module.value))
        return (gate * (weights[:, 0] @ value)) @ module.output.weight.double().T
    outputs = weights @ projected(x, module.value.weight, module.heads)
    if type(module).__name__ == "Gated":
        outputs = outputs * gates(module, x).unsqueeze(-1)
    return torch.cat(outputs.unbind(1), -1) @ module.output.weight.double().T


def gates(module, x: Tensor) -> Tensor:
    """Returns gates (B, H, N) 1 / (1 + exp(-x · w_h)) per token and head (Qiu et al. 2025, section 2.2)."""
    return torch.tensor([[[1 / (1 + math.exp(-math.fsum(a * b for a, b in zip(token, row, strict=True))))
                           for token in text] for row in module.gating.weight.double().tolist()]
                         for text in x.double().tolist()], dtype=torch.float64)


def torchs_attention(module, x: Tensor, bias: Tensor | None = None) -> Tensor:
    """Returns the output (B, N, C) of a layer, computed by torch's own attention in float64."""
    value = projected(x, module.value.weight, module.heads)
    query, key = (turn(projected(x, linear.weight, module.heads))
                  for linear in (module.source.query, module.source.key))
    result = functional.scaled_dot_product_attention(query, key, value, bias, is_causal=module.causal and bias is None)
    return torch.cat(result.unbind(1), -1) @ module.output.weight.double().T


def answers(events: list[tuple[str, str]]) -> list[str]:
    """Returns the right answers to the questions, found with a dict."""
    values, found = {}, []
    for variable, value in events:
        if value == "?":
            found.append(values[variable])
        else:
            values[variable] = value
    return found
