"""The notebook widget: its events, values and picture without a kernel, and its script in a browser."""

import base64
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import attention_lab
from components.colours import COLOURS
from components.payload import unpack
from models import HeadPlan, Lab
from models.errors import InputError
from models.trace import divergence
from tests import browser
from widget import fallback
from widget.widget import HeadsWidget, script, style

TEXT = "Once upon a time <b>Tom"
PLAN = HeadPlan().constant("self", 0, 3).gate("self", 1, 2, 0.5).gate("self", 2, 2, 0.0)


@pytest.fixture(scope="module")
def lab() -> Lab:
    return attention_lab.load("stories-selective")


@pytest.fixture
def widget(lab: Lab) -> HeadsWidget:
    return attention_lab.show(lab, TEXT, PLAN)


def part(widget: HeadsWidget, index: int = 0) -> tuple[dict, dict]:
    return unpack(widget._parts[index]["payload"])


def send(widget: HeadsWidget, *events: Any, key: str = "lab-0") -> None:
    widget._on_message(widget, {"events": [event | {"key": key} if isinstance(event, dict) else event
                                           for event in events]}, [])


def heads(sequence: Any = 1, **change: Any) -> dict[str, Any]:
    return {"type": "heads", "kind": "self", "layer": 3, "head": 1, "scope": "head", "sequence": sequence} | change


def test_the_widget_shows_what_the_model_computes(widget: HeadsWidget, lab: Lab):
    expected, plain = attention_lab.run(lab, TEXT, PLAN), attention_lab.run(lab, TEXT)
    numpy.testing.assert_allclose(widget.trace.weights["self"], expected.weights["self"], atol=1e-6)
    assert widget.baseline.loss == pytest.approx(plain.loss)
    header, arrays = part(widget)
    (block,) = header["kinds"]
    assert block["constant"][0][3] and block["gates"][1][2] == 0.5 and header["tokens"]["text"] == expected.tokens
    answer = header["answer"]
    assert (answer["loss_before"], answer["loss_after"]) == pytest.approx((plain.loss, expected.loss))
    assert answer["kl"] == pytest.approx(divergence(plain.output, expected.output), rel=1e-4)
    pattern = expected.weights["self"][0, 3][numpy.tril_indices(len(expected.tokens))]
    numpy.testing.assert_allclose((arrays["map.used"] / 255) ** 2, pattern, atol=0.005)  # head 4 of layer 1


def test_an_event_changes_plan_and_trace_and_is_acknowledged(widget: HeadsWidget, lab: Lab):
    plans = []
    widget.observe(lambda change: plans.append(change["new"]), "plan")
    send(widget, heads(7, gate=0))
    assert widget.plan == PLAN.gate("self", 3, 1, 0.0) and plans == [widget.plan]
    assert widget.trace.loss == pytest.approx(attention_lab.run(lab, TEXT, widget.plan).loss)
    assert part(widget)[0]["sequence"] == part(widget)[0]["answered"] == 7
    send(widget, heads(7, gate=1), heads(6, gate=1))  # repeated sequence numbers are ignored
    assert widget.plan == PLAN.gate("self", 3, 1, 0.0)
    send(widget, {"type": "select", "kind": "self", "layer": 2, "head": 5, "scope": "row", "sequence": 8})
    header, _arrays = part(widget)
    assert header["selection"] == {"kind": "self", "layer": 2, "head": 5, "scope": "row"}
    assert header["tool"]["key"] == "layer.mean"
    send(widget, {"type": "look", "position": 2, "sequence": 9})
    assert part(widget)[0]["look"] == 2 and widget.plan == PLAN.gate("self", 3, 1, 0.0)
    send(widget, {"type": "scale", "policy": "logn", "base": 12, "sequence": 10})
    assert str(widget.plan.scale) == "logn12"


def test_changes_are_undone_step_by_step(widget: HeadsWidget):
    slides = [heads(n, gate=gate, drag=drag) for n, gate, drag in ((1, 0.7, True), (2, 0.4, True), (3, 0.2, False))]
    send(widget, *slides)
    slid = PLAN.gate("self", 3, 1, 0.2)
    assert widget.plan == slid
    for sequence, (kind, plan) in enumerate([("reset", HeadPlan()), ("undo", slid), ("undo", PLAN), ("undo", PLAN),
                                             ("redo", slid), ("redo", HeadPlan()), ("redo", HeadPlan())], 4):
        send(widget, {"type": kind, "sequence": sequence})
        assert widget.plan == plan, (sequence, kind)


def test_every_tool_has_content(widget: HeadsWidget):
    keys = [tool["key"] for tool in part(widget)[0]["tools"]]
    assert {"head", "layer", "all", "word", "answer"} == {key.split(".")[0] for key in keys}
    for sequence, key in enumerate(keys, 1):
        send(widget, {"type": "tool", "name": key, "sequence": sequence})
        tool = part(widget)[0]["tool"]
        assert tool["key"] == key and "message" not in tool


