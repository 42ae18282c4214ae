// Draws a tool from the parts in its payload (app/content/parts.py), so that most tools need no JavaScript of their own.

import { colourTable } from '../../core/attention/scales.js';
import { visibleText } from '../../core/format.js';
import { formatShare, shortHead } from '../../core/stage/sentences.js';
import { tileBytes } from '../../core/stage/weights.js';
import { paintTile } from '../../widgets/canvas.js';
import { make } from '../../widgets/dom.js';
import { curveKey, lines, scatter } from './charts.js';
import { bars, button, choice, heading, list, note, sentence, signed, table, wordElement } from './parts.js';

/** Draws all parts; marks the picture with the tool's overlay. */
export function drawComposed(place, api) {
  if (api.tool.overlay) api.overlay(api.tool.overlay);
  place.append(...api.tool.parts.map(part => PARTS[part.part](part, api)));
}

const FORMS = { share: formatShare, signed, count: String };

/** Returns the nodes of a text: strings, {word}, {strong}, {share}, {signed}, {act, text}, {text, slots}, or a list. */
function nodes(text, api) {
  return [text].flat().flatMap(each => {
    if (typeof each !== 'object') return [String(each)];
    const { word, look, strong, share, signed: value, slots, act } = each;
    if (word !== undefined) return [wordElement(word, look ?? 'word')];
    if (strong !== undefined) return [make('strong', ...nodes(strong, api))];
    if (share !== undefined) return [formatShare(share)];
    if (value !== undefined) return [signed(value)];
    if (act) return [make('button.pick', { onclick: doing(act, api) }, ...nodes(each.text, api))];
    const filled = Object.entries(slots ?? {}).map(([name, slot]) => [name, make('span', ...nodes(slot, api))]);
    return sentence(each.text, Object.fromEntries(filled));
  });
}

/** Returns the function of a press: it selects a head, {head: [kind, layer, head]}, or sends the event. */
const doing = (act, api) =>
  act && (() => (act.type ? api.send(act) : api.select(act.head[1], act.head[2], 'head', act.head[0])));

/** Returns the function that takes a new value: a setting of the tool, or the field of an event. */
const changing =
  ({ name, act, field = 'value' }, api) =>
  value =>
    act ? api.send({ ...act, [field]: typeof act[field] === 'number' ? Number(value) : value }) : api.set(name, value);

const current = ({ name, value }, api) => (name ? api.setting(name, value) : value);

const several = (parts, api) => parts.map(part => PARTS[part.part](part, api));

function field(part, api) {
  const { label, value, kind = 'text', ...more } = part;
  const change = changing(part, api);
  const input = make('input', { type: kind, value, translate: false, 'aria-label': label });
  for (const name of ['placeholder', 'min', 'max', 'step']) if (more[name] !== undefined) input[name] = more[name];
  input.onchange = () => input.value !== String(value) && input.validity.valid && change(input.value);
  if (kind === 'text') return make('div.second-text.grid.fill', input);
  return make('label.chooser.inline.muted', make('span', { textContent: label }), input);
}

