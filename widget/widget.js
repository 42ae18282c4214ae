// The JavaScript entry of the notebook widget. Python (widget.py) joins it with the modules that it imports.

import { pageData } from '../components/core/page_data.js';
import { lab } from '../components/lab/lab.js';
import { applyStyle } from '../components/runtime/component.js';
import { dropEvents } from '../components/runtime/events.js';
import { make } from '../components/widgets/dom.js';
import { listenForTips } from '../components/widgets/tip.js';

const QUIET = 10_000; // ms without an answer to an event after which the kernel counts as gone
const HANDLED = ['keydown', 'pointerdown', 'click', 'input', 'change']; // events that change a component
const THEMED = ['class', 'style', 'theme', 'data-theme', 'data-jp-theme-light', 'data-vscode-theme-kind'];

/** Called with each drawing of a tool that widget.py adds; they need nothing more. */
export const register = () => undefined;

/** Stores the data that Python sends with the code. */
export function start(data) {
  Object.assign(pageData, data);
}

/** Returns whether the notebook is dark, from the nearest background around the element that is not transparent. */
function isDark(element) {
  for (let node = element; node; node = node.parentElement) {
    // an element that is not in the page yet has no colour
    const [red, green, blue, alpha = 1] = (getComputedStyle(node).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (blue !== undefined && alpha > 0.5) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
  }
  return matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Creates the elements of a Lab: a host with a shadow root, which isolates its style. */
function mount() {
  const host = make('div');
  const parent = host.attachShadow({ mode: 'open' });
  parent.append(make('div.root', { dataset: { part: 'lab' } }));
  applyStyle(parent, 'lab');
  return { host, parent };
}

/** Displays the widget in `el` and returns a function that removes the widget. `model` is the anywidget model. */
export function render({ model, el }) {
  const mounts = new Map(); // key -> {host, parent, data}
  const board = make('div.attention-lab', { dataset: { lmSuppressShortcuts: 'true' } });
  const notice = make('p.attention-lab-notice', {
    textContent: 'No kernel answers, so this is a picture. Run the notebook to change heads.',
  });
  board.append(notice);
  el.append(board);
  let live = false; // true if a kernel has answered: without one, no event may change the picture
  let patience = 0; // timer of the answer to an event

  const theme = () => {
    const scheme = isDark(el) ? 'dark' : 'light';
    const changed = board.style.colorScheme !== scheme;
    board.style.colorScheme = scheme;
    return changed;
  };
  const drawOne = key => {
    const { parent, data } = mounts.get(key);
    const setTriggerValue = (_name, events) => {
      clearTimeout(patience);
      patience = setTimeout(halt, QUIET);
      model.send({ events });
    };
    lab.render({ parentElement: parent, data, setTriggerValue });
  };
  const draw = () => {
    board.classList.toggle('several', model.get('_parts').length > 1);
    for (const { key, payload } of model.get('_parts')) {
      if (!mounts.has(key)) {
        mounts.set(key, mount());
        board.append(mounts.get(key).host);
      }
      mounts.get(key).data = new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength);
      drawOne(key);
    }
  };
  const repaint = () => {
    if (theme()) for (const key of mounts.keys()) drawOne(key);
  };

  const setLive = isLive => {
    live = isLive;
    board.classList.toggle('still', !live);
  };
  const resume = () => {
    clearTimeout(patience);
    setLive(true);
  };
  /** Draws the last answer again, without the events that no kernel has handled. */
  const halt = () => {
    setLive(false);
    for (const key of mounts.keys()) dropEvents(key);
    for (const key of mounts.keys()) drawOne(key);
  };
  const onParts = () => {
    resume();
    draw();
  };
  const block = event => {
    const [target] = event.composedPath();
    if (live || event.key === 'Tab' || !event.composedPath().includes(board)) return;
    event.stopImmediatePropagation();
    if (event.type !== 'keydown' || target.matches?.('input, select')) event.preventDefault();
  };

  const keepKeys = event => event.stopPropagation();
  for (const type of HANDLED) window.addEventListener(type, block, { capture: true });
  board.addEventListener('keydown', keepKeys);
  model.on('change:_parts', onParts);
  model.on('msg:custom', resume);
  const observer = new MutationObserver(repaint);
  for (const node of [document.documentElement, document.body])
    observer.observe(node, { attributes: true, attributeFilter: THEMED });
  listenForTips();
  theme();
  setLive(false);
  draw();
  model.send({ hello: true }); // a kernel answers
  requestAnimationFrame(repaint); // repaints once the notebook has inserted `el`

  return () => {
    clearTimeout(patience);
    for (const type of HANDLED) window.removeEventListener(type, block, { capture: true });
    observer.disconnect();
    model.off('change:_parts', onParts);
    model.off('msg:custom', resume);
    board.remove();
    for (const { parent } of mounts.values()) lab.unmount(parent);
  };
}
