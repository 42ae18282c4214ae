// The parts of the header that every page needs: the browser's address, undo by keyboard, language, lessons' progress.

import { createAddressWriter } from '../core/address.js';
import { letterOf } from '../core/keys.js';
import { TEXT_INPUTS } from '../widgets/dom.js';
import { keep, recall } from '../widgets/storage.js';
import { mounted, requests } from './stale.js';

const LONGEST = 3000; // characters of a query that is stored; browsers limit a cookie to 4 kB
const PATIENCE = 3000; // ms that copying waits for waiting events; browsers allow copying until 5 s after a click

/** True if the app is in a frame of another site, where browsers may block cookies, uploads and downloads. */
export const isFramed = (() => {
  try {
    return Boolean(globalThis.top && globalThis.top !== globalThis.self && !globalThis.top.document);
  } catch {
    return true; // the outer page belongs to another site
  }
})();

const setCookie = (name, value) => {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
};

/** Chooses a language, and stores it in a cookie for later sessions that do not begin with a link. */
export function chooseLanguage(state, language) {
  setCookie('attention-lab-language', language);
  state.send({ type: 'language', language });
}

const PROGRESS = 'attention-lab-lessons';

/** Stores the completed lesson steps in the browser; sends steps that the server does not have, once per session. */
export function keepProgress(state) {
  const { ticked, visit } = state.data;
  const stored = (recall(PROGRESS) ?? '').split(' ');
  const missing = stored.filter(place => place && !ticked.includes(place));
  if (ticked.some(place => !stored.includes(place))) keep(PROGRESS, [...ticked, ...missing].join(' '));
  if (missing.length && state.reported !== visit) state.send({ type: 'progress', done: missing });
  state.reported = visit;
}

/** Writes the state of a new payload into the address; returns whether the address has the payload's state. */
export function followAddress(state) {
  const { query, mode, embedded, visit, sequence } = state.data;
  // Only a new payload changes the address; an update for another theme does not.
  if (state.addressed === state.data) return false;
  state.addressed = state.data;
  const wanted = [query, embedding()]
    .filter(Boolean)
    .join('&')
    .replace(/^(?=.)/, '?');
  const page = globalThis; // values on this object survive new sessions and remounted components
  // A new session has opened the address with which the page was loaded. The page's present address contains the
  // changes since then.
  const isNew = page.attentionLabVisit && page.attentionLabVisit !== visit;
  const present = newestQuery();
  if ((isNew && present !== wanted) || (!page.attentionLabVisit && isUnheard(present)))
    page.attentionLabAddress = { query: present, sequence: Infinity };
  page.attentionLabVisit = visit;
  if (page.attentionLabAddress && sequence < page.attentionLabAddress.sequence) {
    const { query: own } = page.attentionLabAddress;
    // The address event is sent again if its component was removed. Until Python has handled the event, payloads belong
    // to the older state.
    const sent = () => state.waiting().find(({ type }) => type === 'address');
    if (!sent()) state.send({ type: 'address', query: own });
    page.attentionLabAddress.sequence = sent()?.sequence ?? Infinity;
    return false;
  }
  page.attentionLabAddress = null;
  if (newestQuery() !== wanted) address.put(wanted, mode === 'push' && !embedded);
  // an address without a query opens this state again (app/state/session.py)
  if (!embedded && query.length <= LONGEST) setCookie('attention-lab-last', query);
  return true;
}

const address = createAddressWriter({
  write(query, isNew) {
    const url = root() + query + (isNew ? '' : location.hash); // a section belongs to its page
    if (isNew) history.pushState({}, '', url);
    else history.replaceState({}, '', url);
  },
  now: () => performance.now(),
  later: setTimeout,
  cancel: clearTimeout,
});

/** Returns the query of the newest address, which may not be written yet. */
const newestQuery = () => address.waiting() ?? location.search;

/** Returns Streamlit's own parameters of the address, which control embedding in another page. */
function embedding() {
  const parameters = Array.from(new URLSearchParams(location.search)).filter(
    ([key]) => key === 'embed' || key === 'embed_options',
  );
  return new URLSearchParams(parameters).toString();
}

// Streamlit treats an address with more characters than this as empty (runtime/state/query_params.py).
const MOST_CHARACTERS = 512 * 1024;
const MOST_FIELDS = 1000;

/** Returns whether Streamlit ignores this address because of its length. */
const isUnheard = query => query.length > MOST_CHARACTERS || query.split('&').length > MOST_FIELDS;

/** Returns the app's path. In older links each page had its own path; now the page is a parameter. */
const root = () => location.pathname.replace(/[^/]*$/, '');

/** Handles Ctrl or Cmd with Z, Shift Z or Y, except in text fields, which have their own undo. */
function press(state, event) {
  const key = letterOf(event); // events of autofill have no key
  if (!(event.ctrlKey || event.metaKey) || event.altKey || (key !== 'z' && key !== 'y')) return;
  const target = event.composedPath()[0];
  if (target instanceof HTMLElement && (target.isContentEditable || target.matches(TEXT_INPUTS))) return;
  event.preventDefault();
  state.send({ type: key === 'y' || event.shiftKey ? 'redo' : 'undo' });
}

/** Handles the keys of undo and redo, and the browser's history, until the signal ends. */
export function listenForHistory(state, signal) {
  document.addEventListener('keydown', event => press(state, event), { signal });
  window.addEventListener('popstate', address.drop, { signal });
  window.addEventListener('pagehide', address.flush, { signal });
}

/** Returns whether there are changes or typed texts that the address does not include yet. */
const isBehind = ({ data }) =>
  requests.newest(['numbers', 'selection']) > (data.answered ?? 0) ||
  [...mounted].some(({ waiting }) => waiting().length > 0);

/** Resolves when the address contains all changes, or after PATIENCE. */
export async function settled(state) {
  const until = performance.now() + PATIENCE;
  while (isBehind(state) && performance.now() < until) await new Promise(done => setTimeout(done, 30));
  address.flush();
}
