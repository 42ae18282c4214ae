// Scrolls to an element of the page that Streamlit may still have to draw.

import { keyedElement, mainElement } from './streamlit.js';

const PATIENCE = 15_000; // time in ms after which an element that has not appeared is not shown any more
const LOADING = 5000; // time in ms in which a page whose address names a section draws its charts
const GROWTH = 1000; // time in ms in which opened details reach their size, and in which Streamlit may draw them again

/**
 * Scrolls to the element with an id, opens the first details beside it and the group around them, and moves the focus
 * there. Waits until both are on the page, because Streamlit draws a heading before the details below it, and repeats
 * this if Streamlit replaces the details soon afterwards. Returns an AbortController that ends the wait.
 * @param {string} id
 * @param {string} [section] selector of the folded section around the element; an element elsewhere is not shown. The
 *   page follows this section while it opens.
 */
export function revealElement(id, section = '') {
  const waiting = new AbortController();
  let shown = null;
  let group = null;
  let follow = null;
  const growing = new ResizeObserver(() => follow?.());
  const show = () => {
    const element = document.getElementById(id);
    if (!element || (section && !element.closest(section))) return;
    const [box = element] = keyedElement(element) ?? [];
    const around = box.parentElement?.closest('details'); // a folded group of sections
    if (around && !around.open) {
      // a closed group cannot have the focus; `show` runs again when it is open
      if (around !== group) around.querySelector('summary')?.click();
      group = around;
      return;
    }
    const details = box.querySelector('details');
    if (!details || details === shown) return;
    if (!shown) setTimeout(() => waiting.abort(), section ? LOADING : GROWTH);
    shown = details;
    const summary = details.querySelector('summary');
    const scroll = () => element.scrollIntoView({ block: 'start' });
    // only an open section may be long enough to scroll to its start; charts above it are drawn later
    const parts = [details, group, section ? mainElement()?.firstElementChild : null];
    for (const part of parts) if (part && (section || group)) growing.observe(part);
    follow = scroll;
    if (!details.open) summary?.click();
    summary?.focus({ preventScroll: true });
    scroll();
  };
  const observer = new MutationObserver(show);
  const timer = setTimeout(() => waiting.abort(), PATIENCE);
  waiting.signal.addEventListener('abort', () => {
    observer.disconnect();
    growing.disconnect();
    clearTimeout(timer);
  });
  // whoever scrolls, presses or types is not moved any more
  for (const type of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
    window.addEventListener(type, () => shown && waiting.abort(), { capture: true, signal: waiting.signal });
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ['open'] });
  show();
  return waiting;
}
