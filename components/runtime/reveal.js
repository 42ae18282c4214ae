// Scrolls to an element of the page that Streamlit may still have to draw.

import { keyedElement } from './streamlit.js';

const PATIENCE = 15_000; // time in ms after which an element that has not appeared is not shown any more

/**
 * Scrolls to the element with an id, opens the first closed details beside it and moves the focus there; waits for the
 * element if it is not on the page. Returns an AbortController that ends the wait.
 * @param {string} id
 */
export function revealElement(id) {
  const waiting = new AbortController();
  const show = () => {
    const element = document.getElementById(id);
    if (!element) return false;
    const [box = element] = keyedElement(element) ?? [];
    const details = box.querySelector('details');
    const summary = details?.querySelector('summary');
    if (details && !details.open) summary?.click();
    summary?.focus({ preventScroll: true });
    element.scrollIntoView({ block: 'start' });
    return true;
  };
  if (show()) return waiting;
  const observer = new MutationObserver(() => show() && waiting.abort());
  const timer = setTimeout(() => waiting.abort(), PATIENCE);
  waiting.signal.addEventListener('abort', () => {
    observer.disconnect();
    clearTimeout(timer);
  });
  observer.observe(document.body, { childList: true, subtree: true });
  return waiting;
}