/** @type {Record<string, (part: any, api: any) => HTMLElement>} */
const PARTS = {
  title: ({ text, small = [], more = [] }, api) => heading(nodes(text, api), nodes(small, api), ...several(more, api)),
  note: ({ text }, api) => note(...nodes(text, api)),
  row: ({ parts, look }, api) =>
    make('div', { className: look.replace('controls', 'wrap controls') }, ...several(parts, api)),
  bars: ({ rows, form = 'share', ...options }, api) =>
    bars(
      rows.map(({ name, act, ...row }) => ({
        text: FORMS[form](row.value),
        ...row,
        name: make('span', ...nodes(name, api)),
        act: doing(act, api),
      })),
      options,
    ),
  table: ({ columns, rows, look }, api) => {
    const cell = text => make('span', ...nodes(text, api));
    return table(
      columns.map(cell),
      rows.map(row => row.map(cell)),
      look,
    );
  },
  choice: (part, api) =>
    (part.many ? list : choice)(part.label, part.options, String(current(part, api)), changing(part, api)),
  button: ({ text, act, pressed, off }, api) => {
    const element = button(text, doing(act, api), pressed);
    element.disabled = Boolean(off);
    return element;
  },
  field,
  link: ({ text, href, file }) =>
    make('a.button.small', { textContent: text, href, ...(file ? { download: file } : {}) }),
  texts: ({ rows }, api) =>
    make(
      'div.texts',
      ...rows.map(({ lead, text, act }) =>
        make(
          'button.item.grid.fill',
          { onclick: doing(act, api) },
          make('b', ...nodes(lead, api)),
          make('span', { translate: false }, ...nodes(text, api)),
        ),
      ),
    ),
  written: ({ start, pieces }) =>
    make(
      'p.written',
      { translate: false },
      make('span', { textContent: `… ${start.trimStart()}` }),
      ...pieces.map(([look, text]) =>
        make(look === 'gone' ? 's' : 'b', { className: look, textContent: visibleText(text) }),
      ),
    ),
  progress: ({ text, share }) =>
    make('label.chooser.inline.muted', make('progress', { max: 1, value: share }), make('span', { textContent: text })),
  key: part => curveKey(part.curves),
  lines: ({ curves, act, field: name = 'value', at, ...options }, api) =>
    lines(curves, {
      ...options,
      cursor:
        at === undefined ? undefined : { at, act: act && (value => api.send({ ...act, [name]: Math.round(value) })) },
    }),
  scatter: ({ heads, ...options }, api) =>
    scatter(heads, { ...options, selected: api.now.selection, act: (layer, head) => api.select(layer, head) }),
  grid: ({ kind, values, digits = 1, most }, api) => signedGrid({ kind, values, digits, most, act: api.select }),
  tiles,
  code: ({ text }) => make('pre.code', { tabIndex: 0, textContent: text, translate: false }),
};

/** Returns the tiles of another model, the last layer on top; a press selects the head in all models. */
function tiles(part, api) {
  const { array, layers, heads, side, states, title, kind } = part;
  const table = colourTable(api.dark, 'attention');
  const { data } = api.data.arrays[array];
  const cells = Array.from({ length: layers * heads }, (_each, i) => {
    const [layer, head] = [layers - 1 - Math.floor(i / heads), i % heads];
    const canvas = make('canvas');
    paintTile(canvas, side[0], side[1], table, tileBytes({ ...part, packed: false }, data, layer * heads + head));
    const { gate, constant } = states[layer][head];
    const { selection } = api.now;
    const is = {
      pruned: gate === 0,
      constant: constant && gate > 0,
      on: selection.layer === layer && selection.head === head,
    };
    const className = Object.keys(is)
      .filter(name => is[name])
      .join(' ');
    const named = shortHead(layer, head, kind);
    const onclick = () => api.select(layer, head, 'head', kind);
    return make('button', { className, onclick, title: named, 'aria-label': named }, canvas);
  });
  const grid = make('div.minis.grid', { style: { '--heads': heads } }, ...cells);
  return make('figure', make('figcaption', { textContent: title }), grid);
}

/** Returns numbers of the heads of a block as coloured cells, the last layer on top; a press selects the head. */
function signedGrid({ kind, values, digits, most, act }) {
  const axis = text => make('span.axis.fine', { textContent: text });
  const cell = (value, layer, head) => {
    const part = Math.sqrt(Math.abs(value) / most);
    const name = `${shortHead(layer, head, kind)} ${signed(value)}`;
    return make('button', {
      className: value < 0 ? 'against' : '',
      textContent: Math.abs(value) >= 10 ** -digits ? signed(value, digits) : '',
      onclick: () => act(layer, head, 'head', kind),
      style: { '--part': `${Math.round(90 * Math.min(1, part))}%` },
      'aria-label': name,
      title: name,
      ...(part > 0.75 ? { 'data-strong': '' } : {}),
    });
  };
  const rows = values.map((row, layer) => [
    axis(`L${layer + 1}`),
    ...row.map((value, head) => cell(value, layer, head)),
  ]);
  const first = [axis(''), ...values[0].map((_value, head) => axis(`H${head + 1}`))];
  return make('div.signed.grid', { style: { '--heads': values[0].length } }, ...first, ...rows.reverse().flat());
}
