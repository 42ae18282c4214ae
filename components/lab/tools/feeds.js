// Which heads feed it? The change of the head's contribution if an earlier head is pruned alone.

import { shortHead } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { bars, heading, note, sentence, signed, wordElement } from './parts.js';
import { defineTool } from './registry.js';

const EDGES = 3; // largest number of changes that the picture shows as edges

function draw(place, api) {
  const { tool } = api;
  const [, layer, head] = tool.head;
  const word = wordElement(tool.token);
  place.append(
    heading(
      _('Which heads feed {head}?', { head: shortHead(layer, head) }),
      sentence(_('measured: what it adds to {word} if they are pruned'), { word }),
    ),
  );
  if (tool.first) return place.append(note(_('It is in the first layer: it reads the words themselves.')));
  if (!tool.changes.length) return place.append(note(_('None changes what it adds by more than 0.02 logits.')));
  api.overlay({ feeds: tool.changes.slice(0, EDGES) });
  return place.append(
    bars(
      tool.changes.map(({ kind, layer: l, head: h, value }) => ({
        name: _('without {head}', { head: shortHead(l, h) }),
        value,
        text: signed(value),
        act: () => api.select(l, h, 'head', kind),
      })),
      { most: Math.max(0.2, ...tool.changes.map(({ value }) => Math.abs(value))), sans: true },
    ),
    note(
      _('Of {own} logits, one pruning at a time. The dashed edges in the picture are the three largest.', {
        own: signed(tool.own),
      }),
    ),
  );
}

export const feeds = defineTool('feeds', draw);
