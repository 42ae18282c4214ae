// Helpers that create elements of the page, and that write to an element only if a value changes.

import { splitPart, splitReferences, tokenText, truncate } from '../core/format.js';
import { splitStarred } from '../core/lesson_text.js';

/** Elements in which keys type text or choose an option; keyboard shortcuts are off while such an element has focus. */
export const TEXT_INPUTS =
  'textarea, select, [contenteditable], input:not([type="range"], [type="radio"], [type="checkbox"], [type="button"])';

/**
 * Creates an element: `make('p.note', {title: 'a'}, 'text', make('b'))`. A button submits no form, unless its properties
 * have another type.
 * @param {string} selector tag and classes
 * @param {...any} rest properties, which can be left out, and children; a string becomes text. Of the properties,
 *   `dataset` and `style` are objects; a name that is no property of the element is an attribute
 * @returns {any}
 */
export function make(selector, ...rest) {
  const [tag, ...classes] = selector.split('.');
  const { dataset, style, ...properties } = rest[0]?.constructor === Object ? rest.shift() : {};
  const element = /** @type {any} */ (document.createElement(tag));
  if (tag === 'button') element.type = 'button';
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(properties))
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  Object.assign(element.dataset, dataset);
  for (const [name, value] of Object.entries(style ?? {})) element.style.setProperty(name, value);
  element.append(...rest);
  return element;
}

/** Creates a button with a text. */
export const makeButton = (className, textContent, onclick, more = {}) =>
  make('button', { className, textContent, onclick, ...more });

/** Creates a link that opens in another tab. */
export const outerLink = (textContent, href) => make('a', { textContent, href, target: '_blank', rel: 'noopener' });

/** Creates the nodes of a text whose references are links. */
export const linkedText = text => splitReferences(text).map(([part, href]) => (href ? outerLink(part, href) : part));

/** Calls `follow(link)` at a plain click on a link in an element; at other clicks the browser opens the link. */
export function onLink(element, follow) {
  element.addEventListener('click', event => {
    const link = event.target.closest('a');
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    follow(link);
  });
}

/** Calls `redraw` when an element or the window has another size, and when a font arrives; returns what ends this. */
export function onResize(element, redraw) {
  const sizes = new ResizeObserver(() => redraw());
  sizes.observe(element);
  if (!isTouch()) addEventListener('resize', redraw); // a phone's address bar comes and goes while one scrolls
  document.fonts?.addEventListener('loadingdone', redraw);
  return () => {
    sizes.disconnect();
    removeEventListener('resize', redraw);
    document.fonts?.removeEventListener('loadingdone', redraw);
  };
}

/** Returns whether the main pointer is a finger, for which a text says *tap* instead of *point*. */
export const isTouch = () => matchMedia('(pointer: coarse)').matches;

/** Sets an attribute only if it changes: screen readers announce each write to a live region. */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Sets the text only if it changes. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Replaces the children of an element only if the value changes of which `create` makes them, so that the focus stays. */
export function setChildren(element, value, create) {
  const shown = JSON.stringify(value);
  if (element.dataset.shown === shown) return;
  element.dataset.shown = shown;
  element.replaceChildren(...create());
}

/** Sets a text only if it changes; names of controls between asterisks become bold: `Press *Prune*.` */
export const setStarredText = (element, text) =>
  setChildren(element, text, () =>
    splitStarred(text).map(({ text: piece, isName }) => (isName ? make('b', { textContent: piece }) : piece)),
  );

/** Creates the element of a token, at most 40 characters; a part of a character has its number in the class `part`. */
export function tokenElement(token) {
  const { text, part } = splitPart(truncate(tokenText(token), 40));
  return make('bdi', text, ...(part ? [make('span.part', { textContent: part })] : []));
}

/** Puts each element that stays beside the one before it into a span with it; a span with these elements stays. */
export function joinElements(stays, elements) {
  const groups = [];
  elements.forEach((element, i) => (stays[i] ? groups.at(-1).push(element) : groups.push([element])));
  return groups.map(group => {
    if (group.length === 1) return group[0];
    const span = group[0].closest('.glued');
    const isSame = span?.childElementCount === group.length && group.every((each, i) => each === span.children[i]);
    return isSame ? span : make('span.glued', ...group);
  });
}

/** Replaces the children of an element from the first one that differs: the browser styles moved elements again. */
export function updateChildren(element, children) {
  let kept = 0;
  while (kept < children.length && children[kept] === element.childNodes[kept]) kept += 1;
  while (element.childNodes.length > kept) element.lastChild.remove();
  element.append(...children.slice(kept));
}

/** Returns the pointer's position in an element, in px of the element, which large type zooms. */
export function pointerPosition(element, { clientX, clientY }) {
  const { left, top, width } = element.getBoundingClientRect();
  const zoom = width / element.clientWidth;
  return [(clientX - left) / zoom, (clientY - top) / zoom];
}

/** Returns a function that measures elements: their boxes in px of the page, which large type zooms, from a corner. */
export function measureFrom(origin) {
  const zoom = origin.currentCSSZoom ?? 1;
  const corner = origin.getBoundingClientRect();
  return element => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return {
      left: (left - corner.left) / zoom,
      top: (top - corner.top) / zoom,
      width: width / zoom,
      height: height / zoom,
    };
  };
}

/** Returns the element that contains the component's elements, inside Streamlit's shadow root. */
export const rootOf = parent => parent.querySelector('.root');
