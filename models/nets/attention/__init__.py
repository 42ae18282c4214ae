"""The attention types. A new type is one file here and one line in TYPES."""

from models.kind import TARGET, TEXT, Kind
from models.nets.attention.base import SelfAttention
from models.nets.attention.dense import Dense, FactorizedDense
from models.nets.attention.dot_product import Softmax
from models.nets.attention.gated import Gated
from models.nets.attention.gated_unit import GauLogN, GauRelu2, GauRelu2Learned, GauRelu2Mixed, GauSoftmax
from models.nets.attention.log_n import LogN, ScalableSoftmax, Temperature
from models.nets.attention.mixture import DenseSoftmax, RandomDense, RandomSoftmax
from models.nets.attention.random import FactorizedRandom, FixedRandom, Random
from models.nets.attention.selective import Selective
from models.nets.config import Config, PairConfig

TYPES: dict[str, type[SelfAttention]] = {
    "softmax": Softmax,
    "log-n": LogN,
    "scalable-softmax": ScalableSoftmax,
    "temperature": Temperature,
    "selective": Selective,
    "gated": Gated,
    "dense": Dense,
    "random": Random,
    "fixed-random": FixedRandom,
    "factorized-dense": FactorizedDense,
    "factorized-random": FactorizedRandom,
    "random-dense": RandomDense,
    "dense-softmax": DenseSoftmax,
    "random-softmax": RandomSoftmax,
    "gau-relu2": GauRelu2,
    "gau-relu2-mixed": GauRelu2Mixed,
    "gau-relu2-learned": GauRelu2Learned,
    "gau-softmax": GauSoftmax,
    "gau-log-n": GauLogN,
}


def kinds_of(config: Config) -> tuple[Kind, ...]:
    """Returns the attention blocks of a model of this shape, in the order in which data flows through the model."""
    attention = TYPES[config.attention].traits()
    if not isinstance(config, PairConfig):
        return (Kind("self", config.layers, config.heads, attention, causal=config.causal),)
    return (Kind("encoder", config.encoder_layers, config.heads, TYPES[encoder_type(config.attention)].traits()),
            Kind("decoder", config.layers, config.heads, attention, TARGET, TARGET, causal=True),
            Kind("cross", config.layers, config.heads, Softmax.traits(), TARGET, TEXT))


def encoder_type(attention: str) -> str:
    """Returns the encoder's type: the decoder's, or softmax if it is selective, because F needs a causal mask."""
    return "softmax" if TYPES[attention].selects else attention
