// Tips: what a word of the glossary (assets/glossary.json) means, beside the control or the label that bears it. One
// bubble for the page, in the browser's top layer, where nothing cuts it off.

import { tipPosition } from '../core/attention/layout.js';
import { pageData } from '../core/page_data.js';
import { _ } from '../core/texts.js';
import { appElement, keyedElement } from '../runtime/streamlit.js';
import { make, setAttribute } from './dom.js';

const REST = 400; // ms that a pointer rests before the bubble comes
const GRACE = 150; // ms to move from the word into the bubble
const SETTLES = 300; // ms after the focus came in which the page scrolls to it
const HOLD = 500; // ms of touching a control, whose short touch presses it

let bubble = null;
let owner = null; // the element whose tip is shown
let timer = 0;
let settled = 0; // when the page has scrolled to the element that has the focus
let pressed = ''; // the widget, by its key, that was pressed and not left since: what that opened is in sight

/** What a term means, in the visitor's language. */
export const glossaryText = key => _(pageData.glossary[key][1]);

function hide() {
  clearTimeout(timer);
  owner = null;
  bubble?.remove();
}

function show(element, key) {
  hide();
  if (!element.isConnected) return;
  owner = element;
  const css = getComputedStyle(appElement()); // a widget has no --st-text-color
  bubble = make('div', {
    className: 'attention-lab-tip',
    textContent: glossaryText(key),
    attributes: { role: 'tooltip', popover: 'manual' },
    style: { color: css.backgroundColor, background: css.color },
  });
  bubble.addEventListener('pointerenter', () => clearTimeout(timer)); // who reads it may point at it
  bubble.addEventListener('pointerleave', hide);
  document.body.append(bubble);
  bubble.showPopover?.();
  place();
}

/** Puts the bubble beside its element, wherever that is now. */
function place() {
  const { left, top } = tipPosition(owner.getBoundingClientRect(), bubble.getBoundingClientRect(), {
    width: document.documentElement.clientWidth,
    height: document.documentElement.clientHeight,
  });
  Object.assign(bubble.style, { left: `${left}px`, top: `${top}px` });
}

const later = (act, wait) => {
  clearTimeout(timer);
  timer = setTimeout(act, wait);
};

/** Gives an element, or what stands in it, the tip of a term: on hover, on focus by keyboard, on touch. */
export function addTip(element, key) {
  const inside = event => event.composedPath().find(node => node.dataset?.tip) === element; // the innermost tip counts
  element.dataset.tip = key;
  setAttribute(element, 'aria-description', glossaryText(key));
  element.addEventListener('pointerenter', event => {
    if (event.pointerType === 'mouse') later(() => show(element, key), REST);
  });
  element.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') later(hide, GRACE);
  });
  element.addEventListener('pointerdown', event => {
    if (event.pointerType === 'mouse') return hide();
    if (!inside(event)) return;
    if (event.target.closest('button, input, label')) later(() => show(element, key), HOLD);
    else show(element, key);
  });
  element.addEventListener('pointerup', () => {
    if (!owner) clearTimeout(timer);
  });
  element.addEventListener('focusin', event => {
    if (!inside(event) || !event.composedPath()[0].matches(':focus-visible')) return;
    settled = performance.now() + SETTLES;
    show(element, key);
  });
  element.addEventListener('focusout', () => {
    if (owner === element) hide();
  });
  return element;
}

/** A word with a tip that the tab key reaches. */
export const termElement = (key, textContent) =>
  addTip(make('span', { className: 'term', tabIndex: 0, textContent }), key);

// Streamlit's own widgets, by their keys: a label that is not shown has no room for a sign of help.
const WIDGETS = {
  text: 'text',
  model: 'model',
  compared: 'beside',
  hidden: 'hidden',
  memory: 'memory',
  continue: 'continuation',
  length: 'length',
  section: 'section',
  claim: 'claim',
};

const widgetOf = target => {
  const [widget, key] = keyedElement(target) ?? [];
  return widget && Object.hasOwn(WIDGETS, key) ? [widget, WIDGETS[key]] : null;
};

function onWidget(event) {
  const found = widgetOf(event.target);
  if (event.type === 'pointerover' && pressed) {
    if (pressed === found?.[1]) return;
    pressed = '';
  }
  if (!found || owner === found[0] || (event.type === 'pointerover' && event.pointerType !== 'mouse')) return;
  if (event.type === 'focusin' && !event.target.matches(':focus-visible')) return;
  if (event.type === 'focusin') setAttribute(event.target, 'aria-description', glossaryText(found[1]));
  // What is typed in stays in sight: the tip waits for a rest of the pointer, and goes with the first letter.
  if (event.type === 'focusin' && event.target.matches('input, textarea')) return;
  later(() => show(...found), REST);
}

const offWidget = event => {
  const found = widgetOf(event.target);
  if (!found || found[0].contains(event.relatedTarget) || event.relatedTarget === bubble) return;
  later(hide, GRACE);
};

function onPress(event) {
  const found = widgetOf(event.target);
  pressed = found ? found[1] : '';
  if (found || (owner && !event.composedPath().some(node => node === owner || node === bubble))) hide();
}

/** What begins the tips of widgets, and what ends every tip: Escape, a press elsewhere, typing, scrolling. */
export function listenForTips() {
  globalThis.attentionLabTips?.abort();
  const { signal } = (globalThis.attentionLabTips = new AbortController());
  const options = { signal, capture: true };
  const onKey = event => {
    if (event.key !== 'Escape' || !owner) return;
    event.preventDefault(); // it ends nothing else
    hide();
  };
  document.addEventListener('keydown', onKey, options);
  document.addEventListener('pointerdown', onPress, options);
  document.addEventListener('scroll', () => (owner && performance.now() < settled ? place() : hide()), options);
  document.addEventListener('input', hide, options);
  for (const type of ['pointerover', 'focusin']) document.addEventListener(type, onWidget, options);
  for (const type of ['pointerout', 'focusout']) document.addEventListener(type, offWidget, options);
}
