// Guess after each layer? The most likely tokens of the logit lens after each layer, at the answer's position.

import { formatShare } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { heading, note, table, wordElement } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, { data, tool }) {
  const guess = ({ label, p }) =>
    make(
      'span',
      {},
      wordElement(label, label === tool.token ? 'word answer-word' : 'word'),
      ' ',
      make('span', { className: 'share', textContent: formatShare(p) }),
    );
  const before = tool.before ? [make('span', {}, _('before'))] : [];
  place.append(
    heading(_('What would it answer after each layer?'), _('logit lens; early layers are approximate')),
    table(
      [_('after'), _('first'), _('second'), _('third'), wordElement(tool.token), ...before],
      tool.layers.map((row, layer) => [
        layer ? _('layer {n}', { n: layer }) : _('the word itself'),
        ...row.map(guess),
        make('strong', { textContent: formatShare(tool.chance[layer]) }),
        ...(tool.before ? [formatShare(tool.before[layer])] : []),
      ]),
      'of-words',
    ),
    note(
      data.marks?.guesses
        ? _('The fifth column is the width of the line to the answer.')
        : _('The fifth column is the probability of the answer if the model stopped there.'),
    ),
  );
}

export const lens = defineTool('lens', draw);
