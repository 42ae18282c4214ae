// The answer: the most likely token, its probability, and the next likely tokens as bars.

import { tokenText, truncate } from '../core/format.js';
import { answerRows, answerSize, letters } from '../core/stage/drawing.js';
import { answers, formatShare, formerText, vectorShift, wordText } from '../core/stage/sentences.js';
import { _ } from '../core/texts.js';
import { make, setAttribute, setText } from '../widgets/dom.js';
import { createPictureKey } from './picture_key.js';

const MOST = 3; // rows of tokens
const SMALLEST = 0.005; // probability of all other tokens that has a bar
const LONGEST = 22; // characters of an answer
const LONG = 9; // small letters of a name that needs a wider column

function row() {
  const name = make('bdi.name.serif', { translate: false, dir: 'auto' });
  const fill = make('i');
  const tick = make('u');
  const share = make('span.share');
  const element = make('li', name, make('span.track', { 'aria-hidden': true }, fill, tick), share);
  const show = ({ label, before, after }, changed) => {
    const percent = formatShare(after);
    setText(name, wordText(label));
    setText(share, percent);
    fill.style.width = `${100 * after}%`;
    tick.hidden = !changed;
    tick.style.insetInlineStart = `${100 * before}%`;
    const spoken = { token: tokenText(label), after: percent, before: formatShare(before) };
    const said = changed ? _('{token}: {after}, was {before}', spoken) : _('{token}: {after}', spoken);
    setAttribute(element, 'aria-label', said);
  };
  return { element, show };
}

/** Creates {element, line, show(data, counts)}; `line` is the element with the answer, to which the picture's line leads. */
export function createAnswer(state) {
  const word = make('bdi.word.serif.nowrap', { translate: false, dir: 'auto' });
  const was = make('small');
  const share = make('span.big.strong.nowrap', was, make('span'));
  const line = make('div.line.flex', word, share);
  const rows = Array.from({ length: MOST }, row);
  const others = row();
  const list = make('ol.options', ...[...rows, others].map(({ element }) => element));
  const vector = make('p.vector');
  const reveal = make('button.button.small', { textContent: _('Show the answer'), onclick: () => state.guess(null) });
  const unknown = make('div.unknown.grid.muted', make('span.serif', { textContent: '?' }), reveal);
  const key = createPictureKey();
  const element = make('section.answer.stack', { 'aria-label': _("The model's answer") });
  element.append(line, list, vector, unknown, key.element);
  return {
    element,
    line,
    show(data, { wraps }) {
      key.show(data, state.view);
      const found = answers(data.answer);
      line.hidden = list.hidden = !found;
      const isVector = Boolean(data.answer?.vector);
      vector.hidden = !isVector;
      unknown.hidden = !data.hidden;
      element.hidden = !found && !isVector && !data.hidden;
      if (isVector) showVector(vector, data);
      if (!found) return;
      const text = truncate(wordText(found.now.label), LONGEST);
      const isNew = word.textContent && word.textContent !== text;
      if (word.textContent !== text) {
        setText(word, text);
        word.style.setProperty('--size', answerSize(text));
        word.classList.toggle('grow', Boolean(isNew) && !state.still);
      }
      setText(share.lastElementChild, formatShare(found.now.after));
      setText(was, data.changed ? formerText(found.now) : '');
      const count = wraps || state.view.marks.guesses ? 2 : MOST; // guesses stand below
      const shown = answerRows(data.answer.rows, count, data.changed);
      const isLong = shown.some(({ label }) => letters(wordText(label)) > LONG);
      list.classList.toggle('long', isLong);
      const restOf = when => 1 - shown.reduce((sum, each) => sum + each[when], 0);
      const rest = { label: _('others'), before: restOf('before'), after: restOf('after') };
      others.element.hidden = (wraps && state.view.marks.guesses) || Math.max(rest.before, rest.after) < SMALLEST;
      others.show(rest, data.changed);
      rows.forEach((each, index) => {
        each.element.hidden = !shown[index];
        if (shown[index]) each.show(shown[index], data.changed);
      });
    },
  };
}

function showVector(element, { answer, changed }) {
  setText(
    element,
    changed ? _('moved by {moved}', { moved: formatShare(vectorShift(answer)) }) : _('the vector of the text'),
  );
}
