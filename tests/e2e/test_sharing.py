"""Links in a real browser: they restore the whole state, are shown as a QR code, and keep visitors apart."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.app_page import answer, linked, query, text_box, tile, type_text

pytestmark = pytest.mark.browser

PLAN = "self-1.2g0"
SIZES = [(390, 844), (1024, 768), (1280, 800), (1920, 1080)]
# Returns the code's modules, read from the pixels of the shown picture: one character for each, 1 for dark.
READ = """async picture => {
    const side = picture.viewBox.baseVal.width, pixels = side * 4;
    const image = new Image();
    const copy = picture.cloneNode(true);
    copy.setAttribute('width', pixels);
    copy.setAttribute('height', pixels);
    image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: pixels, height: pixels });
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    return Array.from({ length: side }, (_, y) => Array.from({ length: side }, (_, x) =>
        context.getImageData(4 * x + 2, 4 * y + 2, 1, 1).data[0] < 128 ? '1' : '0').join(''));
}"""


def opened(page: Page, unfold: bool = True) -> Locator:
    """Opens the dialog and returns it; `unfold` shows the code, which is folded at an address of this computer."""
    button = page.get_by_role("button", name="Share", exact=True)
    if button.is_visible():
        button.click()
    else:  # on a phone
        page.get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name="Share").click()
    dialog = page.get_by_role("dialog", name="Open this on another device")
    dialog.wait_for()
    anyway = dialog.get_by_role("button", name="Show the QR code anyway")
    if unfold and anyway.is_visible():
        anyway.click()
    return dialog


@pytest.mark.parametrize("teach", ["0", "1"])
def test_the_code_and_the_link_are_whole_on_every_screen(teach: str, visit: Callable[..., Page]):
    for size in SIZES:
        page = visit(phone=size[0] < 500, dark=size[0] == 1280, model="stories-selective", plan=PLAN, teach=teach)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        dialog = opened(page, unfold=False)
        # an address of this computer has a warning in place of its code, which no other device could open
        warning = dialog.get_by_text("on this computer only")
        expect(warning).to_be_in_viewport(ratio=0.99)
        expect(dialog.get_by_role("img")).to_be_hidden()
        assert warning.bounding_box()["y"] < dialog.locator(".link").bounding_box()["y"]
        dialog.get_by_role("button", name="Show the QR code anyway").click()
        code = dialog.get_by_role("img")
        expect(code).to_be_in_viewport(ratio=0.99)
        box = code.bounding_box()
        assert min(box["width"], box["height"]) >= 0.7 * min(size)
        expect(dialog.locator(".link")).to_be_in_viewport(ratio=0.99)
        expect(dialog.locator(".link")).not_to_contain_text("teach")
        assert dialog.evaluate("its => its.scrollWidth - its.clientWidth") <= 0
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        page.close()


def test_the_code_holds_the_link_of_what_is_shown(visit: Callable[..., Page]):
    page = visit(model="stories-softmax")
    tile(page, 1, 2).click()
    page.keyboard.press("p")
    dialog = opened(page)  # at once: the dialog waits for the change
    link = dialog.locator(".link").inner_text()
    assert parse_qs(urlparse(link).query)["plan"] == [PLAN]
    rows = dialog.get_by_role("img").evaluate(READ)
    expected = page.evaluate("""async link => {
        const { generate } = await import('/app/static/lean-qr-2.7.4.js');
        const code = generate(link);
        return Array.from({ length: code.size + 8 }, (_, y) => Array.from({ length: code.size + 8 }, (_, x) =>
            code.get(x - 4, y - 4) ? '1' : '0').join(''));
    }""", link)
    assert rows == expected
    dialog.get_by_role("button", name="Copy link").click()
    expect(dialog.locator(".copied")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == link
    expect(dialog).to_contain_text("on this computer only")  # the tests' server listens on 127.0.0.1
    page.keyboard.press("r")  # a shortcut of the heads, which has no effect in the dialog
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator(".tile.pruned")).to_have_count(1)


def test_a_link_that_is_too_long_is_shown_whole_without_a_code(visit: Callable[..., Page]):
    text = "One day Tom had a big red ball. " * 100
    page = visit(model="stories-softmax", text=text)
    dialog = opened(page)
    expect(dialog.get_by_role("img")).to_have_count(0)
    expect(dialog).to_contain_text("too long for a QR code")
    link = dialog.locator(".link").inner_text()
    assert len(link) > 2953 and f"{int(len(link)):,}" in dialog.inner_text()
    dialog.get_by_role("button", name="Copy link").click()
    expect(dialog.locator(".copied")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == link


@pytest.mark.parametrize("has_sheet", [True, False])
def test_the_share_sheet_of_the_system_is_offered_where_there_is_one(has_sheet: bool, visit: Callable[..., Page]):
    page = visit(model="stories-softmax")
    page.add_init_script("navigator.share = async data => { window.shared = data; }" if has_sheet else
                         "delete Navigator.prototype.share")
    page.reload()
    tile(page, 0, 0).wait_for()
    dialog = opened(page)
    button = dialog.get_by_role("button", name="Share…")
    expect(button).to_be_visible(visible=has_sheet)
    if has_sheet:
        button.click()
        assert page.evaluate("window.shared.url") == dialog.locator(".link").inner_text()


def test_the_link_is_copied_on_plain_http_and_dragging_keeps_the_dialog(visit: Callable[..., Page]):
    """Without HTTPS browsers have no clipboard API; everything outside the dialog is inert."""
    page = visit(plan=PLAN)
    page.evaluate("""Object.defineProperty(navigator, 'clipboard', { value: undefined });
        document.addEventListener('copy', () => { window.copied = true; }, true);""")
    dialog = opened(page)
    copy = dialog.get_by_role("button", name="Copy link")
    copy.click()
    expect(dialog.locator(".copied")).to_have_text("Copied")
    assert page.evaluate("window.copied")
    expect(copy).to_be_focused()
    box = dialog.locator(".link").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(3, 3)
    page.mouse.up()
    expect(dialog).to_be_visible()
    page.mouse.click(3, 3)
    expect(dialog).to_be_hidden()


def test_a_class_gets_a_step_as_it_opens(visit: Callable[..., Page]):
    page = visit(wait=False, lesson="gates.3", model="assignment-selective", plan="self-0.0g0", lang="zh", teach="1",
                 say="b")
    expect(page.locator(".tile.pruned")).to_have_count(1)
    page.get_by_role("button", name="分享", exact=True).click()
    dialog = page.get_by_role("dialog")
    assert parse_qs(urlparse(dialog.locator(".link").inner_text()).query) == {"lesson": ["gates.3"], "lang": ["zh"]}
    expect(dialog.locator(".remarks")).to_contain_text("不含你的改动")


def test_a_state_is_saved_under_a_name_and_opened_again(visit: Callable[..., Page]):
    page = visit(model="assignment-selective", text="x=1; x=7; x=?", plan="self-1.1g0")
    dialog = opened(page)
    dialog.get_by_role("button", name="Saved states").click()
    page.get_by_role("menuitem", name="Save this state…").click()
    form = dialog.locator("form.saving")
    outer, parts = form.bounding_box(), [its.bounding_box() for its in form.locator("input, button").all()]
    assert all(left["x"] + left["width"] + 6 <= right["x"] for left, right in zip(parts, parts[1:], strict=False))
    assert all(its["x"] + its["width"] <= outer["x"] + outer["width"] for its in parts)
    page.get_by_role("textbox", name="Name of the state").fill("without it")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Undo all changes").click()
    linked(page, "plan", None)
    opened(page)
    dialog.get_by_role("button", name="Saved states").click()
    page.get_by_role("menuitem", name="Open: without it").click()
    linked(page, "plan", "self-1.1g0")
    expect(dialog).to_be_hidden()


Visit = Callable[..., Page]
LOOKUP = {"model": "assignment-selective", "text": "x=1; x=7; y=3; x=?"}


def test_a_link_restores_everything_in_another_browser(visit: Visit):
    first = visit(**LOOKUP)
    type_text(first, "a=1; b=2; a=5; a=?")
    linked(first, "text", "a=1; b=2; a=5; a=?")
    tile(first, 1, 2).click()
    first.keyboard.press("p")
    tile(first, 2, 1).click()
    first.keyboard.press("c")
    first.get_by_role("button", name="contributions", exact=True).click()
    first.get_by_role("group", name="The text").locator(".word").nth(4).click()
    first.get_by_role("tab", name="All heads").click()
    first.locator('.tools [data-key="all.find"]').click()
    first.get_by_role("button", name="Keep this figure below").click()
    expect(first.locator(".pins figure")).to_have_count(1)
    expect(first.locator(".pins .drawing.find")).not_to_be_empty()
    linked(first, "plan", "self-1.2g0-2.1c")
    assert {"at", "lab"} <= query(first).keys()
    second = visit(**query(first))
    expect(second.locator(".pins .drawing.find")).not_to_be_empty()
    shown = [page.locator('[data-part="lab"]').aria_snapshot() for page in (first, second)]
    assert shown[0] == shown[1] and "pruned" in shown[0]
    assert query(second) == query(first)


def test_two_visitors_never_affect_each_other(visit: Visit):
    one, two = visit(**LOOKUP), visit(**LOOKUP)
    tile(one, 0, 1).click()
    one.keyboard.press("p")
    type_text(two, "b=6; b=?")
    linked(one, "plan", "self-0.1g0")
    linked(two, "text", "b=6; b=?")
    expect(two.locator(".tile.pruned")).to_have_count(0)
    expect(text_box(one)).to_have_value(LOOKUP["text"])
    expect(answer(two)).to_have_text("6")


def test_embedded_there_is_the_work_and_a_line_that_leads_to_the_lab(visit: Visit):
    page = visit(embed="true", model="stories-softmax", plan="self-0.0c")
    expect(page.get_by_role("navigation")).to_have_count(0)
    line = page.get_by_role("link", name=re.compile("Open this in Attention Lab"))
    tile(page, 1, 2).click()
    page.keyboard.press("p")
    linked(page, "plan", "self-0.0c-1.2g0")
    assert "embed=true" in page.url
    expect(line).to_have_attribute("href", re.compile("1.2g0"))
    assert "embed" not in line.get_attribute("href")
