// How surprising was each word? The loss of each token, with the value before the change as a black line.

import { tokenText } from '../../core/format.js';
import { lossSummary } from '../../core/stage/tools.js';
import { _ } from '../../core/texts.js';
import { make, tokenElement } from '../../widgets/dom.js';
import { heading, note, sentence, signed, wordElement } from './parts.js';
import { defineTool } from './registry.js';

const HEIGHT = 88; // px of the highest bar
const LEAST = 2; // nats of a full bar at least, so that small losses stay small

function draw(place, api) {
  const { data, now, thing } = api;
  const { losses, losses_before: before } = data;
  const words = data.tokens.text;
  if (!losses?.some(value => value !== null)) return place.append(note(_('No loss is known for this text.')));
  const known = words
    .map((word, index) => ({ word, index, value: losses[index] }))
    .filter(({ value }) => value !== null);
  const most = Math.max(LEAST, ...known.flatMap(({ value, index }) => [value, before?.[index] ?? 0]));
  const height = value => `${(HEIGHT * value) / most}px`;
  const select = index => api.send({ type: 'look', position: index });
  const isDense = known.length > 40;
  place.append(
    heading(_('How surprising was each word?'), before ? _('loss in nats; black line: before') : _('loss in nats')),
    make(
      'div',
      {
        className: `losses flex${isDense ? ' dense' : ''}`,
        tabIndex: 0,
        role: 'group',
        'aria-label': _('Loss of each word'),
      },
      ...known.map(({ word, index, value }) =>
        make(
          'button',
          {
            tabIndex: -1,
            className: thing === 'word' && index === now.look ? 'stack chosen' : 'stack',
            onclick: () => select(index),
            'aria-label': `${tokenText(word)}: ${value.toFixed(2)}`,
            title: `${tokenText(word)} ${value.toFixed(2)}`,
          },
          ...(before ? [] : [make('span.value.muted', { textContent: value.toFixed(1) })]), // ticks would cross them
          make('i', { style: { height: height(value) } }),
          ...(before?.[index] === null || before?.[index] === undefined
            ? []
            : [make('u', { style: { bottom: `calc(20px + ${height(before[index])})` } })]),
          make('span.token.fill', { translate: false }, tokenElement(word)),
        ),
      ),
    ),
    note(...remark(words, losses, before)),
  );
}

function remark(words, losses, before) {
  const { mean, before: old, most } = lossSummary(losses, before);
  if (!before || !most.length) return [_('Mean {mean} nats.', { mean: mean.toFixed(2) })];
  const changes = most.flatMap(({ index, change }, i) => [
    i ? ', ' : '',
    wordElement(words[index]),
    ` ${signed(change)}`,
  ]);
  return sentence(_('Most changed: {changes}. Mean {before} → {after} nats.'), {
    changes: make('span', ...changes),
    before: old.toFixed(2),
    after: mean.toFixed(2),
  });
}

export const loss = defineTool('loss', draw, true);
