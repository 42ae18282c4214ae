"""LabState: all settings of a visitor, as one immutable value. A link contains this value (app/state/link.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from app.state.lab_view import AnswerView, LabView, Search
from app.state.lessons import Place, step_at
from app.state.selection import Selection
from app.state.training_view import TrainingView
from app.texts import ENGLISH, N_
from models import catalogue
from models.generate.decoding import Sampling
from models.info import ModelInfo
from models.kind import Shape, largest_shape
from models.kind import policies_of as of_kinds
from models.plan import HeadPlan
from models.storage.checkpoint import CheckpointError
from studies.claims import KEYS, statement_keys

DEFAULT_MODEL = "stories-selective"
START = "start"  # key of the start page, which a new visitor sees first
LAB = "lab"  # key of the Lab
TRAINING = "training"  # key of the page Training
TEACHERS = "teachers"  # key of the page for teachers; the page Lessons has a link to it
PAGES = {LAB: N_("Lab"), TRAINING: N_("Training"), "lessons": N_("Lessons"), "results": N_("Findings"),
         "yours": N_("Models"), "about": N_("Guide"), START: N_("Start"), TEACHERS: N_("For teachers")}
MATRIX = "trained"  # key of the matrix of small trainings in Findings
CLAIMS = (*KEYS, *statement_keys(), MATRIX)  # a link names a claim, one of its statements, or the matrix
FIRST_PAGE, FIRST_CLAIM = next(iter(PAGES)), next(iter(CLAIMS))
SHOWN = "shown"  # value of LabState.answer if the visitor displayed the right answer without guessing
LAST = -1  # value of LabState.prediction for the last prediction of the text
MAX_TEXT = 200_000  # largest number of characters of a text; a longer text is cut
MAX_COMPARED = 3  # largest number of compared models, not counting the page's model


def entries(models: Iterable[str]) -> list[ModelInfo]:
    return [catalogue.find(name) for name in models]


def shape_of(models: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Returns attention block -> (layers, heads), each the maximum over the models; limits the valid selections."""
    return largest_shape(entry.shape for entry in entries(models))


def policies_of(models: Iterable[str]) -> frozenset[str]:
    """Returns the scale policies that at least one of the models supports."""
    return frozenset(policy for entry in entries(models) for policy in of_kinds(entry.kinds))


def fit(plan: HeadPlan, models: Sequence[str]) -> tuple[HeadPlan, list[str]]:
    """Returns the part of a plan that at least one model supports, and a description of each omitted part."""
    shape, *beside = (entry.shape for entry in entries(models))
    return plan.within(shape, policies_of(models), beside)


def fits_memory(model: str, budgets: tuple[int, ...]) -> bool:
    """Returns True for a model with selective attention and one budget per layer."""
    (entry,) = entries([model])
    return entry.selects and len(budgets) == entry.kinds[0].layers


def default_model() -> str:
    """Returns the name of the model for a new visitor: DEFAULT_MODEL, or the first model that can be read."""
    name = _first_readable([DEFAULT_MODEL]) or _first_readable(catalogue.names())
    if name is None:
        raise LookupError("no model can be read")
    return name


def _first_readable(names: list[str]) -> str | None:
    for name in names:
        try:
            return catalogue.find(name).name
        except (ValueError, CheckpointError):
            continue
    return None


def example_text(model: str) -> str:
    """Returns the first example text of a model's task."""
    examples = catalogue.find(model).task.examples
    return examples[0][1] if examples else ""


def first_examples() -> Iterator[tuple[str, str]]:
    """Yields the name of each model that may be readable, the default model first, and its first example text."""
    for name in dict.fromkeys([DEFAULT_MODEL, *catalogue.names()]):
        if _first_readable([name]):
            yield name, example_text(name)


def default_text(model: str) -> str:
    """Returns the text for a link that names the model but no text."""
    return catalogue.find(model).task.unsaid or example_text(model)


