// The output text of an encoder-decoder, unmodified and after the plan; differing words are marked.

import { diffWords, visibleText } from '../core/format.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make } from '../widgets/dom.js';

function create({ root }) {
  const [trained, planned] = ['trained', 'planned'].map(className =>
    make('p', { className, attributes: { role: 'status' } }),
  );
  root.append(trained, planned);
  return { trained, planned, numbers: planned };
}

function update({ trained, planned }, { before, after }) {
  const changed = after !== null;
  planned.dataset.room = before;
  const [old, now] = changed ? diffWords(before, after) : [[{ text: before, changed: false }], []];
  show(trained, _('Unmodified'), 'del', old);
  show(planned, changed ? _('With your changes') : '', 'ins', now);
}

/** Writes the text only if it changes, because screen readers announce each write to a live region. */
function show(line, name, tag, pieces) {
  const content = JSON.stringify([name, pieces]);
  if (line.dataset.content === content) return;
  line.dataset.content = content;
  line.replaceChildren(
    make('span', { className: 'name', textContent: name }),
    ' ',
    make(
      'bdi',
      {},
      ...pieces.map(({ text, changed }) =>
        changed ? make(tag, { textContent: visibleText(text) }) : visibleText(text),
      ),
    ),
  );
}

export const written = defineComponent({ create, update, parts: ['numbers'] });
