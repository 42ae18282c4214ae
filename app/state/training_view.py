"""TrainingView: the training that the page Training shows, and the trainings beside it."""

from __future__ import annotations

from dataclasses import dataclass

from learning.recipe import Recipe
from models.errors import InputError
from models.messages import message

MOST_BESIDE = 2  # number of trainings whose curves are shown beside that of the page
_SEPARATOR = " "


@dataclass(frozen=True)
class TrainingView:
    """The settings of the page Training."""

    recipe: Recipe | None = None  # the training of the page; None for the table of all tasks and attention types
    beside: tuple[Recipe, ...] = ()  # trainings of the same task whose curves are shown as well, the latest first

    def opened(self, recipe: Recipe, keeps: bool) -> TrainingView:
        """Returns the view of another training; with `keeps`, the curve of the present one stays beside it."""
        old = (self.recipe, *self.beside) if keeps and self.recipe else self.beside
        beside = dict.fromkeys(each for each in old if each != recipe and each.task == recipe.task)
        return TrainingView(recipe, tuple(beside)[:MOST_BESIDE])

    def __str__(self) -> str:
        """Returns the link's field: the recipes, separated by blanks."""
        return _SEPARATOR.join(map(str, (self.recipe, *self.beside))) if self.recipe else ""

    @classmethod
    def parse(cls, text: str) -> TrainingView:
        """Returns the view of a link's field; raises InputError for no recipes, or recipes of several tasks."""
        if not text:
            return cls()
        first, *others = map(Recipe.parse, text.split(_SEPARATOR, MOST_BESIDE + 1))
        is_other = [other != first and other.task == first.task for other in others]
        if not all(is_other) or len(set(others)) < len(others) or len(others) > MOST_BESIDE:
            raise InputError(message("at most {most} different trainings of one task", most=MOST_BESIDE + 1))
        return cls(first, tuple(others))
