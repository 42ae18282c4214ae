// Who wrote it? The direct contribution of each head, MLP and the embedding to the answer's logit.

import { shortHead } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { bars, choice, heading, note, sentence, signed, wordElement } from './parts.js';
import { defineTool } from './registry.js';

const ROWS = 6;
const LEAST = 0.1; // logits from which a cell has its number

function draw(place, api) {
  const { data, tool } = api;
  const kinds = data.kinds.filter(({ kind }) => data.arrays[`tool.${kind}`]);
  const heads = kinds.flatMap(kind =>
    Array.from(data.arrays[`tool.${kind.kind}`].data, (value, index) => ({
      kind,
      layer: Math.floor(index / kind.heads),
      head: index % kind.heads,
      value,
    })),
  );
  const rows = [
    ...heads.map(({ kind, layer, head, value }) => ({
      name: shortHead(layer, head),
      value,
      act: () => api.select(layer, head, 'head', kind.kind),
    })),
    ...tool.rest.map(([name, value]) => ({ name, value })),
  ].sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
  const most = Math.max(...rows.map(({ value }) => Math.abs(value)), 1e-9);
  const choices = tool.choices.map(({ id, label }) => [String(id), label.trim() || label]);
  place.append(
    heading(
      sentence(_('Who wrote {word}?'), { word: wordElement(tool.token.label) }),
      _('shares of its logit, {total} in all. Contribution, not cause: prune to test.', { total: signed(tool.total) }),
      ...(choices.length > 1
        ? [
            choice(_('Answer'), choices, String(tool.token.id), id =>
              api.send({ type: 'contribution', token: Number(id) }),
            ),
          ]
        : []),
    ),
    make(
      'div',
      { className: 'duo who' },
      make(
        'div',
        {},
        ...kinds.map(kind =>
          grid(
            api,
            kind,
            heads.filter(each => each.kind === kind),
            most,
          ),
        ),
      ),
      bars(
        rows.slice(0, ROWS).map(row => ({ ...row, text: signed(row.value) })),
        { most, sans: true },
      ),
    ),
    ...(data.changed
      ? [
          note(
            _(
              'The bars keep the scale of the unmodified pass, so that a head that did not change keeps its bar; their sum can differ from the logit.',
            ),
          ),
        ]
      : []),
  );
}

/** Returns the heads of a block as a table of coloured cells: layers are rows. */
function grid(api, kind, heads, most) {
  const axis = text => make('span', { className: 'axis', textContent: text });
  return make(
    'div',
    { className: 'signed', style: { '--heads': kind.heads } },
    axis(''),
    ...Array.from({ length: kind.heads }, (_each, head) => axis(String(head + 1))),
    ...Array.from({ length: kind.layers }, (_each, layer) => [
      axis(String(layer + 1)),
      ...heads.filter(each => each.layer === layer).map(each => cell(api, kind, each, most)),
    ]).flat(),
  );
}

function cell(api, kind, { layer, head, value }, most) {
  const part = Math.sqrt(Math.abs(value) / most);
  const name = `${shortHead(layer, head)} ${signed(value)}`;
  return make('button', {
    type: 'button',
    className: value < 0 ? 'against' : '',
    textContent: Math.abs(value) >= LEAST ? signed(value, 1) : '',
    onclick: () => api.select(layer, head, 'head', kind.kind),
    style: { '--part': `${Math.round(90 * part)}%` },
    attributes: { 'aria-label': name, title: name, ...(part > 0.75 ? { 'data-strong': '' } : {}) },
  });
}

export const who = defineTool('who', draw);
