"""A training in a notebook: its HTML has all moments, and its slider draws them."""

import base64
import re

import pytest
from playwright.sync_api import Browser, Page, expect

from learning import recorded
from learning.loop import Learning
from learning.moment import html
from learning.recipe import Recipe

MOMENTS = recorded.recording(Recipe("lookup")) or []


def test_a_training_is_shown_with_all_its_moments():
    learning = Learning(Recipe("count", layers=1, heads=2, steps=3))
    shown = learning._repr_html_()
    patterns = re.search('data-patterns="([^"]*)"', shown)
    assert patterns and base64.b64decode(patterns[1]) == b"".join(
        moment.packed().partition(b"\n")[2] for moment in learning)
    points = re.search('polyline points="([^"]*)"', shown)
    assert points and len(points[1].split()) == len([*learning]) == 4
    assert f"{learning.baseline:.1%}" in shown and "count.softmax.1x2.0.3" in shown


def test_a_title_is_no_markup():
    assert "<img" not in html("<img src=x>", 0.1, MOMENTS)


@pytest.mark.browser
def test_the_slider_draws_each_moment(browser: Browser):
    page: Page = browser.new_page()
    page.set_content(html("lookup", 0.09, MOMENTS))
    text, slider = page.locator("output"), page.locator("input")
    expect(text).to_have_text("Step 1500: 99.8% right, loss 0.01 nats. Prediction: 5 (99.9%)")
    drawing = "c => c.toDataURL()"
    last, end = page.locator("canvas").evaluate(drawing), page.locator("circle").get_attribute("cx")
    slider.focus()
    slider.press("Home")
    expect(text).to_have_text(re.compile("^Step 0: 0.0% right"))
    assert page.locator("canvas").evaluate(drawing) != last
    assert page.locator("circle").get_attribute("cx") != end
