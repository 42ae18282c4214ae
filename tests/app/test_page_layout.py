"""The text box and the page have fixed places among Streamlit's elements.

pytest tests/app/test_page_layout.py
"""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Node

from tests.app.test_pages import opened


def place_of(app: AppTest, name: str) -> tuple[int, ...]:
    """Returns the path of a component's element from the page's fragment: an index per level."""
    def search(node: Node, path: tuple[int, ...]) -> tuple[int, ...] | None:
        if isinstance(node, Block):
            inner = (search(child, (*path, index)) for index, child in node.children.items())
            return next((its for its in inner if its is not None), None)
        its = getattr(node.proto, "component_name", "")
        return path if its.endswith(f"attention_lab_{name}") else None
    path = search(app.main, ())
    assert path is not None, name
    return path


def test_a_page_begins_at_the_same_place_with_and_without_a_text_box():
    """The model of pictures has no text box, and the masked model has one more line below its box."""
    boxed = [place_of(opened(model=model, page="explore"), "heads")[:3] for model in (
        "stories-softmax", "masked-softmax", "translation-softmax")]
    assert len(set(boxed)) == 1


def test_the_list_of_sections_names_the_group_of_each():
    options = opened(model="stories-selective").selectbox(key="section").options
    assert options[:2] == ["See: Head", "See: Zoom"]
    assert [option.split(": ")[0] for option in options] == ["See"] * 5 + ["Explain"] * 2 + ["Experiment"] * 3
