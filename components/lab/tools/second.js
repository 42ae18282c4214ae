// And another model? The related models, side by side with this one on the page Compare.

import { linkQuery } from '../../core/query.js';
import { _ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { heading, note } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, { tool }) {
  const link = name => {
    const query = new URLSearchParams(location.search);
    query.set('page', 'compare');
    query.set('with', name);
    return `?${linkQuery(query)}`;
  };
  place.append(
    heading(_('And another model?'), _('the same text and the same changes, side by side')),
    make(
      'div',
      { className: 'texts' },
      ...tool.models.map(({ name, title, note: about }) =>
        make(
          'a',
          { href: link(name), className: 'model' },
          make('span', { textContent: title }),
          make('small', { textContent: about }),
        ),
      ),
    ),
    note(_('Each model was trained once here, so part of a difference is chance.')),
  );
}

export const second = defineTool('second', draw);
