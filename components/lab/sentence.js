// Draws sentences of core/stage/sentences.js: their names become words of the text or controls.

import { sentencePieces } from '../core/stage/sentences.js';
import { make } from '../widgets/dom.js';

const TAGS = { answer: 'b', word: 'b', former: 's' };

/** Creates the element of a word of the model in a sentence: the answer, a word of the text, or a former answer. */
const wordElement = ({ text, look }) =>
  make(TAGS[look], { translate: false }, make('bdi', { textContent: text, translate: false, dir: 'auto' }));

/** Shows sentences in an element, if they changed; `controls` stand for slots, by name. */
export function showSentences(element, sentences, controls = {}) {
  const key = JSON.stringify(sentences);
  if (element.dataset.text === key) return;
  element.dataset.text = key;
  const nodes = sentences.flatMap((sentence, index) => [
    ...(index ? [' '] : []),
    ...sentencePieces(sentence).map(piece => {
      if (controls[piece.name]) return controls[piece.name];
      return piece.look ? wordElement(piece) : piece.text;
    }),
  ]);
  // a control that stays keeps the focus and its open menu
  const kept = Object.values(controls).some(control => control.matches(':focus-within'));
  if (kept && element.childNodes.length === nodes.length) {
    nodes.forEach((node, index) => {
      const old = element.childNodes[index];
      if (typeof node === 'string' && old.nodeType === Node.TEXT_NODE) old.nodeValue = node;
    });
    return;
  }
  element.replaceChildren(...nodes);
}
