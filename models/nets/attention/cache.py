"""Key-value caches of one attention layer: one that grows, and one that evicts keys beyond a capacity."""

import torch
from torch import Tensor


class Cache:
    """Keys and values that earlier steps of a decoder computed, for B texts.

    Attributes:
        tensors: name ("key", "value") -> (B, H, S, D); keys are rotated by their positions.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def extend(self, name: str, new: Tensor) -> Tensor:
        """Appends (B, H, n, D) keys or values to the tensor `name`, and returns that whole tensor."""
        old = self.tensors.get(name)
        self.tensors[name] = new if old is None else torch.cat((old, new), 2)
        return self.tensors[name]

    def select(self, rows: Tensor) -> None:
        """Keeps the entries of the texts with these indices, in this order; a text may occur several times."""
        self.tensors = {name: tensor[rows] for name, tensor in self.tensors.items()}

    def columns(self, constant: Tensor, keys: int) -> Tensor:
        """Returns constant patterns (H, N, at least `keys`) cut to the cached keys."""
        return constant[..., :keys]


class EvictingCache(Cache):
    """A cache of S slots. If all slots are in use, a new key replaces the key with the largest selective mask F.

    F is the sum of the votes of earlier queries against a key. The first token is never evicted, nor is a key in the
    step that adds it. Among keys with equal F, as in attention without F, the oldest key is evicted. F of an evicted
    key is not needed again, because F never decreases (Leviathan, Kalman and Matias 2024, arXiv 2410.02703, on context
    pruning). With `by_age`, the oldest key is evicted regardless of F.
    """

    def __init__(self, texts: int, capacity: int, by_age: bool = False) -> None:
        super().__init__()
        self.capacity, self.by_age, self.read = capacity, by_age, 0  # read: number of tokens so far
        self.mask = torch.zeros(texts, 0)  # (B, S) F of each cached key
        self.positions = torch.zeros(texts, 0, dtype=torch.int64)  # (B, S) position in the text of each cached key
        self._texts = torch.arange(texts)
        self._slot = self._texts

    def extend(self, name: str, new: Tensor) -> Tensor:
        """Stores the key or value (B, H, 1, D) of one token and returns all of them; store the key before the value."""
        if name == "key":
            self._allocate()
        old = self.tensors.get(name)
        if old is None or old.shape[2] < self.positions.shape[1]:
            return super().extend(name, new)
        old[self._texts, :, self._slot] = new[:, :, 0]
        return old

    def _allocate(self) -> None:
        """Selects the slot of the new token in each text: a new slot, or the slot of the evicted key."""
        if self.positions.shape[1] < self.capacity:
            self._slot = torch.full_like(self._texts, self.positions.shape[1])
            self.mask = torch.cat((self.mask, self.mask.new_zeros(len(self.mask), 1)), 1)
            self.positions = torch.cat((self.positions, self.positions.new_full((len(self.mask), 1), self.read)), 1)
        else:
            self._slot = self._evicted()
            self.mask[self._texts, self._slot], self.positions[self._texts, self._slot] = 0.0, self.read
        self.read += 1

    def _evicted(self) -> Tensor:
        """Returns for each text the slot of the key to evict, (B,)."""
        positions = self.positions[:, 1:]
        if not self.by_age:
            mask = self.mask[:, 1:]
            positions = positions.masked_fill(mask < mask.amax(1, keepdim=True), torch.iinfo(torch.int64).max)
        return positions.argmin(1) + 1

    def accumulate(self, scores: Tensor) -> None:
        """Adds relu of head 0's scores (B, S) of the newest query to F, except at its own key and the first token."""
        selected = scores.relu()
        selected[:, 0] = 0.0
        selected[self._texts, self._slot] = 0.0
        self.mask = self.mask + selected

    def columns(self, constant: Tensor, keys: int) -> Tensor:
        """Returns constant patterns (B, H, 1, S) cut to the cached keys; after an eviction rows sum to 1 again."""
        rows = constant[:, 0][:, self.positions].transpose(0, 1)
        if self.positions.shape[1] < self.read:
            rows = rows / rows.sum(-1, keepdim=True).clamp_min(1e-9)
        return rows.unsqueeze(2)

    def kept(self) -> Tensor:
        """Returns the positions (B, S) of the cached keys, in ascending order."""
        return self.positions.sort(1).values
