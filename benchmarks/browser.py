"""Response times in Chromium: from a click, a key or a typed letter to the new maps, a translation, and a drawn place.

The browser's clock measures from the event to the first frame after the component has displayed new data (the component
counts its updates in `data-drawn`). The baseline is the floor, benchmarks/floor_app.py, in the same browser.
"""

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from models import load
from tests.browser import serve

VIEW: Any = {"bypass_csp": True, "viewport": {"width": 1440, "height": 900}}
LENGTHS = (16, 64, 128)
ACTIONS = 30
KINDS = ("state", "select", "typing", "model")
# ms for which the text boxes of the app and of the floor wait for another letter; not part of the response time
PAUSE, DEBOUNCE = 250.0, 200.0
MODEL, OTHER = "stories-selective", "stories-dense"
# model -> start of its entry in the Lab's menu
NAMES = {MODEL: re.compile("^Selective Next word"), OTHER: re.compile("^Dense Synthesizer Next word")}
STORY = "Once upon a time there was a little dog. He had a big red ball and he ran in the park all day. " * 8
TRANSLATOR = "translation-softmax"
SENTENCE = "Yesterday I wanted to buy a new car, but I had no money."  # 12 words
LOADS = 11
PROCESSES = 5
# place -> what is drawn last on it
DRAWN = {"lab": "[data-part=lab][data-drawn]", "training": "[data-part=training][data-drawn]",
         "lessons": "[data-part=lessons][data-drawn]", "results": "[data-part=findings][data-drawn]",
         "yours": "[data-part=models][data-drawn]", "about": "[data-part=guide][data-drawn]"}

# JavaScript: measures from the last event `kind` on the page to the frame after the Lab has been updated, in labTimes.
# Also stores the time until the update itself, in labTimesDrawn: up to two frames of 17 ms lie between the two. The
# listener is on the window, because the Lab handles keys there.
WATCH = """
kind => {
  const times = globalThis.labTimes = [];
  const hosts = [...document.querySelectorAll('*')].filter(element => element.shadowRoot);
  const root = hosts.map(host => host.shadowRoot.querySelector('[data-part="lab"]')).find(Boolean);
  const drawn = globalThis.labTimesDrawn = [];
  let watching = false, began = 0, before = '';
  new MutationObserver(() => drawn.push(performance.now() - began)).observe(root, { attributeFilter: ['data-drawn'] });
  const look = () => {
    if (root.dataset.drawn === before) return requestAnimationFrame(look);
    requestAnimationFrame(() => { times.push(performance.now() - began); watching = false; });
  };
  globalThis.addEventListener(kind, () => {
    began = performance.now();
    before = root.dataset.drawn;
    if (!watching) { watching = true; requestAnimationFrame(look); }
  }, true);
}
"""


# JavaScript: points at each word, one after the other, and measures the time of the script and of the layout.
POINT = """
async () => {
  const hosts = [...document.querySelectorAll('*')].filter(element => element.shadowRoot);
  const root = hosts.map(host => host.shadowRoot.querySelector('[data-part="lab"]')).find(Boolean);
  const took = [];
  for (const word of root.querySelectorAll('.word')) {
    await new Promise(requestAnimationFrame);
    const began = performance.now();
    word.dispatchEvent(new PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' }));
    root.getBoundingClientRect();
    took.push(performance.now() - began);
  }
  return took;
}
"""


def opened(browser: Browser, address: str, query: Mapping[str, object], kind: str = "keydown",
           pause: float = 1000) -> Page:
    """Returns a page with the Lab, which measures from each event of a kind to the update of the Lab."""
    page = browser.new_page(**VIEW)
    page.goto(f"{address}/?{urlencode(query)}")
    page.locator(".tile").first.wait_for()
    page.wait_for_timeout(pause)
    page.evaluate(WATCH, kind)
    return page


def timed(page: Page, act: Callable[[], object]) -> float:
    """Returns the milliseconds from the event of an action to the updated Lab."""
    done = page.evaluate("labTimes.length")
    act()
    page.wait_for_function("count => labTimes.length > count", arg=done)
    page.wait_for_timeout(150)
    return float(page.evaluate("labTimes.at(-1)"))


