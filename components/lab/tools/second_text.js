// The field of the second text, from which patched heads take their values.

import { _ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { button } from './parts.js';

/** Creates the field and the buttons of the pairs of examples. */
export function secondText(api) {
  const { source, pairs } = api.tool;
  const field = make('input', {
    type: 'text',
    value: source,
    placeholder: _('A second text with as many tokens'),
    attributes: { 'aria-label': _('Second text'), translate: 'no' },
  });
  const commit = () => field.value !== source && api.send({ type: 'source', text: field.value });
  field.addEventListener('change', commit);
  field.addEventListener('keydown', event => {
    if (event.key === 'Enter') commit();
  });
  return make(
    'div',
    { className: 'second-text' },
    field,
    ...(source
      ? []
      : pairs.map(([text, other]) =>
          button(`${text} → ${other}`, () => api.send({ type: 'pair', text, source: other })),
        )),
  );
}
