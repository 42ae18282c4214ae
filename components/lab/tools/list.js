// What else was likely? The most probable tokens, now and before the change.

import { formatShare } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { bars, heading, note, table, wordElement } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, { data }) {
  const rows = [...(data.answer?.rows ?? [])].sort((one, other) => other.after - one.after);
  if (!rows.length) return place.append(note(_('This text has no prediction.')));
  place.append(heading(_('What else was likely?'), data.changed ? _('black line: before') : ''));
  if (!data.changed)
    return place.append(
      bars(
        rows.map(({ label, after }) => ({ name: wordElement(label), value: after, text: formatShare(after) })),
        { most: 1, first: true },
      ),
    );
  return place.append(
    table(
      [_('word'), _('before'), _('now'), _('change'), _('rank')],
      rows.map(({ label, before, after, ranks }) => [
        wordElement(label),
        formatShare(before),
        formatShare(after),
        `${after < before ? '−' : '+'}${formatShare(Math.abs(after - before))}`,
        ranks ? `${ranks[0]} → ${ranks[1]}` : '',
      ]),
      'of-words',
    ),
  );
}

export const list = defineTool('list', draw, true);
