// The tokens of a text, and how much of each selective attention has left.

import { _ } from '../core/texts.js';
import { make, setText, tokenElement } from '../widgets/dom.js';

const FADES = 0.3; // of a token's opacity where nothing is left of it: it can still be read
const GONE = 0.5; // struck through once less than this part of the weight is left

/** {element, show(tokens), draw(t, pointed, gone)}; calls `onPoint(j)` of the token that is pointed at, or of null. */
export function createMaskingStrip({ onPoint, onKey }) {
  const element = make('div', {
    className: 'strip',
    tabIndex: 0,
    attributes: { role: 'group', 'aria-label': _('Tokens and the weight left to each') },
  });
  const under = event => Array.from(element.children).indexOf(event.target.closest('.strip > span'));
  element.addEventListener('pointerover', event => {
    if (under(event) >= 0) onPoint(under(event));
  });
  element.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') onPoint(null);
  });
  element.addEventListener('blur', () => onPoint(null));
  element.addEventListener('keydown', onKey);

  return {
    element,
    show: tokens =>
      element.replaceChildren(...tokens.map(token => make('span', {}, tokenElement(token), make('small')))),
    /** @param {(j: number) => number} gone the part of token j that is taken from the next query */
    draw(t, pointed, gone) {
      Array.from(element.children).forEach((span, j) => {
        const part = j <= t ? gone(j) : 0;
        const [token, left] = span.children;
        span.className = [j > t && 'later', j === t && 'now', part > GONE && 'gone', j === pointed && 'pointed']
          .filter(Boolean)
          .join(' ');
        token.style.opacity = 1 - FADES * part;
        setText(left, part > 0.005 ? `${part > 0.995 ? '<1' : Math.round(100 * (1 - part))}%` : '');
      });
      const { offsetTop, offsetHeight } = element.children[pointed ?? t];
      if (offsetTop < element.scrollTop || offsetTop + offsetHeight > element.scrollTop + element.clientHeight)
        element.scrollTop = offsetTop - element.clientHeight / 2;
    },
  };
}
