// How does the text go on? The continuation by the unmodified model, and by the changed one.

import { visibleText } from '../../core/format.js';
import { _ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { button, choice, heading, note } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, api) {
  const { tool } = api;
  const way = api.setting('way', tool.way);
  const line = (end, text, isNew) =>
    make(
      'p',
      { className: 'written', attributes: { translate: 'no' } },
      make('span', { textContent: `… ${end.trimStart()}` }),
      make('b', { className: isNew ? 'new' : '', textContent: visibleText(text) }),
      ' …',
    );
  place.append(
    heading(
      _('How does the text go on?'),
      way === 'drawn' ? _('drawn by chance, seed {seed}', { seed: tool.seed }) : _('the most likely word each time'),
      choice(
        _('Choice of words'),
        [
          ['likeliest', _('Most likely')],
          ['drawn', _('By chance')],
        ],
        way,
        value => api.set('way', value),
      ),
    ),
    line(tool.end, tool.before, tool.after === undefined),
    ...(tool.after === undefined ? [] : [note(_('With your changes')), line(tool.end, tool.after, true)]),
    ...(way === 'drawn' ? [button(_('Another seed'), () => api.set('seed', String((tool.seed % 9999) + 1)))] : []),
  );
}

export const cont = defineTool('cont', draw);
