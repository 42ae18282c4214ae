// In a lesson on a phone, the controls cover the lower heads. This scrolls the page until the selected head is visible.

import { mainElement } from '../runtime/streamlit.js';

const SETTLING = 3000; // ms in which a page that opens draws what is above the heads
const SPACE = 8; // px between the tile and the controls

/** Creates {show(tile, name), stop()}: `show` uncovers the tile if `name`, the name of the shown head, is another. */
export function createUncovering(controls) {
  let shown = '';
  let waiting = null;
  const stop = () => waiting?.abort();
  const scroll = tile => {
    const [cell, pinned] = [tile, controls].map(element => element.getBoundingClientRect());
    if (getComputedStyle(controls).position !== 'sticky' || cell.top > innerHeight) return;
    const hidden = cell.bottom + SPACE - pinned.top;
    if (hidden > 0) mainElement()?.scrollBy({ top: hidden });
  };
  return {
    stop,
    show(tile, name) {
      if (!tile || name === shown) return;
      shown = name;
      stop();
      waiting = new AbortController();
      const { signal } = waiting;
      const observer = new ResizeObserver(() => scroll(tile));
      const timer = setTimeout(stop, SETTLING);
      signal.addEventListener('abort', () => {
        observer.disconnect();
        clearTimeout(timer);
      });
      // once the visitor scrolls, presses or types, the page is not scrolled any more
      for (const type of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
        window.addEventListener(type, stop, { capture: true, signal });
      const page = mainElement()?.firstElementChild;
      for (const element of [page, controls]) if (element) observer.observe(element); // reports the first size too
    },
  };
}
