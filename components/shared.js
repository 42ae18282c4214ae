// What every component uses: reading the payload, making elements, showing hostile text.

const TYPES = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array, float64: Float64Array };

/** The header and arrays of a blob made by payload.py: {...header, arrays: {name: {data, shape}}}. */
lab.unpack = bytes => {
  // Streamlit hands out a view into its message at any offset; typed arrays need an aligned start.
  const blob = bytes.slice();
  const length = new DataView(blob.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(blob.subarray(4, 4 + length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const count = shape.reduce((product, side) => product * side, 1);
    header.arrays[name] = { data: new TYPES[dtype](blob.buffer, start + offset, count), shape };
  }
  return header;
};

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

/** The element that a component draws into, inside the shadow root that Streamlit gives it. */
lab.root = parent => parent.querySelector('.root');

/**
 * A component from `create(state)` (once a mount; builds into `state.root`, returns what to add to the state),
 * `update(state, data)` (whenever data or theme change, and on `state.refresh()`), and `destroy(state)`.
 * The state has `root`, `dark`, `fresh` (data or theme changed since the last update), `send(event)` and
 * `waiting()`, the events that the data do not show yet.
 */
lab.component = ({ create, update, destroy }) => {
  const states = new WeakMap();
  return {
    render({ parentElement, data, setTriggerValue }) {
      let state = states.get(parentElement);
      if (!state) {
        const root = lab.root(parentElement);
        root.replaceChildren(); // what another version of the library may have left
        const events = lab.events();
        state = { root, events, send: events.send, waiting: () => events.waiting };
        state.refresh = () => update(state, state.data);
        Object.assign(state, create(state));
        states.set(parentElement, state);
      }
      state.events.trigger = setTriggerValue;
      if (state.bytes !== data) {
        state.bytes = data;
        state.data = lab.unpack(data);
        state.events.acknowledge(state.data.sequence ?? 0);
      }
      state.dark = getComputedStyle(parentElement.host).colorScheme === 'dark';
      state.fresh = true;
      update(state, state.data);
      state.fresh = false;
      state.root.dataset.drawn = state.drawn = (state.drawn ?? 0) + 1; // benchmarks and tests wait for it
    },
    unmount(parentElement) {
      // Streamlit also calls this for a drawing that newer data overtook: then the component stays.
      if (parentElement.host.isConnected) return;
      const state = states.get(parentElement);
      if (state) destroy?.(state);
      states.delete(parentElement);
    },
  };
};

const NAMES = { 0x0a: '↵', 0x0d: '↵', 0x09: '⇥', 0x7f: '␡', 0xa0: '␣', 0xad: '‧' };
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u00a0]/gu;
const KEPT = /[\u200c\u200d]/; // joiners: parts of emoji and of Arabic and Indic words

/** A token as it can be shown on one line: what cannot be seen gets a sign, a word's leading space goes. */
lab.token = token => {
  const seen = token.replace(UNSEEN, sign => {
    const code = sign.codePointAt(0);
    if (NAMES[code]) return NAMES[code];
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (KEPT.test(sign)) return sign;
    return code >= 0xd800 && code < 0xe000 ? '\ufffd' : `⟨${code.toString(16)}⟩`;
  });
  const trimmed = seen.trim();
  return trimmed || (seen ? '␣' : '∅');
};

const LEFTWARDS = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Text between marks that keep its direction to itself, where it has one that could turn its neighbours round. */
lab.isolated = text => (LEFTWARDS.test(text) ? `\u2068${text}\u2069` : text);

/** A token for a sentence or an attribute. */
lab.quoted = token => `“${lab.isolated(lab.cut(lab.token(token), 40))}”`;

const segmenter = globalThis.Intl?.Segmenter ? new Intl.Segmenter() : null;
const signs = text => (segmenter ? Array.from(segmenter.segment(text), part => part.segment) : Array.from(text));

/** At most `count` characters as a reader counts them, the last one “…” if something was cut. */
lab.cut = (text, count) => {
  if (text.length <= count) return text;
  const parts = signs(text.slice(0, 16 * count)); // a character is longer only if someone stacks accents
  return parts.length <= count && text.length <= 16 * count ? text : parts.slice(0, count - 1).join('') + '…';
};

/** A token's element. */
lab.bdi = token => lab.make('bdi', { textContent: lab.cut(lab.token(token), 40) });

/** `value` in [0, 1] as a percentage that is never a wrong 0 or 100. */
lab.percent = value => {
  const percent = 100 * value;
  if (percent > 0 && percent < 0.1) return '<0.1%';
  if (percent < 100 && percent > 99.9) return '>99.9%';
  return `${percent.toFixed(1)}%`;
};

/** A number with a real minus sign and, with `plus`, a sign in any case. */
lab.number = (value, digits, plus = false) => {
  const text = Math.abs(value).toFixed(digits);
  const zero = Number(text) === 0;
  return (zero ? (plus ? '±' : '') : value < 0 ? '−' : plus ? '+' : '') + text;
};

/** A weight with four places, or as a power of ten where these would be zeros. */
lab.exact = (value, plus = false) => {
  const size = Math.abs(value);
  if (size === 0 || size >= 0.0001) return lab.number(value, 4, plus);
  return (value < 0 ? '−' : plus ? '+' : '') + size.toExponential(1).replace('-', '−');
};

/** Where (i, j) of a matrix lies: packed lower triangle or full, `columns` wide. */
lab.place = (causal, columns) => (causal ? (i, j) => (i * (i + 1)) / 2 + j : (i, j) => i * columns + j);