def words(browser: Browser, app: str) -> list[dict[str, Any]]:
    """Returns the time from pointing at a word until the words to which it attends are tinted and laid out."""
    rows = []
    for n in LENGTHS:
        page = browser.new_page(**VIEW)
        page.goto(f"{app}/?{urlencode({'model': MODEL, 'text': _text(n)})}")
        page.locator(".words .looks").wait_for()
        page.wait_for_timeout(500)
        times = page.evaluate(POINT)
        rows.append({"words": len(times), "p50 ms": quantile(times, 0.5), "p95 ms": quantile(times, 0.95),
                     "longest ms": max(times), "a frame, ms": 1000 / 60})
        page.close()
    return rows


def actions(browser: Browser, app: str) -> list[dict[str, Any]]:
    """Returns one row per action and length: p50 and p95 of app and floor, ratios, and kB received per action."""
    rows = []
    with serve("benchmarks/floor_app.py") as floor:
        for n in LENGTHS:
            story = _text(n)
            for action in KINDS:
                kind = "input" if action == "typing" else "keydown"
                page = opened(browser, app, {"model": MODEL, "text": story}, kind)
                bare = opened(browser, floor, {"n": n}, kind)
                received = count_bytes(page)
                ours: list[float] = []
                theirs: list[float] = []
                drawn: tuple[list[float], list[float]] = ([], [])
                for turn in range(ACTIONS):  # app and floor alternate, so that a busy machine slows both alike
                    pause, waits = (PAUSE, DEBOUNCE) if action == "typing" else (0.0, 0.0)
                    ours.append(timed(page, partial(_act, page, action, turn)) - pause)
                    theirs.append(timed(bare, partial(
                        _act, bare, "state" if action == "select" else action, turn)) - waits)
                    for times, view, late in ((drawn[0], page, pause), (drawn[1], bare, waits)):
                        times.append(view.evaluate("labTimesDrawn.at(-1)") - late)
                p50, p95 = quantile(ours, 0.5), quantile(ours, 0.95)
                floor50, floor95 = quantile(theirs, 0.5), quantile(theirs, 0.95)
                rows.append({"action": action, "tokens": n, "p50 ms": p50, "p95 ms": p95, "floor p50 ms": floor50,
                             "floor p95 ms": floor95, "p50 / floor": p50 / floor50, "p95 / floor": p95 / floor95,
                             "kB an action": sum(received) / ACTIONS / 1000, "drawn p50 ms": quantile(drawn[0], 0.5),
                             "floor drawn p50 ms": quantile(drawn[1], 0.5)})
                page.close()
                bare.close()
    return rows


def _text(n: int) -> str:
    """Returns a story of n - 3 tokens, so that three more tokens can be typed."""
    prompt = load(MODEL).read(STORY)
    return "".join(prompt.tokens[1:n - 3])


def _act(page: Page, action: str, turn: int) -> None:
    if action == "typing":
        box = page.get_by_label(re.compile("^Text( for the model)?$")).filter(visible=True)
        box.press("End")
        box.press("a" if turn % 2 == 0 else "Backspace")
    elif action == "model":  # both models are in memory after the first two actions
        _choose(page, OTHER if turn % 2 == 0 else MODEL)
    else:
        chosen = page.locator('.tile[tabindex="0"]')
        chosen.focus()
        chosen.press("c" if action == "state" else ("ArrowRight" if turn % 2 == 0 else "ArrowLeft"))


def _choose(page: Page, model: str) -> None:
    """Chooses another model with Enter: in the Lab's menu, or in the floor's box."""
    box = page.get_by_role("combobox", name="Model")  # only the floor has it
    if not box.count():
        page.locator(".lead button").first.click()
        page.get_by_role("menuitemradio", name=NAMES[model]).press("Enter")
    else:
        box.fill(model)
        box.press("Enter")


