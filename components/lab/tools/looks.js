// Where does it look? The pattern of the selected head as matrix and bars: used, computed or constant.

import { formatShare } from '../../core/stage/sentences.js';
import { entropy, largest } from '../../core/stage/tools.js';
import { belowOne, weightOf } from '../../core/stage/weights.js';
import { _, N_ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { headBytes, mapBytes, matrix } from './matrix.js';
import { bars, choice, heading, note, sentence, wordElement } from './parts.js';
import { defineTool } from './registry.js';

const VIEWS = { used: N_('Used'), computed: N_('Computed'), constant: N_('Its constant pattern') };
const ROWS = 5;

function draw(place, api) {
  const { data, now, tool, kind } = api;
  const { layer, head } = now.selection;
  const view = api.setting('view', tool?.view ?? 'used');
  const state = now.heads[kind.kind][layer][head];
  const isHere = data.selection.kind === kind.kind && data.selection.layer === layer && data.selection.head === head;
  const map = isHere && tool?.view === view ? data.arrays[`map.${view}`] : null;
  const isSame = (kind.most ?? 1) === 1 && (view === 'used' || (view === 'computed' && !state.constant));
  // until the whole map arrives, the tile is shown, if it is a whole map
  const byte = map
    ? mapBytes(map, api.queries.length, api.keys.length)
    : isSame
      ? headBytes(data, kind, layer, head)
      : null;
  const views = tool?.views ?? ['used', 'computed'];
  const off = view === 'used' && state.gate === 0;
  const names = off && !state.constant ? { used: VIEWS.computed, constant: VIEWS.constant } : VIEWS; // none is used
  place.append(
    heading(
      [
        ...sentence(off ? _('Live, {word} would look at') : _('{word} looks at'), {
          word: wordElement(api.queries[now.look] ?? ''),
        }),
        ...(off ? [' ', make('span.tag.fine', { textContent: _('computed, not used') })] : []),
      ],
      '',
      choice(
        _('Pattern'),
        views.filter(each => names[each]).map(each => [each, _(names[each])]),
        view,
        value => api.set('view', value),
      ),
    ),
    ...(tool?.message ? [note(tool.message)] : byte ? [patternOf(api, byte, off)] : []),
    ...(tool?.remarks ?? []).map(text => note(text)),
  );
}

/** Returns a pattern: its matrix, the row of the looking word (`exact`, or from bytes) as bars, and its entropy. */
export function patternOf(api, byte, off, exact = null) {
  const { now, kind, queries, keys } = api;
  const row = exact ?? belowOne(Float64Array.from(keys, (_key, j) => weightOf(byte(now.look, j) ?? 0)));
  const reach = kind.causal ? now.look + 1 : keys.length;
  const strongest = largest(row, ROWS).filter(({ value }) => value > 0);
  return make(
    'div.duo',
    matrix({
      rows: queries,
      columns: keys,
      byte,
      look: now.look,
      dark: api.dark,
      off,
      wide: api.wide,
      square: kind.queries === kind.keys,
      act: position => api.send({ type: 'look', position }),
    }),
    make(
      'div',
      bars(
        strongest.map(({ value, index }) => ({ name: wordElement(keys[index]), value, text: formatShare(value) })),
        { most: 1, off },
      ),
      note(
        _('Spread {entropy} of at most {most} nats (entropy).', {
          entropy: entropy(row).toFixed(2),
          most: Math.log(Math.max(1, reach)).toFixed(2),
        }),
      ),
    ),
  );
}

export const looks = defineTool('looks', draw, true);
