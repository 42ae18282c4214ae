// And in longer texts? The loss on held-out texts by their length.

import { _ } from '../../core/texts.js';
import { curveKey, lines } from './charts.js';
import { heading, note } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, { tool }) {
  const xs = [...new Set(tool.curves.flatMap(({ points }) => points.map(([n]) => n)))].sort((a, b) => a - b);
  const step = Math.ceil(xs.length / 8);
  const isLoss = tool.quantity === 'loss';
  const marks =
    isLoss && tool.loss !== null && tool.now >= xs[0] ? [{ x: tool.now, y: tool.loss, label: _('this text') }] : [];
  place.append(
    heading(
      _('And in longer texts?'),
      isLoss
        ? _('loss on held-out texts, nats; trained on {n} tokens', { n: tool.trained })
        : _('share of right answers; trained on {n} tokens', { n: tool.trained }),
    ),
    ...(tool.curves.length > 1 ? [curveKey(tool.curves)] : []),
    lines(tool.curves, {
      label: _('Loss by the length of the text'),
      xName: _('tokens'),
      log: true,
      xTicks: xs.filter((_each, i) => i % step === 0),
      cursor: { at: tool.trained },
      marks,
    }),
    note(_('The vertical line is the length of the training texts.')),
  );
}

export const length = defineTool('length', draw);