@dataclass(frozen=True)
class LabState:
    """All settings of a visitor."""

    model: str = field(default_factory=default_model)  # name of a model
    # the complete input text
    text: str = None  # type: ignore[assignment]  # __post_init__ sets the default, which depends on the model
    plan: HeadPlan = HeadPlan()  # interventions on heads; each head exists in at least one of the models
    selection: Selection = Selection()  # the selected head, which exists in at least one of the models
    prediction: int = LAST  # index of the prediction that is shown, counted from 0 in the order of the text, or LAST
    compared: tuple[str, ...] = ()  # the models of the same family that the Lab shows beside `model`
    # number of tokens that each layer of a selective model keeps during generation; empty for all tokens
    budgets: tuple[int, ...] = ()
    claim: str = FIRST_CLAIM  # the open statement of Findings, its claim, or the matrix; one of CLAIMS
    page: str = FIRST_PAGE  # the open page, a key of PAGES
    lesson: Place | None = None  # the open step of a lesson; None outside lessons
    answer: str = ""  # answer to the step's question: a letter of lessons.CHOICES, SHOWN, or empty
    teach: bool = False  # True for the display in a classroom: large type
    # language of the interface, a key of texts.LANGUAGES; input texts and generated texts are not translated
    language: str = ENGLISH
    search: Search = Search()  # settings of the search for minimal heads
    sampling: Sampling = Sampling()  # temperature, top-p and seed of the continuation
    source: str = ""  # the second prompt, from which patched heads take their values; empty for none
    target: str = ""  # the output text that an encoder-decoder is given in place of its own; empty for its own
    explanation: AnswerView = AnswerView()  # settings of the tools that explain the prediction
    chat: bool = False  # True if the model reads the text in its chat template
    lab: LabView = LabView()  # settings of the Lab
    training: TrainingView = TrainingView()  # settings of the page Training

    def __post_init__(self) -> None:
        if self.text is None:
            object.__setattr__(self, "text", default_text(self.model))

    @property
    def models(self) -> tuple[str, ...]:
        """All models of this state, `model` first."""
        return (self.model, *self.compared)

    @property
    def shape(self) -> Shape:
        """Attention block -> (layers, heads), each the maximum over the models."""
        return shape_of(self.models)

    @property
    def hides_answer(self) -> bool:
        """True while the question of a lesson's step is open: the visitor guesses before the prediction is shown."""
        return not self.answer and self.lesson is not None and step_at(self.lesson).question is not None

    def for_model(self, name: str) -> LabState:
        """Returns the state of one model, with the parts of plan and selection that fit this model's heads."""
        if name == self.model and not self.compared:
            return self
        return replace(self, compared=()).with_model(name)

    def with_plan(self, plan: HeadPlan) -> LabState:
        """Returns the state with the part of a plan that fits at least one of the models."""
        return replace(self, plan=fit(plan, self.models)[0])

    def with_model(self, name: str) -> LabState:
        """Returns the same experiment on another model; a field that does not fit the model gets its default."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if is_kept(each.name)}
        state = replace(LabState(name), **kept)
        for attribute, carry in CARRIED.items():
            state = replace(state, **{attribute: carry(self, state)})
        return state


def _in_family(attribute: str) -> Callable[[LabState, LabState], Any]:
    """Returns the rule that keeps the value for a model of the same family; another model gets the default."""
    return lambda old, new: getattr(old if catalogue.same_family(old.model, new.model) else new, attribute)


def _compared(old: LabState, new: LabState) -> tuple[str, ...]:
    return tuple(name for name in _in_family("compared")(old, new) if name != new.model)


def _budgets(old: LabState, new: LabState) -> tuple[int, ...]:
    budgets = _in_family("budgets")(old, new)
    return budgets if fits_memory(new.model, budgets) else ()


# The attributes that a change of the model can change, each with its rule: (old state, new state) -> value. The rules
# are applied in this order, so the new state of a rule has the values of the rules before.
CARRIED: dict[str, Callable[[LabState, LabState], Any]] = {
    "text": lambda old, new: old.text if catalogue.same_family(old.model, new.model) else example_text(new.model),
    "chat": lambda old, new: old.chat and catalogue.find(new.model).task.chats,
    "compared": _compared,
    "plan": lambda old, new: fit(_in_family("plan")(old, new), new.models)[0],
    "selection": lambda old, new: old.selection.within(new.shape),
    "prediction": _in_family("prediction"),
    "budgets": _budgets,
    "source": _in_family("source"),
    "target": _in_family("target"),
    "explanation": _in_family("explanation"),
}


def is_kept(attribute: str) -> bool:
    """Returns True if a change of the model never changes an attribute of LabState."""
    return attribute != "model" and attribute not in CARRIED
