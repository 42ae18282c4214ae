"""LabState: everything that a visitor can set, as one immutable value that a link holds (state/link.py)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.state.lessons.lesson_files import Place, step_at
from app.state.pages.constant_view import ConstantView
from app.state.pages.heads_view import HeadsView
from app.state.pages.pruning_view import PruningView
from app.state.pages.search import Search
from app.state.pages.selection import Selection
from app.state.shared import shape_of
from app.texts import ENGLISH, N_
from models import catalogue
from models.generate.sampling import Sampling
from models.kind import Shape
from models.plan import HeadPlan
from models.storage.checkpoint import CheckpointError
from models.studies.claims import KEYS

DEFAULT_MODEL = "stories-selective"
START = "start"  # what a first visit opens; no link of the navigation leads there
PAGES = {"explore": N_("Explore"), "compare": N_("Compare"), "heads": N_("Heads"),
         "pruning": N_("Pruning"), "constant": N_("Constant"), "length": N_("Length"), "lessons": N_("Lessons"),
         "yours": N_("Your model"), "results": N_("Results"), "about": N_("About"), START: N_("Start")}
CLAIMS = KEYS
# What can stand in the place of the head's picture, so that one can type and see it change.
HEAD = "head"
SECTIONS = {"needs": N_("What it needs"), "entropy": N_("Entropy"), "gates": N_("Gates"),
            "memory": N_("Forgetting"), "card": N_("Model card")}
FORMS = ("words", "matrix")  # of the large picture of a head
MEANS = ("head", "layer", "all")  # whose weights tint the words: the head's, its layer's mean, that of all heads
TERMS = {"out": N_("Outputs"), "sub": N_("Values"), "pos": N_("Positions")}  # in which heads can differ
# On Compare, level for all models.
PARTS = {"map": N_("Map"), "prediction": N_("Prediction"), "entropy": N_("Entropy of each row")}
FIRST_PAGE, FIRST_CLAIM = next(iter(PAGES)), next(iter(CLAIMS))
SHOWN = "shown"  # in place of an answer: somebody asked for it
LAST = -1  # of a text's predictions
MAX_TEXT = 200_000  # characters that are kept of a text
MAX_COMPARED = 3  # models beside the first


def default_model() -> str:
    """The model of a first visit: the usual one, or the first whose folder can be read.

    Raises:
        LookupError: there is none.
    """
    found = _first_readable([DEFAULT_MODEL]) or _first_readable(catalogue.names())
    if found is None:
        raise LookupError("no model can be read")
    return found


def _first_readable(names: list[str]) -> str | None:
    for name in names:
        try:
            return catalogue.find(name).name
        except (ValueError, CheckpointError):
            continue
    return None


def example_text(model: str) -> str:
    """The text that a newcomer to a model is shown."""
    examples = catalogue.find(model).task.examples
    return examples[0][1] if examples else ""


def unsaid_text(model: str) -> str:
    """The text of a link to a model that names none."""
    return catalogue.find(model).task.unsaid or example_text(model)


@dataclass(frozen=True)
class LabState:
    """What a visitor has set; see the module's docstring.

    Attributes:
        model: name of a model.
        text: as typed, whole.
        plan: what was done to the heads; only heads that one of the models has.
        selection: only heads that one of the models has.
        view: which matrix is shown large, one of company.views_of its models.
        asked: which of the text's predictions is shown, counted from 0, or LAST.
        compared: models of the same family that stand beside `model` on the Compare and Length pages.
        length: tokens, the length that the Length page looks at; 0 for the trained one.
        budgets: tokens that each layer of a selective model keeps while it writes; none for all.
        section: what stands in the place of the head's picture, one of SECTIONS; empty for the picture.
        part: which of PARTS the Compare page shows below the heads.
        claim: which of CLAIMS the Results page shows.
        page: which of PAGES is open.
        form, mean: how a head is shown large, of FORMS; and whose weights tint the words, of MEANS.
        sampling: how the text is continued.
        lesson: the step of a lesson that is being taken; None for the free lab.
        answer: what was answered to the step's question: one of lessons.CHOICES, SHOWN without a guess, or nothing.
        teach: True for large type, and nothing but the lesson, the picture and the answer.
        language: which of texts.LANGUAGES all texts are in; those of the models stay as they are.
        search: what is asked of the section `needs`.
        heads: what the Heads page shows.
        constant: what the Constant page shows.
        pruning: what the Pruning page shows.
        term: which of TERMS the Heads page compares heads in.
    """

    model: str = field(default_factory=default_model)
    text: str = None  # type: ignore[assignment]  # that of a link without one, known once the model is
    plan: HeadPlan = HeadPlan()
    selection: Selection = Selection()
    view: str = "used"
    asked: int = LAST
    compared: tuple[str, ...] = ()
    length: int = 0
    budgets: tuple[int, ...] = ()
    section: str = ""
    claim: str = FIRST_CLAIM
    page: str = FIRST_PAGE
    lesson: Place | None = None
    answer: str = ""
    teach: bool = False
    language: str = ENGLISH
    form: str = FORMS[0]
    mean: str = MEANS[0]
    search: Search = Search()
    heads: HeadsView = HeadsView()
    constant: ConstantView = ConstantView()
    pruning: PruningView = PruningView()
    term: str = next(iter(TERMS))
    sampling: Sampling = Sampling()
    part: str = "map"

    def __post_init__(self) -> None:
        if self.text is None:
            object.__setattr__(self, "text", unsaid_text(self.model))

    @property
    def models(self) -> tuple[str, ...]:
        """All models of this state, `model` first."""
        return (self.model, *self.compared)

    @property
    def shape(self) -> Shape:
        """Kind -> the most layers and heads of its models."""
        return shape_of(self.models)

    @property
    def hides_answer(self) -> bool:
        """True while a class is to guess what the model answers."""
        return self.teach and not self.answer and self.lesson is not None and step_at(self.lesson).question is not None

    @property
    def offers_sections(self) -> bool:
        """False before a class whose step is about the picture: it has the room of what could stand in its place."""
        if not self.teach or self.section or self.lesson is None:
            return True
        return step_at(self.lesson).done.asks("section")

    def alone(self, name: str) -> LabState:
        """What of this state concerns one of its models: a plan and a selection that it has the heads for."""
        if name == self.model and not self.compared:
            return self
        return replace(self, compared=()).with_model(name)

    def with_model(self, name: str) -> LabState:
        """The same experiment on another model; what does not fit it goes back to its default."""
        from app.state.fields import FIELDS  # a link's fields know LabState; this is the one place that looks back

        state = LabState(name)
        for its in FIELDS:
            state = replace(state, **{its.attribute: its.fits(self, state)})
        return state
