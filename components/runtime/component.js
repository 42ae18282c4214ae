// The life cycle of a component: style, creation, updates, and the acknowledgement of events.

import { pageData } from '../core/page_data.js';
import { merged, unpack } from '../core/payload.js';
import { currentLanguage, setLanguage } from '../core/texts.js';
import { rootOf, setAttribute } from '../widgets/dom.js';
import { followVisit } from './direct.js';
import {
  acknowledge,
  continueAfter,
  continueSession,
  dropEvents,
  onAnswer,
  restartSession,
  sendEvent,
  sendUnhandled,
  showConnection,
  waitingOf,
} from './events.js';
import { markComponent, mounted, requests } from './stale.js';

const sheets = new Map(); // style sheets by component

/** Applies the styles of components to a shadow root, in this order, and removes the styles of an older library. */
export function applyStyle(root, ...names) {
  for (const name of names.filter(each => !sheets.has(each))) {
    const sheet = Object.assign(new CSSStyleSheet(), { isOurs: true });
    sheet.replaceSync(pageData.styles[name]);
    sheets.set(name, sheet);
  }
  const worn = root.adoptedStyleSheets;
  const wanted = names.map(name => sheets.get(name));
  if (!wanted.every(sheet => worn.includes(sheet)))
    root.adoptedStyleSheets = [...worn.filter(sheet => !sheet.isOurs), ...wanted];
}

let dark = null; // true if the page's theme is dark; cached while the page's components are displayed

/** Returns whether the page's theme is dark, computed once for all components: it forces a layout of the page. */
function isDark(host) {
  if (dark === null) {
    dark = getComputedStyle(host).colorScheme === 'dark';
    setTimeout(() => (dark = null));
  }
  return dark;
}

let heard = null; // id of the session that sent the last payload
let newestSerial = 0; // serial number of the newest displayed response of the events route
const newest = new Map(); // key of a mount -> last payload for this mount from the events route

/** Records which events a payload includes. */
function hear(data) {
  if (heard !== null && data.visit !== undefined && data.visit !== heard) restartSession();
  else continueSession();
  if (data.visit !== heard) [newestSerial] = [0, newest.clear()];
  heard = data.visit ?? heard;
  showConnection(true);
  requests.answered(data.answered ?? 0);
  setLanguage(data.language ?? 'en');
  if (!pageData.embedded) setAttribute(document.documentElement, 'lang', currentLanguage());
}

/** Sends the events that an ended session did not handle, as soon as the new session shows the page's address. */
function continueVisit() {
  const page = /** @type {any} */ (globalThis); // bar.js sets its properties
  if (page.attentionLabVisit === heard && !page.attentionLabAddress) sendUnhandled();
}

/** Creates the component's elements again in another language; the focus stays on the same element. */
function rebuild(state, create, destroy) {
  const inside = () =>
    Array.from(state.root.querySelectorAll('a, button, input, textarea, select, summary, [tabindex]'));
  const place = inside().indexOf(state.root.getRootNode().activeElement);
  destroy?.(state);
  state.root.replaceChildren();
  Object.assign(state, create(state));
  return () => inside()[place]?.focus({ preventScroll: true });
}

/**
 * Defines a component: {render, unmount} for Streamlit.
 *
 * The state that the functions receive has `root`, `dark`, `fresh` (data or theme changed since the last update),
 * `send(event)`, `refresh()`, and `waiting()`, the events that the data do not include yet. Until a payload includes
 * them, `state.numbers` (or the root) is aria-busy, the root has the class `old`, and `state.marked()` is called.
 * @param {object} component
 * @param {(state: any) => object} component.create called once per mount and language: builds into `state.root`, and
 *   returns additional properties of the state
 * @param {(state: any, data: any) => void} component.update called when data or theme change, and by `state.refresh()`
 * @param {(state: any) => void} [component.destroy] called when the component leaves the page
 * @param {('numbers' | 'selection')[]} [component.parts] the parts of the page that the component's numbers depend on
 *   (affectedPart in core/pending.js)
 */
export function defineComponent({ create, update, destroy, parts = [] }) {
  const states = new WeakMap();
  const draw = (state, data) => {
    state.data = data;
    state.fresh = true;
    update(state, data);
    state.fresh = false;
    state.root.dataset.drawn = state.updates = (state.updates ?? 0) + 1; // benchmarks and tests wait for this number
  };
  return {
    render({ parentElement, data, setTriggerValue }) {
      let news = states.get(parentElement)?.given === data ? null : unpack(data);
      if (news) {
        hear(news); // the payload is recorded first, because it sets the language in which elements are created
        followVisit(news);
        // A newer payload of the events route may have arrived before this payload.
        const later = newest.get(news.key);
        if (later && later.serial > (news.serial ?? 0)) news = { ...news, ...later };
      }
      let state = states.get(parentElement);
      let refocus = null;
      if (!state) {
        const root = rootOf(parentElement);
        root.replaceChildren(); // another version of the library may have left elements in the root
        const key = news?.key ?? '';
        state = { root, key, parts, send: event => sendEvent(key, event), waiting: () => waitingOf(key) };
        state.refresh = () => update(state, state.data);
        state.show = payload => draw(state, payload);
        Object.assign(state, create(state));
        states.set(parentElement, state);
        mounted.add(state);
      } else if (state.language !== currentLanguage()) refocus = rebuild(state, create, destroy);
      Object.assign(state, { language: currentLanguage(), trigger: setTriggerValue, dark: isDark(parentElement.host) });
      if (news) {
        state.given = data;
        acknowledge(state.key, news.sequence ?? 0);
        continueAfter(news.answered ?? 0);
      }
      draw(state, news ?? state.data);
      refocus?.();
      markComponent(state);
      continueVisit();
    },
    unmount(parentElement) {
      // Streamlit also calls this function when newer data replace older data; the component then stays.
      if (parentElement.host.isConnected) return;
      const state = states.get(parentElement);
      if (!state) return;
      states.delete(parentElement);
      mounted.delete(state);
      dropEvents(state.key);
      destroy?.(state);
    },
  };
}

/** Displays a response of the events route, and acknowledges its events in all components. */
function drawAnswer(about, payloads) {
  const { serial, answered, visit, language, received } = about;
  if (visit !== heard || serial < newestSerial) return;
  newestSerial = serial;
  continueSession();
  requests.answered(answered);
  const shown = new Map(Array.from(mounted, ({ key, data }) => [key, data]));
  const payloadByKey = new Map(
    payloads.map(payload => [payload.key, merged(newest.get(payload.key) ?? shown.get(payload.key), payload)]),
  );
  for (const [key, payload] of payloadByKey) newest.set(key, { ...payload, serial, answered, visit, language });
  for (const state of mounted) {
    const { data } = state;
    if (data?.visit !== visit || (data.serial ?? 0) > serial) continue;
    const sequence = received[data.key] ?? data.sequence;
    const envelope = { serial, answered, sequence, visit, language };
    const waited = state.waiting().length;
    acknowledge(state.key, sequence);
    const payload = payloadByKey.get(data.key);
    if (payload) state.show({ ...payload, ...envelope });
    else {
      Object.assign(data, envelope);
      if (waited !== state.waiting().length) state.refresh();
    }
    markComponent(state);
  }
  continueAfter(answered);
  continueVisit();
}
onAnswer(drawAnswer);
