// The only module that uses Streamlit's undocumented elements, classes and storage. tests/test_streamlit.py fails when
// a new version of Streamlit lacks one of the names below.

import { N_ } from '../core/texts.js';
import { keep, recall } from '../widgets/storage.js';

const MAIN = 'stMain'; // data-testid of the element that scrolls
const APP = 'stApp'; // class of the element that has the theme's colours
// data-testid of the main menu, which is on the page although its bar is hidden (assets/style.css)
const MENU = 'stMainMenu';
const THEME_ENTRY = 'stMainMenuItem-theme-'; // data-testid of a theme's entry in that menu, before the theme's name
// key of the local storage under which Streamlit stores the chosen theme's name
const THEME_KEY = `stActiveTheme-${location.pathname}-v2`;
const STYLE_ID = 'attention-lab-style'; // of the element with the style sheet (components/mounting.py)
const TABLE = 'stTable'; // data-testid of a table; its only child scrolls
const LONGEST_ADDRESS = 6000; // characters; balancers accept headers of 16 kB
const MENU_TIME = 5000; // ms within which the menu must open

/** The themes, by Streamlit's names. */
export const THEMES = { System: N_('As the system'), Light: N_('Light'), Dark: N_('Dark') };

const byTestId = id => /** @type {HTMLElement | null} */ (document.querySelector(`[data-testid="${id}"]`));

/** Returns the element that scrolls the page; null before Streamlit has drawn it. */
export const mainElement = () => byTestId(MAIN);

/** Returns the element whose style has the theme's colours. */
export const appElement = () => document.querySelector(`.${APP}`) ?? document.body;

/** Returns the chosen theme, a key of THEMES. */
export function chosenTheme() {
  try {
    const stored = JSON.parse(recall(THEME_KEY));
    return Object.hasOwn(THEMES, stored) ? stored : 'System';
  } catch {
    return 'System'; // another script has stored this
  }
}

/** Gives the page the style sheet of Streamlit's elements, which a server without app/host.py does not send. */
export function setPageStyle(sheet) {
  let element = document.getElementById(STYLE_ID);
  if (!element) {
    element = Object.assign(document.createElement('style'), { id: STYLE_ID });
    document.body.append(element); // the last element, because it overrides styles that Streamlit adds to the head
  }
  if (element.textContent !== sheet) element.textContent = sheet;
}

/** Adds the address to a websocket that reconnects, so that a restarted server keeps the page's elements and focus. */
export function sendAddressAtReconnect() {
  const Socket = /** @type {any} */ (globalThis).attentionLabSocket ?? globalThis.WebSocket;
  Object.assign(globalThis, { attentionLabSocket: Socket });
  /** @type {any} */ (globalThis).WebSocket = class extends Socket {
    constructor(url, protocols) {
      const address = btoa(location.search).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
      const isLong = address.length > LONGEST_ADDRESS;
      super(url, protocols?.length === 3 && !isLong ? [...protocols, `address.${address}`] : protocols);
    }
  };
}

/** Makes each table that is wider than its place a stop of the tab key, so that the arrow keys can scroll it. */
export function watchTables(signal) {
  let frame = 0;
  // Sizes also change without new elements: fonts and styles arrive late, and an expander opens.
  const sizes = new ResizeObserver(() => later());
  const check = () => {
    frame = 0;
    for (const place of document.querySelectorAll(`[data-testid="${TABLE}"] > div`)) {
      for (const element of [place, ...place.children]) sizes.observe(element);
      if (place.scrollWidth > place.clientWidth) place.setAttribute('tabindex', '0');
      else place.removeAttribute('tabindex');
    }
  };
  const later = () => (frame ||= requestAnimationFrame(check));
  const observer = new MutationObserver(later);
  observer.observe(document.body, { childList: true, subtree: true });
  window.addEventListener('resize', later, { signal });
  later(); // the tables may have been drawn before this library arrived
  signal.addEventListener('abort', () => {
    observer.disconnect();
    sizes.disconnect();
  });
}

/** Calls `look` in each frame and returns the first truthy result; null after MENU_TIME. */
async function firstValue(look) {
  const until = performance.now() + MENU_TIME;
  while (performance.now() < until) {
    const value = look();
    if (value) return value;
    await new Promise(requestAnimationFrame);
  }
  return null;
}

/** Chooses a theme (a key of THEMES) by clicking its entry in Streamlit's menu, which changes it without a reload. */
export async function chooseTheme(name) {
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  const page = document.documentElement;
  page.dataset.choosingTheme = '';
  try {
    const menu = byTestId(MENU);
    (menu?.querySelector('button') ?? menu)?.click();
    const entry = menu && (await firstValue(() => byTestId(THEME_ENTRY + name)));
    if (entry) {
      entry.click();
      entry.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
      await firstValue(() => !byTestId(THEME_ENTRY + name));
    } else {
      // If the menu does not open, the name is stored and the page reloaded; the address contains the state.
      keep(THEME_KEY, JSON.stringify(name));
      location.reload();
    }
  } finally {
    delete page.dataset.choosingTheme;
    focused?.focus?.({ preventScroll: true });
  }
}
