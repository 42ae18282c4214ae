// Bars of one query's weights, without and with the mask of selective attention.

import { patternRow } from '../core/attention/pattern.js';
import { isolateDirection, quoteToken, tokenText, truncate } from '../core/format.js';
import { _ } from '../core/texts.js';
import { canvasFont } from '../widgets/canvas.js';
import { make, setAttribute } from '../widgets/dom.js';

const FOOT = 19; // height in px of the tokens under the bars
const LABEL_GAP = 6; // smallest gap in px between two token labels

/**
 * Creates bars of the weights of query t, without and with the mask: {element, draw(tokens, scores, mask, t), stop()}.
 */
export function createMaskingBars() {
  const canvas = make('canvas', { className: 'bars', attributes: { role: 'img' } });
  const about = make('figcaption');
  let last = null;

  const draw = (tokens, scores, mask, t) => {
    last = [tokens, scores, mask, t];
    const n = tokens.length;
    const [plain, masked] = [patternRow(scores, null, n, t), patternRow(scores, mask, n, t)];
    const most = Math.max(...plain, ...masked);
    describe(tokens, plain, masked, most, t);
    const ratio = (globalThis.devicePixelRatio || 1) * (canvas.currentCSSZoom ?? 1);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const css = getComputedStyle(canvas);
    const colour = name => css.getPropertyValue(name);
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    const [base, slot] = [height - FOOT, Math.min(56, width / n)];
    const bar = Math.max(1, slot * 0.36);
    context.fillStyle = colour('--st-border-color');
    context.fillRect(0, base, width, 1);
    context.lineWidth = 1.5;
    context.strokeStyle = colour('--st-text-color');
    context.fillStyle = colour('--st-primary-color');
    plain.forEach((weight, j) => {
      const [before, after] = [weight, masked[j]].map(value => ((base - 3) * value) / most);
      if (before > 0.7)
        context.strokeRect(j * slot + slot * 0.08 + 0.75, base - before, Math.max(0.5, bar - 1.5), before);
      context.fillRect(j * slot + slot * 0.52, base - after, bar, after);
    });
    context.fillStyle = colour('--st-text-color');
    context.font = canvasFont(13);
    context.textAlign = 'center';
    const taken = []; // occupied intervals in px, as [from, to]; the largest weights get their labels first
    const size = j => plain[j] + masked[j];
    for (const j of Array.from(tokens.keys()).sort((a, b) => size(b) - size(a))) {
      const label = isolateDirection(truncate(tokenText(tokens[j]), 8));
      const half = context.measureText(label).width / 2;
      const middle = Math.min(Math.max((j + 0.5) * slot, half), width - half);
      const [from, to] = [middle - half - LABEL_GAP, middle + half + LABEL_GAP];
      if (taken.some(([left, right]) => from < right && left < to)) continue;
      context.globalAlpha = j <= t ? 1 : 0.4;
      context.fillText(label, middle, height - 4);
      taken.push([middle - half, middle + half]);
    }
  };

  const describe = (tokens, plain, masked, most, t) => {
    about.replaceChildren(
      _('Weights of query {query} {token}: ', { query: t + 1, token: quoteToken(tokens[t]) }),
      make('i', { className: 'without' }),
      _('without F'),
      make('i', { className: 'with' }),
      _('with F (highest {most})', { most: most.toFixed(2) }),
    );
    const largest = plain
      .map((weight, j) => ({
        sum: weight + masked[j],
        text: `${quoteToken(tokens[j])} ${weight.toFixed(2)}, ${masked[j].toFixed(2)}`,
      }))
      .sort((a, b) => b.sum - a.sum)
      .slice(0, 5);
    setAttribute(
      canvas,
      'aria-label',
      _('Largest weights, without and with F: {weights}', { weights: largest.map(entry => entry.text).join('; ') }),
    );
  };

  const observer = new ResizeObserver(() => last && draw(...last));
  observer.observe(canvas);
  return { element: make('figure', {}, about, canvas), draw, stop: () => observer.disconnect() };
}
