"""Interception of the softmax, and of its product with the values, in models with their own attention code.

Architectures that do not call transformers' AttentionInterface (BLOOM, GPT-J, Falcon, RoFormer, XLM, ...) compute

    q k^T -> scale, bias, mask = scores -> softmax = live -> live · values

with functions of torch. Their modules run unchanged inside a TorchFunctionMode, which is active in the running thread
only and only while the module runs. The mode records the softmax, and replaces the product by ForwardPass.finish.
"""

import copy
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import Cache

from models.labs.foreign.running.attention import FORBIDDEN, ForwardPass, current_pass
from models.nets.attention.base import NEVER

SOFTMAX = {functional.softmax, torch.softmax, Tensor.softmax}
SUMS = {torch.baddbmm, Tensor.baddbmm}  # functions that add a bias and a product
PRODUCTS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm}


@dataclass
class Found:
    """The modules with their own attention code."""

    heads: dict[nn.Module, int]  # module -> its number of heads
    scales: bool  # True if each module has exactly one product of queries and keys, which log n can multiply


class _Product(TorchFunctionMode):
    """Finds each product of a softmax and values, and calls `replace` in its place."""

    def __init__(self, factor: Tensor | None = None) -> None:
        super().__init__()
        self._factor = factor  # multiplies the queries
        self.factors: tuple[Tensor, Tensor] | None = None  # of the last product before the softmax
        self._softmax: tuple[Tensor, Tensor] | None = None  # (scores, pattern) of the last softmax

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func in SOFTMAX and args[0].ndim > 2 and kwargs.get("dim", args[1] if len(args) > 1 else None) in (
                -1, args[0].ndim - 1):
            return self.softmax(args[0], lambda: func(*args, **kwargs))
        before = args[:1] if func is torch.einsum else ()  # einsum's equation comes before the tensors
        given: Any = args[len(before)] if len(args) > len(before) else None
        order = _order(args) if before else []
        if (func in PRODUCTS or order) and self._softmax is not None:
            scores, live = self._softmax
            if given.data_ptr() == live.data_ptr() and given.numel() == live.numel():
                self._softmax = None
                others = args[len(before) + 1:]

                def product(weights: Tensor) -> Tensor:
                    result: Tensor = func(*before, weights, *others, **kwargs)
                    return result.permute(order) if order else result

                mixed = self.replace(scores, live, given.shape, product)
                return mixed.permute([order.index(i) for i in range(mixed.ndim)]) if order else mixed
        return self.other(func, args, kwargs)

    def softmax(self, scores: Tensor, run: Callable[[], Tensor]) -> Tensor:
        """Runs the softmax, and stores its result until the product with the values."""
        live = run()
        self._softmax = scores, live
        return live

    def replace(self, scores: Tensor, live: Tensor, shape: torch.Size, product: Callable[[Tensor], Tensor]) -> Tensor:
        """Returns the product of the pattern, viewed in this shape, and the values."""
        return product(live.view(shape))

    def other(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs any other function; stores the factors of a product before the softmax, and scales its queries."""
        of = _factors(func, args, kwargs) if self._softmax is None else None
        if of is None:
            return func(*args, **kwargs)
        self.factors = of
        if self._factor is None or self._factor.ndim and self._factor.shape[-2] not in (1, of[0].shape[-2]):
            return func(*args, **kwargs)
        if func in PRODUCTS:
            return func(args[0] * self._factor, *args[1:], **kwargs)
        named = dict(zip(("input", "batch1", "batch2"), args, strict=False)) | kwargs
        return torch.baddbmm(**{**named, "batch1": named["batch1"] * self._factor})


class _Search(_Product):
    """Finds the modules with their own attention code."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        super().__init__()
        self._modules = set(modules)
        self._sizes: list[int] = []  # rows of the products since the last softmax
        self.found = Found({}, True)

    def softmax(self, scores: Tensor, run: Callable[[], Tensor]) -> Tensor:
        self._single, self._sizes = self._sizes.count(scores.shape[-2]) == 1, []
        return super().softmax(scores, run)

    def replace(self, scores: Tensor, live: Tensor, shape: torch.Size, product: Callable[[Tensor], Tensor]) -> Tensor:
        frame = sys._getframe()
        while frame is not None and not isinstance(frame.f_locals.get("self"), ForwardPass):
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module) and (own := ForwardPass.original(module)) in self._modules:
                self.found.heads[own] = live.numel() // (live.shape[-1] * live.shape[-2])  # the batch has one text
                self.found.scales &= self._single
                break
            frame = frame.f_back  # type: ignore[assignment]
        return product(live.view(shape))

    def other(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        if _factors(func, args, kwargs):
            self._sizes.append(result.shape[-2])
        return result


class _Seen(Exception):  # noqa: N818  # it stops a run early and is not an error
    """Carries the scores that a softmax read."""

    def __init__(self, scores: Tensor) -> None:
        super().__init__()
        self.scores = scores


class _Look(_Product):
    """Stops the run at the softmax."""

    def softmax(self, scores: Tensor, run: Callable[[], Tensor]) -> Tensor:
        raise _Seen(scores)


class _Attention(_Product):
    """One call of one attention module inside a forward pass."""

    def __init__(self, module: nn.Module, heads: int, current: ForwardPass, scale: float,
                 factor: Tensor | None) -> None:
        super().__init__(factor)
        self._module, self._heads, self._current, self._scale = module, heads, current, scale

    def replace(self, scores: Tensor, live: Tensor, shape: torch.Size, product: Callable[[Tensor], Tensor]) -> Tensor:
        whole = (-1, self._heads, *live.shape[-2:])
        result: list[torch.Size] = []

        def mix(weights: Tensor) -> Tensor:
            mixed = product(weights.reshape(shape))
            result.append(mixed.shape)
            return mixed.view(-1, self._heads, *mixed.shape[-2:])

        hidden = scores.masked_fill(scores <= FORBIDDEN, NEVER)
        if self.factors is not None and self._scale:
            query = self.factors[0].reshape(-1, self._heads, *self.factors[0].shape[-2:])
            key = self.factors[1].reshape(len(query), -1, *self.factors[1].shape[-2:]).transpose(2, 3)
            self._current.keep(query, key.repeat_interleave(self._heads // key.shape[1], 1), self._scale,
                               hidden.view(whole))
        outputs, _ = self._current.finish(self._module, hidden.view(whole), mix, live.view(whole))
        return outputs.reshape(result[0])


class _Intercepted:
    """The replacement of an attention module's forward, which runs the original forward inside _Attention."""

    def __init__(self, module: nn.Module, heads: int, is_product: bool) -> None:
        self._module, self._heads, self._whole = module, heads, module.forward
        # the factor on q·k, measured in the first call; 0 if the scores are more than one product
        self._scale: float | None = None if is_product else 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        current = current_pass()
        if self._scale is None:
            self._scale = self._measured(args, kwargs)
        factor = None
        if current.scales:
            # The visible keys of a query are known only at the softmax. Therefore the module first runs once up to the
            # softmax.
            scores = self._look(args, kwargs, _Look())
            whole = scores.view(-1, self._heads, *scores.shape[-2:])
            factor = current.factor(whole, whole[0, 0])
        with _Attention(self._module, self._heads, current, self._scale, factor):
            return self._whole(*args, **kwargs)

    def _look(self, args: tuple[Any, ...], kwargs: dict[str, Any], look: _Look) -> Tensor:
        """Returns the scores; the module runs up to the softmax, because a complete run would write to its cache."""
        try:
            with look:
                self._whole(*map(_copied, args), **{name: _copied(value) for name, value in kwargs.items()})
        except _Seen as seen:
            return seen.scores
        raise RuntimeError("an attention module ran without its softmax")

    def _measured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
        """Returns the factor on q·k: the scores of doubled queries differ from the scores by this factor times q·k."""
        once, twice = _Look(), _Look(torch.tensor(2.0))
        difference = self._look(args, kwargs, twice) - self._look(args, kwargs, once)
        if once.factors is None:
            return 0.0
        product = torch.matmul(*once.factors)
        if product.numel() != difference.numel():
            return 0.0
        product, is_seen = product.reshape(difference.shape), difference.isfinite() & (difference != 0)
        product, difference = product[is_seen], difference[is_seen]
        scale = float((difference * product).sum() / product.square().sum())
        return scale if torch.allclose(difference, scale * product, rtol=1e-3, atol=1e-4) else 0.0


def find(model: Any, inputs: Mapping[str, Any]) -> Found:
    """Returns the attention modules in which a softmax is multiplied by values."""
    search = _Search(module for module in model.modules() if next(module.parameters(), None) is not None)
    with search:
        model(**inputs)
    return search.found


def intercept(site: Found) -> None:
    """Makes these modules use the current ForwardPass, permanently."""
    for module, heads in site.heads.items():
        module.forward = _Intercepted(module, heads, site.scales)


def _copied(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, Cache) else value


def _order(args: tuple[Any, ...]) -> list[int]:
    """Returns the order of axes that makes the result of an einsum of a pattern and values `bhnd`; empty for others."""
    equation = str(args[0]).replace(" ", "")
    # an ellipsis stands for the axes of the pattern that have no letter
    equation = equation.replace("...", "ABCDEFGH"[:max(0, args[1].ndim - len(equation.partition(",")[0]) + 3)])
    pattern, _, rest = equation.partition(",")
    result = rest.partition("->")[2]
    axes = pattern[:-1] + "".join(set(result) - set(pattern))
    return [result.index(axis) for axis in axes] if len(args) == 3 and sorted(axes) == sorted(result) else []


def _factors(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Tensor] | None:
    """Returns the factors of a product of two computed tensors; None for any other function."""
    if func in PRODUCTS and args[1].ndim > 2:
        return args[0], args[1]
    named = dict(zip(("input", "batch1", "batch2"), args, strict=False)) | kwargs if func in SUMS else {}
    return (named["batch1"], named["batch2"]) if named else None
