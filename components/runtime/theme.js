// The page's theme. Streamlit keeps it, and has a choice of it in its main menu, which is on the page though its bar is
// hidden (assets/style.css): what is chosen here is pressed there, so that all of the page follows, without a reload.

import { N_ } from '../core/texts.js';

const KEPT = `stActiveTheme-${location.pathname}-v2`; // where Streamlit 1.67 keeps the name of the theme
const PATIENCE = 5000; // ms until its menu must have opened

/** The themes, by Streamlit's names for them. */
export const THEMES = { System: N_('As the system'), Light: N_('Light'), Dark: N_('Dark') };

/** The chosen theme. */
export function chosenTheme() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    return Object.hasOwn(THEMES, kept) ? kept : 'System';
  } catch {
    return 'System'; // nothing is kept, or nothing may be
  }
}

const find = id => document.querySelector(`[data-testid="${id}"]`);

/** What `look` finds, as soon as it does; null if it takes too long. */
async function soon(look) {
  const until = performance.now() + PATIENCE;
  while (performance.now() < until) {
    const found = look();
    if (found) return found;
    await new Promise(requestAnimationFrame);
  }
  return null;
}

/** Chooses a theme, one of THEMES. */
export async function chooseTheme(name) {
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  const page = document.documentElement;
  page.dataset.choosingTheme = '';
  try {
    const menu = find('stMainMenu');
    /** @type {HTMLElement} */ (menu?.querySelector('button') ?? menu)?.click();
    const entry = menu && (await soon(() => find(`stMainMenuItem-theme-${name}`)));
    if (entry) {
      entry.click();
      entry.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
      await soon(() => !find(`stMainMenuItem-theme-${name}`));
    } else {
      // Without its menu: what it keeps, and the page once more. The address has the state.
      localStorage.setItem(KEPT, JSON.stringify(name));
      location.reload();
    }
  } finally {
    delete page.dataset.choosingTheme;
    focused?.focus?.({ preventScroll: true });
  }
}
