// Who looks at it? The heads with the largest mean weight on the selected word.

import { formatShare, shortHead } from '../../core/stage/sentences.js';
import { lookersAt } from '../../core/stage/tools.js';
import { _ } from '../../core/texts.js';
import { bars, heading, note, sentence, wordElement } from './parts.js';
import { defineTool } from './registry.js';

const ROWS = 6;

function draw(place, api) {
  const { data, now, kind, tool } = api;
  const position = Math.min(now.look, api.keys.length - 1);
  const word = wordElement(api.keys[position] ?? '');
  const found = kind.exact ? lookersAt(data, kind.kind, position) : foundBy(tool, position);
  place.append(
    heading(
      sentence(_('Who looks at {word}?'), { word }),
      kind.causal ? _('mean attention from later words') : _('mean attention from the other words'),
    ),
  );
  if (!found?.length)
    return place.append(note(found ? _('Nothing looks at it. Press another word.') : _('Press another word.')));
  return place.append(
    bars(
      found
        .slice(0, ROWS)
        .map(({ layer, head, value }) => ({
          name: shortHead(layer, head),
          value,
          text: formatShare(value),
          act: () => api.select(layer, head),
        })),
      { most: Math.max(0.2, found[0].value), sans: true },
    ),
  );
}

/** Returns the heads of Python's payload, for a text whose whole maps the browser does not have. */
const foundBy = (tool, position) => (tool?.position === position ? tool.heads : null);

export const wholooks = defineTool('wholooks', draw, true);
