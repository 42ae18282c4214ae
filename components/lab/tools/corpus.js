// Does it matter elsewhere? All heads by two measures over a corpus, and example texts of the selected head.

import { formatShare, shortHead } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { make } from '../../widgets/dom.js';
import { layerSign, scatter } from './charts.js';
import { choice, heading, note, table, wordElement } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, api) {
  const { tool } = api;
  const hasMeasures = tool.measures.length > 1;
  const tabs = /** @type {[string, string][]} */ ([
    ...(hasMeasures ? [['all', _('All heads')]] : []),
    ...(tool.examples
      ? [
          ['texts', _('Texts')],
          ['tokens', _('Tokens')],
        ]
      : []),
  ]);
  const wanted = api.setting('tab', tool.tab);
  const tab = tabs.some(([key]) => key === wanted) ? wanted : tabs[0]?.[0];
  const small = {
    all: _('over {n} sentences', { n: tool.sentences }),
    texts: _('from its least to its most confident texts; press one to open it'),
    tokens: _('tokens with the largest share of its attention'),
  };
  place.append(
    heading(
      _('Does it matter elsewhere?'),
      small[tab] ?? '',
      ...(tabs.length > 1 ? [choice(_('View'), tabs, tab, value => api.set('tab', value))] : []),
    ),
  );
  if (tab === 'all') place.append(heads(api), note(rolesSentence(tool)));
  if (tab === 'texts') place.append(texts(api));
  if (tab === 'tokens') place.append(tokens(api));
}

function heads(api) {
  const { tool, data, kind, now } = api;
  const [across, up] = tool.measures;
  const values = name => data.arrays[`tool.${name}`].data;
  const all = Array.from(values(across.key), (x, index) => {
    const [layer, head] = [Math.floor(index / kind.heads), index % kind.heads];
    return { layer, head, x, y: values(up.key)[index], name: shortHead(layer, head) };
  });
  const signs = Array.from({ length: kind.layers }, (_each, layer) => `${layerSign(layer)} ${layer + 1}`).join('  ');
  return make(
    'div',
    {},
    make('p', { className: 'signs', textContent: _('layer {signs}', { signs }) }),
    scatter(all, {
      label: _('Heads by two measures'),
      xName: across.label,
      yName: up.label,
      selected: now.selection,
      act: (layer, head) => api.select(layer, head),
    }),
  );
}

function rolesSentence({ roles }) {
  if (!roles.length) return _('This head has none of the measured roles.');
  return _('Roles of this head: {roles}.', {
    roles: roles.map(({ role, share }) => `${role} ${formatShare(share)}`).join(', '),
  });
}

const texts = api =>
  make(
    'div',
    { className: 'texts' },
    ...api.tool.examples.confidence.map(({ value, text }) =>
      make(
        'button',
        { type: 'button', onclick: () => api.send({ type: 'text', text }) },
        make('b', { textContent: formatShare(value) }),
        make('span', { textContent: text, attributes: { translate: 'no' } }),
      ),
    ),
  );

const tokens = ({ tool }) =>
  table(
    [_('token'), _('share of its attention'), _('times uniform')],
    tool.examples.keys.map(({ label, share, times }) => [wordElement(label), formatShare(share), times.toFixed(1)]),
    'of-words',
  );

export const corpus = defineTool('corpus', draw);
