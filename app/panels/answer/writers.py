"""Contributions to the answer: splits a logit, or a difference of two, into a sum over heads, MLPs and embedding."""

from typing import Any

from app.state.pages.answer_view import DIRECT, HEADS, NONE, TOKENS
from app.texts import N_, _, spelt
from models import Output

CHOICES = 10  # number of most probable tokens that can be chosen
MEASURE_NAMES = {DIRECT: N_("direct contribution"), HEADS: N_("gradient × input of heads"),
                 TOKENS: N_("gradient × input of tokens")}
RELEVANCE = N_("Gradient × input with constant patterns, gates and norm scales, which is LRP (epsilon rule): with "
               "effects through later layers, summed over positions. The authors of LXT write that LRP is patented "
               "and free only for personal and scientific use.")


def choice(name: str, label: str, output: Output, chosen: int, optional: bool) -> dict[str, Any]:
    """Returns the content of the list that offers the most probable tokens."""
    ids = [int(i) for i in output.top(CHOICES)]
    ids += [chosen] if chosen not in (*ids, NONE) else []
    options = [{"value": i, "text": text} for i, text in zip(ids, spelt(output.names[i] for i in ids), strict=True)]
    return {"name": name, "label": label, "value": chosen,
            "options": [*([{"value": NONE, "text": _("no other word")}] if optional else []), *options]}


def rest_name(name: str) -> str:
    """Returns the name of a contribution that is not a head."""
    if name.startswith("mlp "):
        return _("MLP of layer {layer}", layer=int(name.removeprefix("mlp ")) + 1)
    if name.startswith("layer "):
        return _("Layer {layer}, without attention maps", layer=int(name.removeprefix("layer ")) + 1)
    return _("biases") if name == "biases" else _("embedding")