def test_contributions_and_guesses_are_of_the_plan(widget: HeadsWidget):
    send(widget, {"type": "marks", "contributions": True, "guesses": True, "sequence": 1})
    header, arrays = part(widget)
    assert arrays["stubs.self"].shape == (4, 8) and arrays["stubs.self"][2, 2] == 0 != arrays["stubs_before.self"][2, 2]
    assert header["guesses"]["chance"][-1] == pytest.approx(
        max(widget.trace.output.distribution), abs=1e-4)


@pytest.mark.parametrize("event", [
    heads(gate=2), heads(gate=True), heads(constant="yes"), heads(layer=4), heads(layer=-1), heads(head="0"),
    heads(kind="cross"), heads(kind=[]), heads(scope="most"), heads(None),
    {"type": "scale", "policy": "logn", "base": 1, "sequence": 1},
    {"type": "scale", "policy": [], "sequence": 1}, {"type": "set", "name": {}, "sequence": 1}, {"sequence": 1},
    {"type": "prediction", "index": -5, "sequence": 1}, {"type": "look", "position": True, "sequence": 1},
    {"type": "thing", "thing": [], "sequence": 1}, {"type": "contribution", "token": "x", "sequence": 1},
    {"type": "undo", "sequence": 1}, "heads", None])
def test_an_invalid_event_changes_nothing(widget: HeadsWidget, event: Any):
    before = widget._choices
    send(widget, event)
    assert widget._choices == before and widget.plan == PLAN


@pytest.mark.parametrize("message", [None, [], {"events": {}}, {"events": [{"type": "reset", "sequence": 1}]}])
def test_an_invalid_message_is_ignored(widget: HeadsWidget, message: Any):
    widget._on_message(widget, message, [])
    assert widget.plan == PLAN


def test_plan_and_text_can_be_set(widget: HeadsWidget, lab: Lab):
    widget.plan = HeadPlan()
    assert widget.trace is widget.baseline and not part(widget)[0]["changed"]
    widget.text = "The dog"
    assert widget.trace.tokens == list(lab.read("The dog").tokens)
    with pytest.raises(InputError):
        widget.text = ""
    assert widget.text == "The dog" and part(widget)[0]["tokens"]["text"] == widget.trace.tokens


def test_a_plan_that_the_model_does_not_have_is_refused(lab: Lab):
    with pytest.raises(ValueError, match="stories-selective"):
        attention_lab.show(lab, TEXT, HeadPlan().gate("cross", 0, 0, 0.0))


def test_models_are_compared_under_one_plan(lab: Lab):
    both = attention_lab.compare([lab, attention_lab.load("stories-softmax")], TEXT, PLAN)
    assert len(both._parts) == len(both.traces) == 2
    send(both, heads(3, gate=0), key="lab-1")
    for index in (0, 1):
        assert part(both, index)[0]["kinds"][0]["gates"][3][1] == 0
    with pytest.raises(ValueError, match="at least one model"):
        attention_lab.compare([], TEXT)


def test_an_encoder_decoder_has_all_blocks_and_its_text():
    shown = attention_lab.show(attention_lab.load("translation-softmax"), "The cat is sleeping.")
    header, _arrays = part(shown)
    assert [block["kind"] for block in header["kinds"]] == ["encoder", "decoder", "cross"]
    assert header["written"]["before"] == shown.baseline.written != ""


def test_without_a_kernel_there_is_a_picture(widget: HeadsWidget):
    bundle, _metadata = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    page = bundle["text/html"]
    assert fallback.NOTICE in page
    assert "<b>Tom" not in page and "&lt;" in page and "<script" not in page
    assert "self-0.3c-1.2g0.5-2.2g0" in page
    for words in ("layer 1, head 4, constant", "layer 2, head 3, gate 0.5", "layer 3, head 3, pruned"):
        assert f'alt="{words}"' in page
    pictures = re.findall(r"base64,([^\"]+)", page)
    assert len(pictures) == 4 * 8 + 1
    large = Image.open(io.BytesIO(base64.b64decode(pictures[-1])))
    assert large.size == widget.trace.weights["self"].shape[-2:]


