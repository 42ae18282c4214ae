"""HeadPlan: interventions on the heads of a model, as an immutable value with a short text form.

A plan names heads by attention block (`self`; `encoder`, `decoder`, `cross` in translation), layer and head, both
counted from 0. Heads that it does not name are unmodified; the plan of an unmodified model is `HeadPlan()`. This file
imports neither torch nor numpy, so that links and undo work without them.

Text form, made only of characters that a URL does not escape:

    self-0.3c-1.0~7g0.4-2.5p_scale-logn64

    head  3 of layer 0 constant; heads 0 to 7 of layer 1 with gate 0.4; head 5 of layer 2 patched; scale log n over
    base length 64
    c = constant, p = output patched, a = attention pattern patched, g0.4 = gate 0.4, cg0.4 = constant with gate 0.4;
    '-' before every entry, '_' between blocks
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from models.kind import CROSS, DECODER, ENCODER, SELF
from models.messages import cut, message

KINDS = (SELF, ENCODER, DECODER, CROSS)
OUTPUT, PATTERN = "output", "pattern"  # values of HeadState.patch: the part that is taken from the second prompt
PATCHES = {"": "", "p": OUTPUT, "a": PATTERN}  # letter in the text form -> value of HeadState.patch
POLICIES = ("trained", "sqrt", "logn", "length", "fixed")  # names of the scale policies
GATE_DECIMALS = 4  # gates are rounded to this many decimals, so that the text form is exact and short
MAX_INDEX = 255  # largest index of a layer or head
MIN_BASE, MAX_BASE = 2, 9999  # limits of the base of the log n scale
MAX_TEXT = 8192  # largest number of characters of a plan's text that are parsed
MAX_HEADS = 2048  # heads that a text may name: parsing a short link must not take seconds
MAX_PROBLEMS = 5  # largest number of problems that are reported for one text

_ENTRY = re.compile(r"(\d{1,3})\.(\d{1,3})(?:~(\d{1,3}))?(c?)([pa]?)(?:g([^\s]*))?", re.ASCII)
_NUMBER = re.compile(r"\d*\.?\d+|\d+\.", re.ASCII)
Address = tuple[str, int, int]  # (attention block, layer, head)


@dataclass(frozen=True)
class HeadState:
    """One head's state. The order of interventions is constant, patch, gate.

    Attributes:
        constant: True if the head's attention pattern is its stored constant matrix, False if the pattern is computed.
        gate: factor on the head's output, 0 (pruned) to 1 (unmodified).
        patch: `output` if the head's output is taken from a second prompt, the source; `pattern` if only its attention
            pattern is taken from there; empty for neither.
    """

    constant: bool = False
    gate: float = 1.0
    patch: str = ""

    def __str__(self) -> str:
        """Returns the text form: `c`, `p`, `g0.4`, `cg0.4`, or nothing for an unmodified head."""
        letter = next(letter for letter, patch in PATCHES.items() if patch == self.patch)
        gate = "" if self.gate == 1 else f"g{self.gate:.{GATE_DECIMALS}f}".rstrip("0").rstrip(".")
        return ("c" if self.constant else "") + letter + gate


LIVE = HeadState()


@dataclass(frozen=True)
class Scale:
    """The factor on the scores q·k.

    Attributes:
        policy: `trained` (the factor that the model was trained with), `sqrt` (1 / sqrt d), `logn` (log n / (log base ·
            sqrt d), n = number of keys visible to the query; Su Jianlin, kexue 8823); for relu² / n, `length` (n = the
            text's length) or `fixed` (n = the trained length).
        base: the base length of `logn`, at which the factor equals 1 / sqrt d; 2 to 9999; None for other policies.
    """

    policy: str = "trained"
    base: int | None = None

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(message("scale: expected {names} or {last}, got {policy!r}",
                                     names=", ".join(POLICIES[:-1]), last=POLICIES[-1], policy=self.policy))
        if self.policy == "logn":
            if isinstance(self.base, bool) or not isinstance(self.base, int) or not MIN_BASE <= self.base <= MAX_BASE:
                raise ValueError(message("scale logn: base length {least} to {most}, got {base!r}",
                                         least=MIN_BASE, most=MAX_BASE, base=self.base))
        elif self.base is not None:
            raise ValueError(message("scale {policy} takes no base length, got {base!r}", policy=self.policy,
                                     base=self.base))

    def __str__(self) -> str:
        return self.policy if self.base is None else f"{self.policy}{self.base}"


TRAINED = Scale()


@dataclass(frozen=True)
class HeadPlan:
    """An immutable plan; every method returns a new one.

    Attributes:
        heads: the modified heads, (block, layer, head) -> HeadState, in order.
        scale: the scale policy for all heads.
    """

    heads: Mapping[Address, HeadState] = field(default_factory=dict)
    scale: Scale = TRAINED

    def __post_init__(self) -> None:
        clean = {}
        for address in sorted(self.heads, key=_order):
            state = self.heads[address]
            gate = _check_gate(state.gate)
            _check_address(*address)
            if state.patch not in PATCHES.values():
                raise ValueError(message("a patch replaces output or pattern, not {value}",
                                         value=_cut(str(state.patch))))
            if state.constant or state.patch or gate != 1:
                clean[address] = HeadState(bool(state.constant), gate, state.patch)
        object.__setattr__(self, "heads", MappingProxyType(clean))

    def __hash__(self) -> int:
        return hash((tuple(self.heads.items()), self.scale))

    def __reduce__(self) -> tuple[type[HeadPlan], tuple[dict[Address, HeadState], Scale]]:
        return (HeadPlan, (dict(self.heads), self.scale))

    def __bool__(self) -> bool:
        """True if the plan changes anything."""
        return bool(self.heads) or self.scale != TRAINED

    def state(self, kind: str, layer: int, head: int) -> HeadState:
        """Returns the state of one head; a head that the plan does not name is unmodified."""
        return self.heads.get((kind, layer, head), LIVE)

    @property
    def patches(self) -> bool:
        """True if at least one head is patched; then the plan needs a second prompt."""
        return any(state.patch for state in self.heads.values())

    def with_heads(self, addresses: Iterable[Address], *, constant: bool | None = None,
                   gate: float | None = None, patch: str | None = None) -> HeadPlan:
        """Returns a plan in which the named heads have this state; an argument that is None leaves its value unchanged.

        Args:
            addresses: addresses of the heads.
            constant, gate, patch: see HeadState.

        Raises:
            ValueError: unknown block, negative index, a gate that is not a number in [0, 1], or an unknown patch.
        """
        heads = dict(self.heads)
        for address in addresses:
            old = heads.get(address, LIVE)
            heads[address] = HeadState(old.constant if constant is None else constant,
                                       old.gate if gate is None else _check_gate(gate),
                                       old.patch if patch is None else patch)
        return replace(self, heads=heads)

    def constant(self, kind: str, layer: int, head: int, on: bool = True) -> HeadPlan:
        """Returns the plan with one head's pattern replaced by its constant matrix (PAPA, arXiv 2211.03495)."""
        return self.with_heads([(kind, layer, head)], constant=on)

    def gate(self, kind: str, layer: int, head: int, value: float) -> HeadPlan:
        """Returns the plan with one head's output times `value`, 0 to 1 (Voita et al. 2019, arXiv 1905.09418)."""
        return self.with_heads([(kind, layer, head)], gate=value)

    def patch(self, kind: str, layer: int, head: int, what: str = OUTPUT) -> HeadPlan:
        """Returns the plan with one head's output, or only its attention pattern, taken from a second prompt.

        Source: activation patching, Wang et al. 2022, arXiv 2211.00593.

        Args:
            kind, layer, head: the head's address.
            what: `output` or `pattern`; an empty string removes the patch.
        """
        return self.with_heads([(kind, layer, head)], patch=what)

    def without_patches(self) -> HeadPlan:
        """Returns the plan without patches, for a computation without a second prompt."""
        return self.with_heads([address for address, state in self.heads.items() if state.patch], patch="")

    def with_scale(self, policy: str, base: int | None = None) -> HeadPlan:
        """Returns the plan with another scale policy; see Scale."""
        return replace(self, scale=Scale(policy, base))

    def within(self, shape: Mapping[str, tuple[int, int]], policies: Iterable[str] = POLICIES,
               beside: Iterable[Mapping[str, tuple[int, int]]] = ()) -> tuple[HeadPlan, list[str]]:
        """Returns the part of the plan that fits a model, and one sentence for each head or scale that does not fit.

        Args:
            shape: block -> (layers, heads) of the model.
            policies: scale policies that apply to the model.
            beside: shapes of other models under the same plan; a head that one of these models has is kept too.
        """
        inside = {a: s for a, s in self.heads.items()
                  if any(a[0] in sizes and a[1] < sizes[a[0]][0] and a[2] < sizes[a[0]][1]
                         for sizes in (shape, *beside))}
        outside = [_person(a, shape) for a in self.heads if a not in inside]
        if self.scale.policy in policies:
            return replace(self, heads=inside), outside
        outside.append(message("scale {scale} has no effect on this model", scale=self.scale))
        return replace(self, heads=inside, scale=TRAINED), outside

    def __str__(self) -> str:
        """Returns the text form; an empty string for the empty plan."""
        parts = []
        for kind in KINDS:
            runs = list(_runs((a, s) for a, s in self.heads.items() if a[0] == kind))
            if runs:
                parts.append("-".join([kind, *runs]))
        if self.scale != TRAINED:
            parts.append(f"scale-{self.scale}")
        return "_".join(parts)

    @classmethod
    def parse(cls, text: str) -> HeadPlan:
        """Returns the plan with this text form: the inverse of str().

        Raises:
            ValueError: a part cannot be parsed; the message names each such part.
        """
        plan, problems = cls.read(text)
        if problems:
            raise ValueError("; ".join(problems))
        return plan

    @classmethod
    def read(cls, text: str) -> tuple[HeadPlan, list[str]]:
        """Returns the plan from the parts of `text` that can be parsed, and one sentence for each other part."""
        problems: list[str] = []
        if len(text) > MAX_TEXT:
            problems.append(message("the plan has {count:,} characters; {most:,} were read",
                                    count=len(text), most=MAX_TEXT))
            text = text[:MAX_TEXT]
        heads: dict[Address, HeadState] = {}
        scale = TRAINED
        for part in filter(None, text.split("_")):
            kind, *entries = part.split("-")
            if kind == "scale":
                try:
                    scale = _read_scale("-".join(entries))
                except ValueError as error:
                    problems.append(str(error))
            elif kind not in KINDS:
                problems.append(message("“{part}” names no group of heads ({names})", part=_cut(part),
                                        names=", ".join(KINDS)))
            else:
                for entry in entries:
                    try:
                        heads.update(_read_entry(kind, entry))
                    except ValueError as error:
                        problems.append(str(error))
                    if len(heads) > MAX_HEADS:
                        problems.append(message("the plan names over {most:,} heads; others were not read",
                                                most=MAX_HEADS))
                        return cls(heads, scale), problems[-MAX_PROBLEMS:]
        return cls(heads, scale), problems[:MAX_PROBLEMS]


def _read_entry(kind: str, entry: str) -> dict[Address, HeadState]:
    match = _ENTRY.fullmatch(entry)
    if not match or not (match[4] or match[5] or match[6] is not None):
        raise ValueError(message("“{entry}” is no head's state (like 0.3c)", entry=_cut(entry)))
    layer, first = int(match[1]), int(match[2])
    last = first if match[3] is None else int(match[3])
    if last < first:
        raise ValueError(message("“{entry}” is a reversed range of heads", entry=_cut(entry)))
    _check_address(kind, layer, last)
    gate = 1.0
    if match[6] is not None:
        gate = _check_gate(float(match[6]) if _NUMBER.fullmatch(match[6]) else match[6])
    return {(kind, layer, head): HeadState(bool(match[4]), gate, PATCHES[match[5]]) for head in range(first, last + 1)}


def _read_scale(text: str) -> Scale:
    match = re.fullmatch(rf"({'|'.join(POLICIES)})(\d{{1,4}})?", text, re.ASCII)
    if not match:
        raise ValueError(message("“{text}” is no scale ({names}; logn with base length)", text=_cut(text),
                                 names=", ".join(POLICIES)))
    return Scale(match[1], None if match[2] is None else int(match[2]))


def _runs(items: Iterable[tuple[Address, HeadState]]) -> Iterator[str]:
    """Yields the entries of the text form; neighbouring heads of a layer with equal state share an entry: `0.2~5c`."""
    run: list = []
    for (_, layer, head), state in [*items, (("", -1, -1), LIVE)]:
        if run and (layer, head, state) == (run[0], run[2] + 1, run[3]):
            run[2] = head
            continue
        if run:
            yield f"{run[0]}.{run[1]}{f'~{run[2]}' if run[2] > run[1] else ''}{run[3]}"
        run = [layer, head, head, state]


def _order(address: Address) -> tuple[int, int, int]:
    kind, layer, head = address
    return (KINDS.index(kind) if kind in KINDS else len(KINDS), layer, head)


def _check_address(kind: str, layer: int, head: int) -> None:
    if kind not in KINDS:
        raise ValueError(message("expected a group of heads ({names}), got {kind!r}", names=", ".join(KINDS),
                                 kind=kind))
    for name, value in (("layer", layer), ("head", head)):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INDEX:
            raise ValueError(message("expected a {name} from 0 to {most}, got {value!r}", name=name,
                                     most=MAX_INDEX, value=value))


def _check_gate(value: object) -> float:
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not 0 <= number <= 1:  # NaN fails this test too
        raise ValueError(message("a gate is a number from 0 to 1, not {value}", value=_cut(str(value))))
    return round(float(number), GATE_DECIMALS) + 0.0  # adding 0.0 turns -0.0 into 0.0


def _cut(text: str) -> str:
    return cut(text, 24)


def _person(address: Address, shape: Mapping[str, tuple[int, int]]) -> str:
    kind, layer, head = address
    if kind not in shape:
        return message("no {kind} attention here (layer {layer}, head {head} left out)", kind=kind,
                       layer=layer + 1, head=head + 1)
    layers, heads = shape[kind]
    return message("no layer {layer}, head {head}: this model has {layers} layers of {heads} heads",
                   layer=layer + 1, head=head + 1, layers=layers, heads=heads)
