// The tokens of a text; a token is faded by the fraction of its weight that selective attention masks.

import { _ } from '../core/texts.js';
import { make, setText, tokenElement } from '../widgets/dom.js';

const FADES = 0.3; // reduction of opacity for a fully masked token, which stays legible
const GONE = 0.5; // a token is struck through if more than this fraction of its weight is masked

/**
 * Creates {element, show(tokens), draw(t, pointed, gone)}; calls `onPoint(j)` with the token under the pointer, or
 * null.
 */
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
    /** Draws the strip after query t; gone(j) is the fraction of token j's weight that is masked for the next query. */
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
