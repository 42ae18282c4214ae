// Where do its heads look? The mean pattern of a layer's heads, or of all heads of a block.

import { SCOPES } from '../../core/stage/tools.js';
import { selectedRow, weightOf } from '../../core/stage/weights.js';
import { _ } from '../../core/texts.js';
import { patternOf } from './looks.js';
import { headBytes, mapBytes } from './matrix.js';
import { heading, sentence, wordElement } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, api) {
  const { data, now, tool, kind, thing } = api;
  const selection = { ...now.selection, scope: SCOPES[thing] };
  const layers = thing === 'layer' ? [selection.layer] : Array.from({ length: kind.layers }, (_each, l) => l);
  const heads = layers.flatMap(l => now.heads[kind.kind][l].map(({ gate }, head) => ({ l, head, gate })));
  const off = heads.every(({ gate }) => gate === 0);
  const map =
    tool && data.selection.kind === kind.kind && (thing === 'all' || data.selection.layer === selection.layer)
      ? data.arrays['map.mean']
      : null;
  const exact = selectedRow(data, now.heads[kind.kind], selection, now.look).row; // the words have the same numbers
  const byte = map ? mapBytes(map, api.queries.length, api.keys.length) : meanBytes(data, kind, heads);
  place.append(
    heading(
      sentence(off ? _('Live, {word} would look at') : _('{word} looks at'), {
        word: wordElement(api.queries[now.look] ?? ''),
      }),
      _('mean of {n} heads', { n: heads.filter(({ gate }) => off || gate > 0).length }),
    ),
    ...(byte ? [patternOf(api, byte, off, exact)] : []),
  );
}

/** Returns the mean of heads, by their gates, from their tiles as bytes; null if the tiles are not whole maps. */
export function meanBytes(data, kind, heads) {
  const bytes = heads.map(({ l, head }) => headBytes(data, kind, l, head));
  if (bytes.includes(null)) return null;
  const total = heads.reduce((sum, { gate }) => sum + gate, 0);
  return (i, j) => {
    if (bytes[0](i, j) === undefined) return undefined;
    const shareOf = ({ gate }) => (total ? gate / total : 1 / heads.length);
    const mean = heads.reduce((sum, head, h) => sum + weightOf(bytes[h](i, j)) * shareOf(head), 0);
    return Math.round(255 * Math.sqrt(mean));
  };
}

export const mean = defineTool('mean', draw, true);
