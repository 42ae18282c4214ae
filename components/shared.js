// What every component uses: making elements, drawing and redrawing, and telling old numbers from new ones.

/** Where keys are letters, or choose: none of them is a command of ours. */
lab.TYPED =
  'textarea, select, [contenteditable], input:not([type="range"], [type="radio"], [type="checkbox"], [type="button"])';

const DIMS = 120; // ms without an answer
const WIDE = 16; // characters

/** An element with properties, `dataset`, `style` and attributes, and children (strings become text). */
lab.make = (tag, { dataset, style, attributes, ...properties } = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  Object.assign(element.dataset, dataset);
  for (const [name, value] of Object.entries(style ?? {})) element.style.setProperty(name, value);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/** Sets an attribute only if it changes: screen readers announce each write to a live region. */
lab.set = (element, name, value) => {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
};

/** Sets the text only if it changes. */
lab.write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

/** A text in which the names of controls stand between stars; set only if it changes. */
lab.writeStarred = (element, text) => {
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  element.replaceChildren(
    ...lab.starred(text).map(({ text: piece, isName }) => (isName ? lab.make('b', { textContent: piece }) : piece)),
  );
};

/** A token's element. */
lab.bdi = token => lab.make('bdi', { textContent: lab.cut(lab.token(token), 40) });

/** Whether a token may be wider than its place, and is to be cut off there. */
lab.isWide = token => token.length > WIDE;

/** The elements of tokens; those that stay on the line of the one before, in a span with it. */
lab.together = (tokens, elements) => {
  const stays = lab.staysWith(tokens);
  const groups = [];
  elements.forEach((element, i) => (stays[i] ? groups.at(-1).push(element) : groups.push([element])));
  return groups.map(([first, ...rest]) => (rest.length ? lab.make('span', { className: 'glued' }, first, ...rest) : first));
};

/** Where the pointer is in an element, in px of its own: large type zooms the page, and the pointer's are the screen's. */
lab.pointerIn = (element, { clientX, clientY }) => {
  const { left, top, width } = element.getBoundingClientRect();
  const zoom = width / element.clientWidth;
  return [(clientX - left) / zoom, (clientY - top) / zoom];
};

/** The element that a component draws into, inside the shadow root that Streamlit gives it. */
lab.root = parent => parent.querySelector('.root');

const sheets = new Map(); // by component

/** Gives the shadow root of a component its style; an older library's goes. */
lab.dress = (root, name) => {
  if (!sheets.has(name)) {
    const sheet = Object.assign(new CSSStyleSheet(), { isOurs: true });
    sheet.replaceSync(lab.styles[name]);
    sheets.set(name, sheet);
  }
  const worn = root.adoptedStyleSheets;
  if (!worn.includes(sheets.get(name))) root.adoptedStyleSheets = [...worn.filter(its => !its.isOurs), sheets.get(name)];
};

/** The states of the components on the page. */
lab.living = new Set();

/** The place that a component's group is at; see components/dial. */
lab.placeOf = ({ group, at, answered }) => lab.chosen.shown(group, at, answered ?? 0);

/**
 * All components of the group go to the place at once; Python hears of it, and what it has to compute follows.
 * `drag: false` ends a drag: undo takes back one at a time.
 */
lab.goTo = ({ data: { group }, send }, place, drag = true) => {
  lab.chosen.choose(group, place, send({ type: 'at', x: place, drag }));
  for (const other of lab.living) if (other.data?.group === group) other.refresh();
};

/** Marks each component whose numbers answer an older question than the newest one, and only those. */
lab.mark = () => {
  for (const state of lab.living) markOne(state);
};

function markOne(state) {
  const { data, parts, numbers, root } = state;
  if (!parts.length || !data) return;
  // All numbers wait for a text; of events, only those count that change what this component shows.
  state.awaitsText = lab.typed.isOld(data.text ?? null);
  const isOld = state.awaitsText || lab.asking.newest(parts) > (data.answered ?? 0);
  root.classList.toggle('old', isOld);
  lab.set(numbers ?? root, 'aria-busy', isOld);
  dim(state, isOld);
  state.marked?.();
}

/** Old numbers look old after DIMS; most answers come before, and nothing flickers. */
function dim(state, isOld) {
  if (isOld) {
    state.dimming ??= setTimeout(() => state.root.classList.add('dimmed'), DIMS);
    return;
  }
  clearTimeout(state.dimming);
  state.dimming = undefined;
  state.root.classList.remove('dimmed');
}

let dark = null; // of the page, while its components are drawn

/** The page's theme. Asked once for all that are drawn together: each question makes the browser lay out what the one
 * before it has changed. */
function isDark(host) {
  if (dark === null) {
    dark = getComputedStyle(host).colorScheme === 'dark';
    setTimeout(() => (dark = null));
  }
  return dark;
}

let heard = null; // the session that the last payload came from

/** Takes note of what a payload answers. */
function hear(data) {
  if (heard !== null && data.visit !== undefined && data.visit !== heard) lab.restarted();
  heard = data.visit ?? heard;
  lab.asking.answered(data.answered ?? 0);
  lab.textAnswered(data.text ?? null);
  lab.language = data.language ?? 'en';
  lab.set(document.documentElement, 'lang', lab.language);
}

/** Builds what the component shows anew, in another language; the focus stays where it was. */
function rebuild(state, create, destroy) {
  const inside = () => Array.from(state.root.querySelectorAll('a, button, input, select, summary, [tabindex]'));
  const place = inside().indexOf(state.root.getRootNode().activeElement);
  destroy?.(state);
  state.root.replaceChildren();
  Object.assign(state, create(state));
  return () => inside()[place]?.focus({ preventScroll: true });
}

/**
 * A component from `create(state)` (once a mount; builds into `state.root`, returns what to add to the state),
 * `update(state, data)` (whenever data or theme change, and on `state.refresh()`), and `destroy(state)`.
 * The state has `root`, `dark`, `fresh` (data or theme changed since the last update), `send(event)` and
 * `waiting()`, the events that the data do not show yet. `parts` names what its numbers depend on (see asking.js);
 * while an answer is awaited, `state.numbers` (or the root) is aria-busy, the root has the class `old`, and
 * `state.marked()` is called.
 */
lab.component = ({ create, update, destroy, parts = [] }) => {
  const states = new WeakMap();
  return {
    render({ parentElement, data, setTriggerValue }) {
      const news = states.get(parentElement)?.bytes === data ? null : lab.unpack(data);
      if (news) hear(news); // first: what is built needs the language
      let state = states.get(parentElement);
      let refocus = null;
      if (!state) {
        const root = lab.root(parentElement);
        root.replaceChildren(); // what another version of the library may have left
        const events = lab.events();
        state = { root, events, parts, send: events.send, waiting: () => events.waiting };
        state.refresh = () => update(state, state.data);
        Object.assign(state, create(state));
        states.set(parentElement, state);
        lab.living.add(state);
      } else if (state.language !== lab.language) refocus = rebuild(state, create, destroy);
      state.language = lab.language;
      state.events.trigger = setTriggerValue;
      if (news) {
        [state.bytes, state.data] = [data, news];
        state.events.acknowledge(news.sequence ?? 0);
      }
      state.dark = isDark(parentElement.host);
      state.fresh = true;
      update(state, state.data);
      refocus?.();
      state.fresh = false;
      markOne(state);
      state.root.dataset.drawn = state.drawn = (state.drawn ?? 0) + 1; // benchmarks and tests wait for it
    },
    unmount(parentElement) {
      // Streamlit also calls this for a drawing that newer data overtook: then the component stays.
      if (parentElement.host.isConnected) return;
      const state = states.get(parentElement);
      if (!state) return;
      states.delete(parentElement);
      lab.living.delete(state);
      state.events.close();
      destroy?.(state);
    },
  };
};
