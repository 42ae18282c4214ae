// What if it were another word? The answer to a second text beside the answer to this one.

import { formatShare } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { bars, heading, note, wordElement } from './parts.js';
import { defineTool } from './registry.js';
import { secondText } from './second_text.js';

function draw(place, api) {
  const { tool } = api;
  place.append(
    heading(_('What if it were another?'), _('the answer to a second text; black line: to this one')),
    secondText(api),
  );
  if (tool.reason) return place.append(note(tool.reason));
  if (!tool.rows) return undefined;
  return place.append(
    bars(
      tool.rows.map(({ label, value, before }) => ({
        name: wordElement(label),
        value,
        before,
        text: formatShare(value),
      })),
      { most: 1, first: true },
    ),
  );
}

export const swapw = defineTool('swapw', draw);
