// How many heads can go? The loss by the number of remaining heads; the cursor prunes the heads of the shown order.

import { _ } from '../../core/texts.js';
import { curveKey, lines } from './charts.js';
import { heading, note } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, api) {
  const { tool } = api;
  const order = api.setting('order', tool.order);
  const prune = left => api.send({ type: 'prune', heads: tool.heads, left: Math.round(left) });
  place.append(
    heading(_('How many heads can go?'), _('loss on held-out texts, nats')),
    curveKey(tool.curves, order, key => api.set('order', key)),
    lines(tool.curves, {
      label: _('Loss by the number of remaining heads'),
      xName: _('heads left'),
      cursor: { at: tool.left, act: prune },
    }),
    note(
      _('Press the curve: that many heads stay, the others are pruned in this order. {n} of {count} stay now.', {
        n: tool.left,
        count: tool.heads.length,
      }),
    ),
  );
}

export const order = defineTool('order', draw);