def count_bytes(page: Page) -> list[int]:
    """Records the sizes of the server's websocket messages, and of the compressed responses of the events route."""
    sizes: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    # The payload of a binary frame is base64: four characters for three bytes.
    session.on("Network.webSocketFrameReceived",
               lambda event: sizes.append(len(event["response"]["payloadData"]) * 3 // 4))
    session.on("Network.dataReceived", lambda event: sizes.append(event["encodedDataLength"]))
    return sizes


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def translation(browser: Browser) -> list[dict[str, Any]]:
    """Returns one row per attention block and quantile: milliseconds from a key press that makes a head constant.

    They end with the new maps, those of the floor (measured alternately), and the new translation.
    """
    rows = []
    lab = load(TRANSLATOR)
    n, kinds = len(lab.read(SENTENCE).tokens), len(lab.kinds)
    layers, heads = lab.shape[lab.kinds[0].name]
    with serve() as app, serve("benchmarks/floor_app.py") as floor:
        for kind in lab.kinds:
            page = opened(browser, app, {"model": TRANSLATOR, "text": SENTENCE}, pause=3000)
            bare = opened(browser, floor, {"n": n, "layers": kinds * layers, "heads": heads, "causal": 0}, pause=3000)
            maps, floors, written = [], [], []
            for turn in range(layers * heads):
                page.locator(f'.tile[data-kind="{kind.name}"]').nth(turn).click()  # a click selects the head
                page.wait_for_timeout(400)
                drawn = page.evaluate("labTimesDrawn.length")
                maps.append(_press(page))
                # the text follows the maps in a second update of the Lab
                page.wait_for_function("count => labTimesDrawn.length >= count + 2", arg=drawn)
                written.append(float(page.evaluate("labTimesDrawn.at(-1)")))
                _press(page)  # the second press restores the head, whose result is cached
                page.wait_for_timeout(400)
                bare.locator('.tile[tabindex="0"]').focus()
                floors.append(_press(bare))
            for share in (0.5, 0.95):
                own, base, text = (quantile(times, share) for times in (maps, floors, written))
                rows.append({"": f"a head of {kind.name}, p{100 * share:.0f} ms", "maps": own, "floor": base,
                             "maps / floor": own / base, "translation": text, "translation / 300 ms": text / 300})
            page.close()
            bare.close()
    return rows


def _press(page: Page) -> float:
    return timed(page, lambda: page.keyboard.press("c"))


def places(browser: Browser) -> list[dict[str, Any]]:
    """Returns the seconds until a place is drawn, one row per place.

    `cold`: the first load in a new process by a new browser. `new browser`: without files in the browser's cache.
    `again`: by a browser that has the files. `change`: from a click on its name on another place.
    """
    rows = []
    for place in DRAWN:
        cold = []
        for _ in range(PROCESSES - 1):
            with serve() as address:
                cold.append(_load(browser, address, place))
        with serve() as address:
            cold.append(_load(browser, address, place))
            row: dict[str, Any] = {"place": place} | _quantiles("cold", cold) | _quantiles("new browser", [
                _load(browser, address, place) for _ in range(LOADS)])
            with browser.new_context(**VIEW) as context:
                page = context.new_page()
                again = [_open(page, address, place) for _ in range(LOADS + 1)][1:]
                other = "about" if place == "lab" else "lab"
                change = [_change(page, to) for _ in range(LOADS + 1) for to in (other, place)][3::2]
            rows.append(row | _quantiles("again", again) | _quantiles("change", change))
    return rows


def _quantiles(name: str, times: list[float]) -> dict[str, float]:
    return {f"{name} p50 s": quantile(times, 0.5), f"{name} p95 s": quantile(times, 0.95)}


def _load(browser: Browser, address: str, place: str) -> float:
    with browser.new_context(**VIEW) as context:
        return _open(context.new_page(), address, place)


def _open(page: Page, address: str, place: str) -> float:
    began = time.perf_counter()
    page.goto(f"{address}/?page={place}&model=stories-selective")
    page.locator(DRAWN[place]).first.wait_for()
    return time.perf_counter() - began


def _change(page: Page, place: str) -> float:
    began = time.perf_counter()
    page.locator(f'.places a[data-page="{place}"]').click()
    page.locator(DRAWN[place]).first.wait_for()
    return time.perf_counter() - began
