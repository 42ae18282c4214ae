"""all-MiniLM-L6-v2 in the app: time until all 72 heads are displayed, compared with BertViz's view of the same maps.

Also measures the response time of a click, compared with the floor (floor_app.py) and one forward pass.

    bash benchmarks/browser/bertviz.sh FOLDER               # BertViz and its scripts; optional
    python -m benchmarks minilm --bertviz FOLDER

One browser displays both pages alternately, in windows of the same size. The browser's clock measures until the frame
after all heads were displayed. BertViz's page and scripts are served by this machine. The times of BertViz exclude the
time in which Python writes the page; the times of the app include everything. BertViz's picture is higher than the
window and only partly painted; the app's picture is painted completely. BertViz's page contains the maps twice, as
decimals, because a comment of its script also contains the marker that the maps replace.

A key press that prunes a head makes a plan that is not cached, and needs a forward pass. A click that selects a head
needs no pass.
"""

from __future__ import annotations

import functools
import http.server
import importlib
import math
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, ViewportSize

from app.server import serving
from benchmarks.browser.interaction import PAUSE, WATCH, count_bytes, quantile
from benchmarks.foreign import eager_pass, minilm, minilm_folder
from models import HeadPlan
from models.lab import run_prompt
from models.labs.foreign.lab import ForeignLab
from models.prompt import Prompt
from tests.browser import serve

TOKENS = 64
LAYERS, HEADS = 6, 12
TURNS, LOADS = 20, 3  # numbers of actions and of page loads; with 20 actions, p95 is the slowest action
WINDOW: ViewportSize = {"width": 1440, "height": 900}
SLOW = 180_000  # ms within which a page of BertViz must load
TEXT = ("The fisherman sat on the bank of the river and thought of his money in the bank while the water was rising. "
        "Nobody on the other side had seen him since the morning, and the boat that he wanted to sell was tied "
        "to the old bridge. He had told his daughter that {} would come for it soon")
BUYERS = ("rain", "night", "winter", "money", "nobody", "somebody", "she", "he", "Peter", "Mary", "John", "Anna",
          "children", "friends", "people", "students", "teachers", "doctors", "soldiers", "summer", "spring")

CDN = "https://cdnjs.cloudflare.com/ajax/libs/"
SCRIPTS = {CDN + "require.js/2.3.6/require.min.js": "require.js", CDN + "d3/5.7.0/d3.min": "d3.min",
           CDN + "jquery/2.0.0/jquery.min": "jquery.min"}  # require.js adds .js to the last two

# JavaScript that runs before the page's own scripts: records the times of the server's messages
MESSAGES = """
globalThis.labMessages = [];
globalThis.WebSocket = class extends WebSocket {
  constructor(...all) {
    super(...all);
    this.addEventListener('message', ({ data }) => labMessages.push([performance.now(), data.byteLength ?? data.size]));
  }
};
"""
# JavaScript: records the time of the frame after everything has been displayed
OPENED = """
const look = () => {
  if (!(%s)) return requestAnimationFrame(look);
  requestAnimationFrame(() => { globalThis.labDrawn = performance.now(); });
};
requestAnimationFrame(look);
"""
OURS = """[...document.querySelectorAll('*')].some(
  ({ shadowRoot }) => shadowRoot?.querySelector('[data-part="lab"][data-drawn]'))"""
THEIRS = f"document.getElementsByTagName('line').length === {LAYERS * HEADS * TOKENS**2}"
MAPS_CAME = f"labMessages.findLast(([at, size]) => size >= {LAYERS * HEADS * TOKENS**2})[0]"
ANSWER_CAME = "performance.getEntriesByType('resource').findLast(({ name }) => name.endsWith('/events')).responseEnd"
PAGE_CAME = "performance.getEntriesByType('navigation')[0].responseEnd"
ON_SCREEN = """cells => cells.filter(cell => {
  const { top, bottom, left, right } = cell.getBoundingClientRect();
  return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
}).length"""

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Peer:
    """The page of BertViz: address, bytes, and the seconds that Python needed to write the page."""

    address: str
    size: int
    seconds: float


@dataclass(frozen=True)
class Load:
    """One page load: ms since the request and since the data arrived; bytes of all data and of the maps."""

    since_request: float
    since_data: float
    size: int
    maps: int