def test_a_picture_has_the_colours_of_the_scale():
    found = numpy.array(Image.open(io.BytesIO(fallback.png(numpy.array([[0, 255]], numpy.uint8)))).convert("RGB"))
    colours = COLOURS["light"]["attention"]
    assert found.tolist() == [[[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for colour in (colours[0], colours[-1])]]


def test_the_script_asks_no_other_site():
    code = script()
    assert "innerHTML" not in code and not re.findall(r"""(?:from|import\(|fetch\()\s*['"`]http""", code)


PAGE = """<!doctype html><div id="place"></div><script type="module">
const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
let parts = [];
const handlers = {};
const model = {
  get: () => parts,
  on: (name, handler) => (handlers[name] = handler),
  off: () => {},
  send: message => window.sent(JSON.stringify(message)),
};
window.give = all => {
  parts = all.map(part => ({ ...part, payload: new DataView(bytes(part.payload).buffer) }));
  handlers['change:_parts']?.();
};
window.answer = message => handlers['msg:custom'](message);
window.begin = async code => {
  const module = await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
  window.end = module.default.render({ model, el: document.getElementById('place') });
};
</script>"""


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    opened = request.getfixturevalue("browser").new_page()
    yield opened
    opened.close()


TILE = '.tile[data-layer="1"][data-head="2"]'


def give(page: Page, widget: HeadsWidget) -> None:
    """Sends the parts of the widget to the page."""
    page.evaluate("all => window.give(all)", [its | {"payload": base64.b64encode(its["payload"]).decode()}
                                              for its in widget._parts])


def begin(page: Page, widget: HeadsWidget, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Draws the widget in a page without a kernel, and returns the list of its messages, which grows."""
    monkeypatch.setattr(widget, "send", lambda message: page.evaluate("message => window.answer(message)", message))
    messages: list[str] = []
    page.expose_function("sent", lambda text: messages.append(text))
    page.set_content(PAGE)
    page.add_style_tag(content=style())
    page.wait_for_function("Boolean(window.begin)")
    give(page, widget)
    page.evaluate("code => window.begin(code)", script())
    return messages


@pytest.mark.browser
def test_a_key_in_marimo_prunes_a_head_and_a_cell_shows_the_new_plan(page: Page, tmp_path: Path):
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url)
            if request.url.startswith("http") and "//127.0.0.1:" not in request.url else None)
    with browser.serve_marimo(browser.ROOT / "docs" / "notebooks" / "heads_marimo.py", tmp_path / "marimo.log") as at:
        page.goto(at)
        page.get_by_text("Plan: baseline").wait_for(timeout=60_000)
        page.get_by_role("button", name="Layer 2, head 3, live").click()
        page.keyboard.press("p")
        page.get_by_text("Plan: self-1.2g0").wait_for()
        expect(page.get_by_role("button", name="Layer 2, head 3, pruned")).to_be_visible()
    assert not foreign


@pytest.mark.browser
def test_the_lab_fits_its_cell_and_has_no_control_of_the_app(page: Page, widget: HeadsWidget,
                                                             monkeypatch: pytest.MonkeyPatch):
    page.set_viewport_size({"width": 1400, "height": 900})
    begin(page, widget, monkeypatch)
    answer, bar = page.locator("section.answer .line"), page.locator(".phone-bar")
    expect(answer).to_be_visible()
    expect(bar).to_be_hidden()
    assert page.get_by_role("link").count() == 0
    for control in (page.get_by_role("textbox"), page.get_by_role("button", name="stories-selective"),
                    page.get_by_role("button", name="Examples")):
        expect(control).to_have_count(0)
    page.evaluate("document.getElementById('place').style.width = '500px'")
    expect(answer).to_be_hidden()
    expect(bar).to_be_visible()
    cell, inside = page.locator("#place").bounding_box(), bar.bounding_box()
    assert cell and inside and inside["y"] + inside["height"] <= cell["y"] + cell["height"]


@pytest.mark.browser
def test_a_key_in_the_widget_prunes_the_selected_head_only_while_a_kernel_answers(
        page: Page, lab: Lab, monkeypatch: pytest.MonkeyPatch):
    widget = attention_lab.show(lab, TEXT)
    page.clock.install()
    messages = begin(page, widget, monkeypatch)
    tile = page.locator(TILE)
    pruned, notice = page.locator(".tile.pruned"), page.get_by_text("No kernel answers")

    def prune() -> None:
        tile.click(force=True)  # without a kernel no pointer reaches the tile
        tile.focus()
        page.keyboard.press("p")
        tile.dispatch_event("click")
        page.clock.run_for(500)

    prune()
    expect(notice).to_be_visible()
    assert [json.loads(message) for message in messages] == [{"hello": True}] and pruned.count() == 0
    widget._on_message(widget, json.loads(messages.pop()), [])
    expect(notice).to_be_hidden()
    prune()
    expect(pruned).to_have_count(1)
    page.clock.run_for(20_000)  # the kernel has ended
    expect(pruned).to_have_count(0)
    expect(notice).to_be_visible()
    give(page, widget)  # the kernel goes on
    expect(notice).to_be_hidden()


@pytest.mark.browser
def test_a_key_in_the_widget_prunes_the_selected_head_and_no_other_key_is_taken(
        page: Page, lab: Lab, monkeypatch: pytest.MonkeyPatch):
    widget = attention_lab.show(lab, TEXT)
    messages = begin(page, widget, monkeypatch)
    widget._on_message(widget, json.loads(messages.pop()), [])
    tile = page.locator(TILE)
    page.keyboard.press("p")  # a key outside of the widget has no effect
    tile.click()
    page.keyboard.press("p")
    page.locator(".tile.pruned").wait_for()
    for _turn in range(100):  # the second event is sent after the response to the first
        while messages:
            message = json.loads(messages.pop(0))
            widget._on_message(widget, message, [])
            give(page, widget)
        if widget.plan:
            break
        page.wait_for_timeout(20)
    assert widget.plan == HeadPlan().gate("self", 1, 2, 0.0)
    assert page.locator(".tile.pruned").count() == 1
    page.evaluate("window.end()")
    assert page.locator(".attention-lab").count() == 0
