// Why there? The match q·k of the looking word with each word, and one match split into its sources.

import { formatNumber } from '../../core/format.js';
import { formatShare, shortHead } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { bars, choice, heading, note, sentence, signed, table, wordElement } from './parts.js';
import { defineTool } from './registry.js';

const ROWS = 5;

function draw(place, api) {
  const { tool } = api;
  const word = index => wordElement(api.keys[index] ?? '');
  const splits = tool.splits.map(({ key, label }) => [key, label]);
  const split = api.setting('split', tool.split);
  const link = index =>
    make('button', { type: 'button', className: 'pick', onclick: () => api.set('key', String(index)) }, word(index));
  const { rows, chosen } = tool;
  const masked = rows.some(({ masking }) => masking);
  place.append(
    heading(
      sentence(_('Why {word}?'), { word: word(chosen) }),
      sentence(_('the query of {word} and its key: {score}'), {
        word: wordElement(api.queries[tool.query] ?? ''),
        score: signed(tool.score),
      }),
      choice(_('Parts'), splits, split, value => api.set('split', value)),
    ),
    make(
      'div',
      { className: 'duo why' },
      table(
        [_('word'), _('match (q·k)'), ...(masked ? [_('forgotten (F)')] : []), _('attention')],
        rows
          .slice(0, ROWS)
          .map(({ index, score, masking, weight }) => [
            link(index),
            formatNumber(score, 2),
            ...(masked ? [formatNumber(masking, 2)] : []),
            make('strong', { textContent: formatShare(weight) }),
          ]),
        'of-words',
      ),
      bars(
        tool.bars.slice(0, ROWS + 1).map(({ label, head, value }) => ({
          name: head ? shortHead(head[1], head[2]) : label,
          value,
          text: signed(value),
          ...(head ? { act: () => api.select(head[1], head[2], 'head', head[0]) } : {}),
        })),
        { most: Math.max(...tool.bars.map(({ value }) => Math.abs(value)), 1e-9), sans: true },
      ),
    ),
    note(tool.about),
  );
}

export const why = defineTool('why', draw);