def measure(browser: Browser, bertviz: Path | None) -> Rows:
    """Returns one row per measurement: our value, the compared value, and the ratio."""
    serving.tune()
    lab, eager = minilm()
    texts = [TEXT.format(buyer) for buyer in BUYERS]
    prompt = lab.read(texts[0])
    if {len(lab.read(text).ids) for text in texts} != {TOKENS} or lab.shape["self"] != (LAYERS, HEADS):
        raise RuntimeError(f"this is not what was to be measured: {lab.shape}, {len(prompt.ids)} tokens")
    with (serve() as app, serve("benchmarks/browser/floor_app.py") as floor,
          _served(bertviz, eager_pass(eager, lab.task, prompt)[1], prompt) as peer):
        link = f"{app}/?{urlencode({'model': _open_folder(browser, app), 'text': texts[0]})}"
        bare = f"{floor}/?{urlencode({'n': TOKENS, 'layers': LAYERS, 'heads': HEADS, 'causal': 0})}"
        ours, theirs = [], []
        for _ in range(LOADS):
            ours.append(_load(browser, link, OURS, MAPS_CAME))
            if peer is not None:
                theirs.append(_load(browser, peer.address, THEIRS, PAGE_CAME))
        rows = _beside_peer(peer, ours, _typed(browser, link, texts[1:]), theirs)
        for action in ("prune", "select"):
            rows += _beside_floor(action, *_clicked(browser, link, bare, action, lab, prompt))
    return rows


def _open_folder(browser: Browser, app: str) -> str:
    """Opens the model's folder on the page Your model and returns the model's name in links."""
    page = browser.new_page(bypass_csp=True, viewport=WINDOW)
    page.goto(f"{app}/?page=yours")
    box = page.get_by_role("textbox", name="A folder on this machine")
    box.fill(str(minilm_folder()))
    box.press("Enter")
    page.get_by_role("button", name="Open folder").click()
    page.wait_for_url("**model=folder*")
    cells = page.locator(".tile")
    cells.nth(LAYERS * HEADS - 1).wait_for()
    visible = cells.evaluate_all(ON_SCREEN)
    if visible != LAYERS * HEADS:
        raise RuntimeError(f"{visible} of {LAYERS * HEADS} heads are on the screen")
    page.close()
    return f"folder:{minilm_folder().name}"


@contextmanager
def _served(bertviz: Path | None, attentions: tuple[Any, ...], prompt: Prompt) -> Iterator[Peer | None]:
    """Serves BertViz's model view of the attention maps while the context is open; yields the page."""
    if bertviz is None:
        yield None
        return
    sys.path.append(str((bertviz / "site").resolve()))  # appended last, so that packages of the app take precedence
    model_view = importlib.import_module("bertviz").model_view
    began = time.perf_counter()
    html = model_view(attentions, list(prompt.tokens), html_action="return").data
    seconds = time.perf_counter() - began
    with tempfile.TemporaryDirectory(prefix="bertviz-") as folder:
        for address, name in SCRIPTS.items():
            html = html.replace(address, name)
            name = name.removesuffix(".js") + ".js"
            (Path(folder) / name).write_bytes((bertviz / "scripts" / name).read_bytes())
        (Path(folder) / "index.html").write_text(html, "utf-8")
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield Peer(f"http://127.0.0.1:{server.server_port}/", len(html.encode()), seconds)
            server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name that is overridden
        pass


def _load(browser: Browser, address: str, is_drawn: str, arrival: str) -> Load:
    """Opens a page in a new profile."""
    context = browser.new_context(bypass_csp=True, viewport=WINDOW)
    page = context.new_page()
    page.add_init_script(MESSAGES + OPENED % is_drawn)
    messages, fetched = count_bytes(page), _count_fetched(page)
    page.goto(address, wait_until="commit", timeout=SLOW)
    page.wait_for_function("globalThis.labDrawn", timeout=SLOW)
    seconds = page.evaluate("labDrawn")
    load = Load(seconds, seconds - page.evaluate(arrival), sum(messages) + sum(fetched), max(messages + fetched))
    context.close()
    return load


def _count_fetched(page: Page) -> list[int]:
    """Returns a list to which the bytes of each file that the page fetches are appended."""
    sizes: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    return sizes


def _typed(browser: Browser, link: str, texts: list[str]) -> list[Load]:
    """Types other texts on an open page and returns one Load per text, measured from the change of the text."""
    page = _open(browser, link, "lab", "input")
    page.evaluate("document.addEventListener('input', () => { globalThis.labTyped = performance.now(); }, true)")
    received = count_bytes(page)
    loads = []
    for text in texts:
        done = page.evaluate("labTimes.length")
        received.clear()
        page.get_by_label("Text for the model", exact=True).fill(text)
        taken = _wait(page, done) - PAUSE
        arrival = taken - page.evaluate(f"{ANSWER_CAME} - labTyped") + PAUSE
        loads.append(Load(taken, arrival, sum(received), max(received)))
    page.close()
    return loads


