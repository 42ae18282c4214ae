// The JavaScript entry of the notebook widget. Python (script.py) joins it with the modules that it imports.

import { pageData } from '../components/core/page_data.js';
import { effect } from '../components/effect/effect.js';
import { head_map } from '../components/head_map/head_map.js';
import { heads, onHeadKey } from '../components/heads/heads.js';
import { applyStyle } from '../components/runtime/component.js';
import { dropEvents } from '../components/runtime/events.js';
import { make } from '../components/widgets/dom.js';
import { listenForTips } from '../components/widgets/tip.js';

const components = { effect, head_map, heads };
const QUIET = 10_000; // ms without an answer to an event after which the kernel counts as gone
const HANDLED = ['keydown', 'pointerdown', 'click', 'input', 'change']; // events that change a component
const THEMED = ['class', 'style', 'theme', 'data-theme', 'data-jp-theme-light', 'data-vscode-theme-kind'];

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

/** Creates the elements of a component: a host with a shadow root, which isolates the component's style. */
function mount(name) {
  const host = make('div', { className: `attention-lab-${name}` });
  const parent = host.attachShadow({ mode: 'open' });
  parent.append(make('div', { className: 'root', dataset: { part: name } }));
  applyStyle(parent, name);
  return { host, parent };
}

/** Displays the widget in `el` and returns a function that removes the widget. `model` is the anywidget model. */
export function render({ model, el }) {
  const mounts = new Map(); // key -> {host, parent, component, data}
  const columns = []; // one {element, title} per model
  const board = make('div', { className: 'attention-lab', dataset: { lmSuppressShortcuts: 'true' } });
  const notice = make('p', {
    className: 'attention-lab-notice',
    textContent: 'No kernel answers, so this is a picture. Run the notebook to change heads.',
  });
  board.append(notice);
  el.append(board);
  let live = false; // true if a kernel has answered: without one, no event may change the picture
  let patience = 0; // timer of the answer to an event

  const column = index => {
    columns[index] ??= make('section', { className: 'attention-lab-model' }, make('h3'));
    if (!columns[index].isConnected) board.append(columns[index]);
    return columns[index];
  };
  const theme = () => {
    const dark = isDark(el);
    const changed = board.classList.contains('dark') !== dark;
    board.classList.toggle('dark', dark);
    return changed;
  };
  const drawOne = key => {
    const { parent, component, data } = mounts.get(key);
    const setTriggerValue = (_name, events) => {
      clearTimeout(patience);
      patience = setTimeout(halt, QUIET);
      model.send({ events });
    };
    components[component].render({ parentElement: parent, data, setTriggerValue });
  };
  const draw = () => {
    const wide = model.get('_titles').length === 1;
    board.classList.toggle('one', wide);
    model.get('_titles').forEach((title, index) => {
      column(index).firstChild.textContent = title;
    });
    for (const { component, key, index, payload } of model.get('_parts')) {
      if (!mounts.has(key)) {
        const created = mount(component);
        column(index).append(created.host);
        mounts.set(key, { ...created, component });
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

  // Handles keys before the notebook's own shortcuts, and only keys pressed inside the widget.
  const onKey = event => {
    if (event.composedPath().includes(board)) onHeadKey(event);
  };
  const keepKeys = event => event.stopPropagation();
  for (const type of HANDLED) window.addEventListener(type, block, { capture: true });
  window.addEventListener('keydown', onKey, { capture: true });
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
    window.removeEventListener('keydown', onKey, { capture: true });
    observer.disconnect();
    model.off('change:_parts', onParts);
    model.off('msg:custom', resume);
    board.remove();
    for (const { component, parent } of mounts.values()) components[component].unmount(parent);
  };
}
