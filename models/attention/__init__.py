"""The attention types. A new one is one file here and one line in TYPES."""

from models.attention.selective import Selective
from models.attention.softmax import Softmax

TYPES = {
    "softmax": Softmax,
    "selective": Selective,
}
