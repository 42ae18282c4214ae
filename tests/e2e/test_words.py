"""The Words view in a real browser, with known weights: tints, words, keys, touch, and response time.

pytest tests/e2e/test_words.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import serve
from tests.e2e.components_app import CASES, ROWS, weights
from tests.e2e.components_page import ROOT, colour, part, python, select

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve("tests/e2e/components_app.py") as address:
        yield address


def words(page: Page) -> Locator:
    return page.locator(".words .word")


def readout(page: Page) -> str:
    return page.locator(".readout .first").inner_text()


def tint(word: Locator) -> numpy.ndarray:
    """Returns red, green and blue of a word's background, or of the page's background if the word has none."""
    found = re.findall(r"[\d.]+", word.evaluate("e => getComputedStyle(e).backgroundColor"))
    return numpy.array(found, float)[:3] if len(found) == 3 else numpy.full(3, numpy.nan)


def expect_tints(page: Page, shares: numpy.ndarray, first: int = 0, dark: bool = False, scale: str = "sequential",
                 tolerance: float = 2.5) -> None:
    """Asserts that each word has the colour of its attention weight.

    shares[j] is the weight of word first + j. Words without a weight have no colour.
    """
    for j, word in enumerate(words(page).all()):
        at = j - first
        share = shares[at] if 0 <= at < len(shares) else 0.0
        root = numpy.sign(share) * abs(share) ** 0.5
        step = 255 * root if scale == "sequential" else 127.5 + 127.5 * root
        wanted = colour(dark, scale, step)
        got = tint(word)
        if numpy.isnan(got).any():  # a word without tint has nothing to compare
            assert abs(share) < 1e-4, (j, share)
        else:
            assert numpy.abs(got - wanted).max() <= tolerance, (j, share, got, wanted)


@pytest.mark.parametrize("dark", [False, True])
def test_a_word_tints_the_words_that_it_looks_at(visit, dark):
    page = visit(case="one", form="words", dark=dark)
    live = weights("one", "self")[0, 0]
    expect(words(page)).to_have_count(5)
    expect_tints(page, live[4], dark=dark)  # without a pointer the tints are the attention of the last word
    for i in (2, 0, 3):
        words(page).nth(i).hover()
        expect_tints(page, live[i, :i + 1], dark=dark)
    most = int(live[3, :4].argmax())
    number = words(page).nth(most).locator("small").inner_text()
    assert number.rstrip("%") == f"{100 * live[3, most]:.0f}"
    page.mouse.move(2, 2)
    expect_tints(page, live[4], dark=dark)


def test_the_tint_is_described_in_words(visit):
    page = visit(case="one", form="words")
    live = weights("one", "self")[0, 0]
    expect(page.locator(".readout")).to_have_attribute("aria-live", "polite")
    words(page).nth(1).hover()
    first, itself = (f"{100 * share:.0f}%" for share in live[1, :2])
    parts = sorted([(live[1, 0], f"“Die” {first}"), (live[1, 1], f"itself {itself}")], reverse=True)
    assert readout(page) == "“Katze” attends to " + ", ".join(text for share, text in parts if share >= 0.01)


def test_two_rows_of_tokens_are_both_shown(visit):
    page = visit(form="words")
    select(page, "cross", 2, 1)
    live = weights("three", "cross")[1, 0]
    queries, keys = (ROWS[row] for row in CASES["three"]["cross"].tokens)
    expect(words(page)).to_have_count(len(queries) + len(keys))
    words(page).nth(2).hover()
    expect_tints(page, live[2], first=len(queries))
    assert readout(page).startswith("“saß” attends to ")
    words(page).nth(len(queries) + 5).hover()  # over a word of the keys, tints show the words that attend to it
    expect_tints(page, live[:, 5])
    assert readout(page).startswith("“mat” is attended to by ")


def test_the_tint_of_the_views_constant_difference_and_used(visit):
    page = visit(case="one", form="words")
    live, constant = (weights("one", "self", c)[0, 0] for c in (False, True))
    page.get_by_role("tab", name="Constant").click()
    expect_tints(page, constant[4])
    page.locator("[role=tab][data-name=difference]").click()
    expect_tints(page, constant[4] - live[4], scale="diverging")
    assert "constant minus computed weights, in percentage points" in readout(page)
    page.get_by_role("tab", name="Used").click()
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name=re.compile("constant"))).to_be_visible()
    expect(part(page, "head_map")).not_to_have_class(re.compile("old"))
    expect_tints(page, constant[4])


def test_a_pruned_head_looks_pruned(visit):
    page = visit(case="one", form="words")
    alive = tint(words(page).nth(4))
    page.keyboard.press("p")
    expect(page.locator(".readout .first")).to_contain_text("Pruned: the attention of ")
    pruned = numpy.array([tint(word) for word in words(page).all()])
    assert numpy.isnan(pruned).all() and not numpy.isnan(alive).any()  # no word is tinted
    expect(page.locator(".readout .second")).to_be_empty()
    expect(part(page, "head_map").locator(".note")).to_contain_text("Computed shows its weights")
    page.get_by_role("tab", name="Computed", exact=True).click()
    expect(page.locator(".readout .first")).to_contain_text("attends to")
    numpy.testing.assert_array_equal(tint(words(page).nth(4)), alive)


def test_the_means_of_a_layer_and_of_all_heads(visit):
    page = visit(case="one", form="words")
    live = weights("one", "self")
    page.get_by_role("radio", name="Mean of layer 1").click()
    expect_tints(page, live[0].mean(0)[4], tolerance=4)  # the tolerance is for the rounding of thumbnails
    page.get_by_role("radio", name="Mean of all heads").click()
    expect_tints(page, live.mean((0, 1))[4], tolerance=4)
    page.wait_for_function("() => document.querySelector('code')?.innerText.includes('\"mean\": \"all\"')")
    expect(page.get_by_role("tab", name="Constant")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="All heads of layer 2").click()
    page.keyboard.press("p")  # pruned heads are not part of the mean
    expect(part(page, "head_map")).not_to_have_class(re.compile("old"))
    rest = live[[0, 2]].mean((0, 1))[4]
    page.wait_for_function("() => document.querySelector('code')?.innerText.includes('[0, 0, 0, 0]')")
    page.wait_for_timeout(300)
    expect_tints(page, rest, tolerance=4)


def test_the_keyboard_walks_through_the_words(visit):
    page = visit(case="one", form="words")
    expect(page.locator('.words [tabindex="0"]')).to_have_count(1)
    words(page).nth(4).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(words(page).nth(2)).to_be_focused()
    expect(words(page).nth(2)).to_have_attribute("aria-selected", "true")
    expect(page.locator('.words [aria-selected="true"]')).to_have_count(1)
    expect_tints(page, weights("one", "self")[0, 0][2, :3])
    page.keyboard.press("Home")
    assert readout(page) == "“Die” attends to itself 100%"
    page.keyboard.press("Escape")
    expect(words(page).nth(4)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("p")
    expect(page.get_by_role("gridcell", name="layer 1, head 1, pruned", exact=True)).to_be_visible()
    expect(page.locator('.words [tabindex="0"]')).to_have_count(1)


def test_touch_keeps_a_word(visit):
    page = visit(phone=True, case="one", form="words")
    words(page).nth(2).scroll_into_view_if_needed()
    words(page).nth(2).tap()
    expect_tints(page, weights("one", "self")[0, 0][2, :3])
    assert readout(page).startswith("“saß” attends to ")


@pytest.mark.parametrize("width", [390, 768, 1024, 1440])
def test_128_words_wrap_and_can_be_read(visit, width):
    page = visit(case="longest", form="words")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(300)
    boxes = page.evaluate(f"""() => {{ {ROOT}
        const all = [...root('head_map').querySelectorAll('.word')];
        const outer = root('head_map').querySelector('.words').getBoundingClientRect();
        return all.map(e => {{ const b = e.getBoundingClientRect();
            return [b.left - outer.left, outer.right - b.right, b.height,
                    parseFloat(getComputedStyle(e).fontSize)]; }}); }}""")
    assert len(boxes) == 128
    assert min(left for left, *_ in boxes) >= -1 and min(right for _, right, *_ in boxes) >= -1
    assert min(size for *_, size in boxes) >= 13
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    lines = page.evaluate(f"""() => {{ {ROOT}
        const tops = [...root('head_map').querySelectorAll('.word')].map(e => e.offsetTop);
        return new Set(tops).size; }}""")
    assert lines > 3


def test_a_pointer_is_answered_at_once_and_by_little_work(visit):
    """A pointer event changes the page before the event handler returns, without a request to Python.

    The handler writes only tint, number and frame of each word. Its duration is measured in
    benchmarks/browser/interaction.py.
    """
    page = visit(case="longest", form="words")
    expect(words(page)).to_have_count(128)
    asked: list[object] = []
    for mean in ("head", "all"):
        if mean == "all":
            page.locator(".scopes button").last.click()
            page.wait_for_function("() => document.querySelector('code')?.innerText.includes('\"mean\": \"all\"')")
        page.wait_for_timeout(800)
        asked.clear()
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.webSocketFrameSent", lambda frame: asked.append(frame))
        found = page.evaluate(f"""() => {{ {ROOT}
            const map = root('head_map');
            const all = [...map.querySelectorAll('.word')];
            const count = map.querySelectorAll('*').length;
            const watch = new MutationObserver(() => {{}});
            watch.observe(map, {{ subtree: true, childList: true, attributes: true, characterData: true }});
            const sentences = [];
            const writes = [];
            for (const i of [60, 127, 20]) {{
                all[i].dispatchEvent(new PointerEvent('pointerover', {{ bubbles: true, pointerType: 'mouse' }}));
                sentences.push(map.querySelector('.readout').textContent + all[i].classList.contains('now'));
                writes.push(watch.takeRecords().length);
            }}
            return {{ sentences, writes, more: map.querySelectorAll('*').length - count }}; }}""")
        assert len(set(found["sentences"])) == 3 and all(text.endswith("true") for text in found["sentences"])
        assert max(found["writes"]) <= 3 * 128 + 12, found["writes"]
        assert found["more"] == 0
        page.wait_for_timeout(300)
    assert not [frame for frame in asked if len(str(frame)) > 400], asked  # Streamlit's keep-alive messages are shorter


def test_the_choice_of_form_reaches_python(visit):
    page = visit(case="one", form="words")
    page.get_by_role("tab", name="Matrix").click()
    expect(page.locator(".plot")).to_be_visible()
    page.wait_for_function("() => document.querySelector('code')?.innerText.includes('\"form\": \"matrix\"')")
    page.get_by_role("tab", name="Words").click()
    expect(words(page)).to_have_count(5)
    expect(page.locator(".plot")).to_be_hidden()
    assert python(page)["mean"] == "head"
