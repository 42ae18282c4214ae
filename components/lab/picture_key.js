// The key of the picture's marks, in the column at the right while no guesses stand there.

import { _ } from '../core/texts.js';
import { make } from '../widgets/dom.js';
import { iconElement } from '../widgets/menu.js';

/** Creates {element, show(data, view)}. */
export function createPictureKey() {
  const entry = (path, textContent) => make('li.flex', iconElement(path), make('span', { textContent }));
  const constant = entry('M1 1h14v14H1zM4 4h8v8H4z', _('a constant head'));
  const pruned = entry('M1 1h14v14H1zM1 8 8 1M1 15 15 1M8 15 15 8', _('a pruned head: computed, not used'));
  const curve = entry('M2 15V12Q2 8 6 8H10Q14 8 14 4V1', _('the words it looks at; thicker is more'));
  const growing = entry('M8 15V1M4 8H8M5 4 8 1 11 4', _('each layer adds to the answer'));
  for (const { classList } of [curve, growing]) classList.add('in-one-line');
  const element = make('ol.picture-key.stack');
  element.append(
    constant,
    pruned,
    entry('M2 2h12v12H2zM3 6h3M3 9h6M3 12h9', _('a head: each row looks at dark columns')),
    entry('M1 4h14v8H1z', _('the word that looks')),
    curve,
    growing,
  );
  return {
    element,
    show({ guesses }, { heads, marks, selection }) {
      element.hidden = marks.guesses && Boolean(guesses?.layers);
      curve.hidden = selection.scope !== 'head';
      const has = test => Object.values(heads).flat(2).some(test);
      constant.hidden = !has(head => head.constant);
      pruned.hidden = !has(({ gate }) => gate === 0);
    },
  };
}
