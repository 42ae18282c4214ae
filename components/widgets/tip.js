// Tips: explanations of a control or a label from the glossary (assets/glossary.json). The page has one bubble, in the
// browser's top layer, where no container clips the bubble.

import { tipPosition } from '../core/attention/layout.js';
import { pageData } from '../core/page_data.js';
import { _, stateQuery } from '../core/texts.js';
import { appElement } from '../runtime/streamlit.js';
import { make, setAttribute, setStarredText } from './dom.js';

const REST = 400; // ms that the pointer must rest on an element before its tip opens
const GRACE = 150; // ms within which the pointer can move from the element to the tip
const SETTLES = 300; // ms after a focus change in which the browser scrolls to the element
const HOLD = 500; // ms of a long touch on a control, which opens the tip; a short touch presses the control

let bubble = null;
let owner = null; // the element whose tip is open
let timer = 0;
let settled = 0; // time after which the browser has scrolled to the focused element

/** Returns the anchor of a term's entry in the guide. */
export const termAnchor = key => `term-${key.replaceAll(' ', '-')}`;

/** Returns the explanation of a term of the glossary, in the visitor's language. */
export const glossaryText = key => _(pageData.glossary[key][1]);

function hide() {
  clearTimeout(timer);
  owner = null;
  bubble?.remove();
}

/** Shows a text beside an element; with the key of a term, a link leads to its entry in the guide. */
function show(element, text, key = '') {
  hide();
  if (!element.isConnected) return;
  owner = element;
  // the colours of the app, because a Streamlit widget has no --st-text-color
  const css = getComputedStyle(appElement());
  bubble = make('div.attention-lab-tip', {
    role: 'tooltip',
    popover: 'manual',
    style: { color: css.backgroundColor, background: css.color },
  });
  setStarredText(bubble, text);
  const href = `${stateQuery({ page: 'about' })}#${termAnchor(key)}`;
  if (key && !pageData.embedded)
    bubble.append(' ', make('a', { textContent: _('Guide'), href, target: '_blank', style: { color: 'inherit' } }));
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
    if (event.pointerType === 'mouse') later(() => show(element, glossaryText(key), key), REST);
  });
  element.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') later(hide, GRACE);
  });
  element.addEventListener('pointerdown', event => {
    if (event.pointerType === 'mouse') return hide();
    if (!inside(event)) return;
    if (event.target.closest('button, input, label')) later(() => show(element, glossaryText(key), key), HOLD);
    else show(element, glossaryText(key), key);
  });
  element.addEventListener('pointerup', () => {
    if (!owner) clearTimeout(timer);
  });
  element.addEventListener('focusin', event => {
    if (!inside(event) || !event.composedPath()[0].matches(':focus-visible')) return;
    settled = performance.now() + SETTLES;
    show(element, glossaryText(key), key);
  });
  element.addEventListener('focusout', () => {
    if (owner === element) hide();
  });
  return element;
}

const onPress = event => {
  if (owner && !event.composedPath().some(node => node === owner || node === bubble)) hide();
};

/** Adds the listeners that close any tip: Escape, a click outside, typing, scrolling. */
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
}
