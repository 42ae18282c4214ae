// Tips: explanations of a control or a label from the glossary (assets/glossary.json). The page has one bubble, in the
// browser's top layer, where no container clips the bubble.

import { tipPosition } from '../core/attention/layout.js';
import { pageData } from '../core/page_data.js';
import { _ } from '../core/texts.js';
import { appElement, keyedElement } from '../runtime/streamlit.js';
import { make, setAttribute, setStarredText } from './dom.js';

const REST = 400; // ms that the pointer must rest on an element before its tip opens
const GRACE = 150; // ms within which the pointer can move from the element to the tip
const SETTLES = 300; // ms after a focus change in which the browser scrolls to the element
const HOLD = 500; // ms of a long touch on a control, which opens the tip; a short touch presses the control

let bubble = null;
let owner = null; // the element whose tip is open
let timer = 0;
let settled = 0; // time after which the browser has scrolled to the focused element
let pressed = ''; // key of the pressed widget, whose list is open until the pointer leaves it

/** Returns the explanation of a term of the glossary, in the visitor's language. */
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
  // the colours of the app, because a Streamlit widget has no --st-text-color
  const css = getComputedStyle(appElement());
  bubble = make('div', {
    className: 'attention-lab-tip',
    textContent: glossaryText(key),
    attributes: { role: 'tooltip', popover: 'manual' },
    style: { color: css.backgroundColor, background: css.color },
  });
  setStarredText(bubble, glossaryText(key));
  bubble.addEventListener('pointerenter', () => clearTimeout(timer)); // a reader may move the pointer into the tip
  bubble.addEventListener('pointerleave', hide);
  document.body.append(bubble);
  bubble.showPopover?.();
  place();
}

/** Places the bubble beside its element. */
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

/** Adds the tip of a term to an element and returns the element. The tip opens on hover, keyboard focus and touch. */
export function addTip(element, key) {
  // if elements with tips are nested, only the innermost element shows its tip
  const inside = event => event.composedPath().find(node => node.dataset?.tip) === element;
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

/** Creates a word with a tip; the tab key stops at the word. */
export const termElement = (key, textContent) =>
  addTip(make('span', { className: 'term', tabIndex: 0, textContent }), key);

// Streamlit widgets without a visible label, and thus without a help icon: key -> term.
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
  const termWidget = widgetOf(event.target);
  if (event.type === 'pointerover' && pressed) {
    if (pressed === termWidget?.[1]) return;
    pressed = '';
  }
  if (!termWidget || owner === termWidget[0] || (event.type === 'pointerover' && event.pointerType !== 'mouse')) return;
  if (event.type === 'focusin' && !event.target.matches(':focus-visible')) return;
  if (event.type === 'focusin') setAttribute(event.target, 'aria-description', glossaryText(termWidget[1]));
  // The tip of a text field opens only on hover, because on focus it would cover the field.
  if (event.type === 'focusin' && event.target.matches('input, textarea')) return;
  later(() => show(...termWidget), REST);
}

const offWidget = event => {
  const termWidget = widgetOf(event.target);
  if (!termWidget || termWidget[0].contains(event.relatedTarget) || event.relatedTarget === bubble) return;
  later(hide, GRACE);
};

function onPress(event) {
  const termWidget = widgetOf(event.target);
  pressed = termWidget ? termWidget[1] : '';
  if (termWidget || (owner && !event.composedPath().some(node => node === owner || node === bubble))) hide();
}

/** Adds the listeners that open tips of widgets, and that close any tip: Escape, a click outside, typing, scrolling. */
export function listenForTips() {
  globalThis.attentionLabTips?.abort();
  const { signal } = (globalThis.attentionLabTips = new AbortController());
  const options = { signal, capture: true };
  const onKey = event => {
    if (event.key !== 'Escape' || !owner) return;
    event.preventDefault(); // Escape closes the tip and has no other effect
    hide();
  };
  document.addEventListener('keydown', onKey, options);
  document.addEventListener('pointerdown', onPress, options);
  document.addEventListener('scroll', () => (owner && performance.now() < settled ? place() : hide()), options);
  document.addEventListener('input', hide, options);
  for (const type of ['pointerover', 'focusin']) document.addEventListener(type, onWidget, options);
  for (const type of ['pointerout', 'focusout']) document.addEventListener(type, offWidget, options);
}
