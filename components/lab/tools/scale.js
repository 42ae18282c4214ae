// Sharper heads? The factor of all scores: as trained, or multiplied by the logarithm of the length.

import { _, N_ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { choice, heading, note } from './parts.js';
import { defineTool } from './registry.js';

const POLICIES = {
  trained: N_('As trained'),
  sqrt: N_('1/√d'),
  logn: N_('log n'),
  fixed: N_('n = trained length'),
  length: N_('n = length'),
};

function draw(place, api) {
  const { scale } = api.data;
  const { policies } = api.tool;
  const send = (policy, base) => api.send({ type: 'scale', policy, base });
  const base = make('input', {
    type: 'number',
    min: 2,
    max: 9999,
    value: scale.base,
    attributes: { 'aria-label': _('Base length') },
    onchange: event => send('logn', Math.max(2, Math.min(9999, Math.round(Number(event.target.value)) || scale.base))),
  });
  place.append(
    heading(_('Sharper heads?'), _('one change for all heads')),
    choice(
      _('Scale of all heads'),
      policies.map(policy => [policy, _(POLICIES[policy])]),
      scale.policy,
      policy => send(policy, scale.base),
    ),
    ...(scale.policy === 'logn'
      ? [make('label', { className: 'chooser' }, make('span', { textContent: _('base') }), base)]
      : []),
    note(
      _(
        'log n multiplies all scores by the logarithm of the number of tokens, relative to the base: attention gets sharper the longer the text is.',
      ),
    ),
    ...(scale.note ? [note(scale.note)] : []),
  );
}

export const sharper = defineTool('scale', draw);
