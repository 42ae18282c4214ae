// The bar of phones: the answer, and a button that prunes or restores the selected heads.

import { truncate } from '../core/format.js';
import { selectedStates } from '../core/head_state.js';
import { answers, formatShare, shortHead, wordText } from '../core/stage/sentences.js';
import { _ } from '../core/texts.js';
import { make, setText } from '../widgets/dom.js';

const LONGEST = 12; // characters of the answer
const LONGEST_TEXT = 20; // characters of a written text

/** Creates {element, show(data, view)}. */
export function createPhoneBar(state) {
  const word = make('bdi.serif.strong', { translate: false, dir: 'auto' });
  const share = make('small');
  const lead = make('span');
  const said = make('span.said.serif', lead, word, share);
  const show = make('button.button', { textContent: _('Show the answer'), onclick: () => state.guess(null) });
  const button = make('button.button.primary');
  button.onclick = () => {
    const pruned = isPruned(state.view);
    state.change(pruned ? { constant: false, gate: 1 } : { gate: 0 });
  };
  const element = make('div.phone-bar.flex.nowrap', said, show, button);
  return {
    element,
    show(data, view) {
      const found = answers(data.answer);
      said.hidden = !found && !data.hidden;
      show.hidden = !data.hidden;
      setText(lead, data.hidden ? '' : data.written ? _('It writes') : _('It answers'));
      if (data.hidden || data.written) {
        const text = data.written?.after ?? data.written?.before ?? '?';
        setText(word, truncate(text || '…', LONGEST_TEXT));
        setText(share, '');
      } else if (found) {
        const { label, before, after } = found.now;
        setText(word, truncate(wordText(label), LONGEST));
        const values = { now: formatShare(after), before: formatShare(before) };
        setText(share, data.changed ? _('{now}, was {before}', values) : values.now);
      }
      const { scope, layer, head, kind } = view.selection;
      const who =
        scope === 'all'
          ? _('all heads')
          : scope === 'row'
            ? _('layer {layer}', { layer: layer + 1 })
            : shortHead(layer, head, kind);
      setText(button, isPruned(view) ? _('Restore') : _('Prune {who}', { who }));
      button.classList.toggle('primary', !isPruned(view));
    },
  };
}

function isPruned(view) {
  const states = selectedStates(view);
  return states.length > 0 && states.every(({ gate }) => gate === 0);
}
