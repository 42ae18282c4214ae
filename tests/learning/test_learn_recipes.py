"""Recipes of small trainings: text form, bounds, and hostile texts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.recipe import ATTENTION, MAX_HEADS, MAX_LAYERS, MAX_SEED, MAX_STEPS, Recipe
from learning.tasks import TASKS
from models import HeadPlan
from models.errors import InputError


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    layers, heads = draw(st.integers(1, MAX_LAYERS)), draw(st.integers(1, MAX_HEADS))
    plan = HeadPlan()
    for layer, head, constant, gate in draw(st.lists(st.tuples(
            st.integers(0, layers - 1), st.integers(0, heads - 1), st.booleans(), st.floats(0, 1)), max_size=5)):
        plan = plan.with_heads([("self", layer, head)], constant=constant, gate=gate)
    return Recipe(draw(st.sampled_from(list(TASKS))), draw(st.sampled_from(ATTENTION)), layers, heads,
                  draw(st.integers(0, MAX_SEED)), draw(st.integers(1, MAX_STEPS)), plan)


@given(recipes())
def test_a_recipe_survives_its_text_form(recipe: Recipe):
    text = str(recipe)
    assert Recipe.parse(text) == recipe
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", text)  # characters that no URL escapes
    config = recipe.config
    assert config.width <= 64 and config.width == config.heads * config.head_width and config.head_width % 2 == 0


FORM = r"[a-z]{3,9}\.[a-z-]+\.\d+x\d+\.\d+\.\d+(\.[a-z0-9.~_-]*)?"


@given(st.text(max_size=60) | st.from_regex(FORM, fullmatch=True))
def test_a_hostile_text_is_a_recipe_within_bounds_or_an_input_error(text: str):
    try:
        recipe = Recipe.parse(text)
    except InputError:
        return
    assert recipe.layers <= MAX_LAYERS and recipe.heads <= MAX_HEADS and recipe.steps <= MAX_STEPS


@pytest.mark.parametrize(("text", "words"), [
    ("lookup.softmax.999x4.0.1500", "1 to 3 layers"), ("lookup.softmax.2x999.0.1500", "1 to 8 heads"),
    ("lookup.softmax.2x4.0.999999999", "1 to 3,000 steps"), ("lookup.softmax.2x4.0.0", "1 to 3,000 steps"),
    ("lookup.softmax.2x4.99999.9", "0 to 9999"), ("cook.softmax.2x4.0.9", "no task “cook”"),
    ("lookup.gau-relu2.2x4.0.9", "no causal attention type"), ("lookup.softmax.2x4.0.9.self-2.0c", "no layer 3"),
    ("lookup.softmax.2x4.0.9.cross-0.0c", "no cross attention"), ("lookup.softmax.2x4.0.9.self-0.0p", "cannot patch"),
    ("lookup.softmax.2x4.0.9.self-0.0g7", "0 to 1"), ("lookup.random.2x4.0.9.scale-logn64", "no effect"),
    ("lookup.softmax.²x4.0.9", "is no training"), ("", "is no training"), ("../../etc/passwd", "is no training"),
    ("lookup.softmax.2x4.0.9." + "self-0.0c" * 9999, "8,192 were read")])
def test_a_message_names_the_fault(text: str, words: str):
    with pytest.raises(InputError, match=re.escape(words)) as problem:
        Recipe.parse(text)
    assert len(str(problem.value)) < 600


@pytest.mark.parametrize("settings", [{"layers": True}, {"heads": 2.0}, {"seed": None}, {"steps": "1500"},
                                      {"task": ["lookup"]}, {"attention": None}, {"plan": "self-0.0c"}])
def test_values_of_another_type_are_input_errors(settings: dict):
    with pytest.raises(InputError):
        Recipe(**({"task": "lookup"} | settings))