def _clicked(browser: Browser, link: str, floor: str, action: str, lab: ForeignLab,
             prompt: Prompt) -> tuple[list[float], list[float], list[float]]:
    """Returns the milliseconds of each action: in the app, in the floor, and of the forward pass alone.

    Each action prunes another head, or selects another head. No plan is cached before its action.
    """
    event = "keydown" if action == "prune" else "click"
    page = _open(browser, link, "lab", event)
    bare = _open(browser, floor, "lab", event)
    ours: list[float] = []
    theirs: list[float] = []
    passes, plan = [], HeadPlan()
    for turn in range(1, TURNS + 1):  # the measurements alternate, so that a busy machine slows all equally
        for view, times in ((page, ours), (bare, theirs)):
            cell = view.locator(".tile").nth(turn)
            if action == "prune":
                cell.click()
                view.wait_for_timeout(300)
            done = view.evaluate("labTimes.length")
            if action == "prune":
                view.keyboard.press("p")
            else:
                cell.click()
            times.append(_wait(view, done))
        plan = plan.with_heads([lab.kinds[0].addresses[turn]], gate=0.0)
        began = time.perf_counter()
        run_prompt(lab, prompt, plan)
        passes.append((time.perf_counter() - began) * 1e3)
    page.close()
    bare.close()
    return ours, theirs, passes


def _open(browser: Browser, address: str, part: str, event: str) -> Page:
    """Returns a page that measures from each event `event` to the next update of the component `part`."""
    page = browser.new_page(bypass_csp=True, viewport=WINDOW)
    page.add_init_script(MESSAGES)
    page.goto(address)
    page.locator(".tile").first.wait_for()
    page.wait_for_timeout(500)
    page.evaluate(WATCH, [part, event])
    return page


def _wait(page: Page, done: int) -> float:
    page.wait_for_function("count => labTimes.length > count", arg=done)
    page.wait_for_timeout(120)  # until the other parts of the response are displayed
    return page.evaluate("labTimes.at(-1)")


def _beside_peer(peer: Peer | None, ours: list[Load], typed: list[Load], theirs: list[Load]) -> Rows:
    def median(loads: list[Load], field: str) -> float:
        return statistics.median(getattr(load, field) for load in loads) if loads else math.nan

    arrival, named, peer_total = median(theirs, "since_data"), "BertViz's model view", median(theirs, "since_request")
    opened = f"{named}, opened{f'; written before, in {peer.seconds * 1e3:.0f} ms' if peer else ''}"
    size = peer.size / 1e3 if peer else math.nan
    return [
        _row("another text: maps in the browser to all heads drawn, ms", median(typed, "since_data"), named, arrival),
        _row("another text: typed to all heads drawn, pass included, ms", median(typed, "since_request"), opened,
             peer_total),
        _row("link opened: maps in the browser to all heads drawn, ms", median(ours, "since_data"), named, arrival),
        _row("link opened to all heads drawn, ms", median(ours, "since_request"), opened, peer_total),
        _row("another text: the message with all maps, kB", median(typed, "maps") / 1e3, f"{named}, its HTML", size),
        _row("another text: the whole answer, kB", median(typed, "size") / 1e3, f"{named}, its HTML", size),
        _row("link opened: all that is fetched, scripts too, kB", median(ours, "size") / 1e3, named,
             median(theirs, "size") / 1e3)]


def _beside_floor(action: str, ours: list[float], theirs: list[float], passes: list[float]) -> Rows:
    def bound(share: float) -> float:
        return 2 * quantile(theirs, share) + quantile(passes, share)

    what = {"prune": "key that prunes a head to new maps", "select": "click on a head to its map"}[action]
    beside = "2 x floor ({:.1f}) + forward pass ({:.1f})"
    return [_row(f"{what}, p{share * 100:.0f} ms", quantile(ours, share),
                 beside.format(quantile(theirs, share), quantile(passes, share)), bound(share))
            for share in (0.5, 0.95)]


def _row(what: str, ours: float, beside: str, theirs: float) -> dict[str, Any]:
    """Returns one row; NaN stands for a value that was not measured."""
    numbers = {"its": theirs, "its / ours": theirs / ours} if not math.isnan(theirs) else \
           {"its": "not measured: benchmarks/browser/bertviz.sh", "its / ours": ""}
    return {"": what, "ours": ours, "beside": beside, **numbers}
