// The words of the text: tinted by the attention of the looking word, with the largest weights as numbers.

import { contrastColour, cssColour } from '../core/attention/scales.js';
import { flowsLeftward, isSpecialToken, joinsPrevious, nextWord, wordGaps } from '../core/attention/words.js';
import { tokenText } from '../core/format.js';
import { LONG, SMALLEST, WORD_SIZE, wordSize } from '../core/stage/drawing.js';
import { formatShare } from '../core/stage/sentences.js';
import { hiddenWords, numberedWords, SHOWN } from '../core/stage/weights.js';
import { _ } from '../core/texts.js';
import {
  joinElements,
  make,
  measureFrom,
  setAttribute,
  setText,
  tokenElement,
  updateChildren,
} from '../widgets/dom.js';

const isSlot = token => token.trim() === '[MASK]';

const PADDING = 4; // px left and right of a word, as in lab.css
const UNUSED = 0.05; // smallest weight of a pruned head whose word gets a dashed box

/** Creates the words of one row of tokens; with `isMemory`, the encoder's output. `tail` follows the last word. */
export function createWords(state, row, { tail = [], isMemory = false } = {}) {
  const element = make('div', {
    className: isMemory ? 'words memory serif' : 'words serif',
    translate: false,
    role: 'group',
    'aria-label': isMemory ? _('The memory') : row === 'text' ? _('The text') : _('The written text'),
  });
  const strip = createStrip(state, row);
  let words = []; // {token, button, share}
  let built = '';
  let isSplit = false;
  let isWrapped = false;
  let gaps = []; // whether a gap precedes each token
  let patches = null; // {columns, before} of a picture, whose patches are the words

  const build = tokens => {
    const old = patches ? [] : words; // a letter changes few words: the others keep their elements
    words = tokens.map((token, index) => {
      if (old[index]?.token === token) return old[index];
      const share = make('span.weight.muted');
      const button = make('button.word', { dataset: { index } }, tokenElement(token), share);
      return { token, button, share };
    });
    const special = tokens.map((_token, index) => isSpecialToken(tokens, index));
    gaps = wordGaps(tokens);
    words.forEach(({ button }, index) => {
      button.classList.toggle('special', special[index]);
      button.classList.toggle('slot', isSlot(tokens[index]));
      button.classList.toggle('glue', index > 0 && !gaps[index]);
      button.classList.toggle('goes-on', index + 1 < tokens.length && !gaps[index + 1]);
    });
    setAttribute(element, 'dir', flowsLeftward(tokens) ? 'rtl' : 'ltr');
    arrange(tokens);
    if (patches) showPatches(element, words, state.data);
  };
  const arrange = tokens => {
    const buttons = words.map(({ button }) => button);
    // in one line the pieces of a word stand together; in several, only no line begins with a full stop
    const stays = isWrapped ? joinsPrevious(tokens) : gaps.map((gap, index) => index > 0 && !gap);
    updateChildren(element, patches ? buttons : [...joinElements(stays, buttons), ...(isWrapped ? tail : [])]);
    if (!isWrapped) element.after(...tail);
  };
  const wrap = (wraps, tokens) => {
    if (wraps) element.style.fontSize = element.style.marginInlineEnd = '';
    if (wraps === isWrapped) return;
    isWrapped = wraps;
    element.classList.toggle('wrapped', wraps);
    arrange(tokens);
  };
  const indexOf = event => Number(event.target.closest?.('.word')?.dataset.index ?? -1);
  element.addEventListener('click', event => {
    if (indexOf(event) >= 0) state.look(row, indexOf(event));
  });
  element.addEventListener('pointerover', event => {
    if (event.pointerType === 'mouse')
      state.preview({ word: indexOf(event) < 0 ? null : { row, index: indexOf(event) } });
  });
  element.addEventListener('pointerleave', () => state.preview({ word: null }));
  element.addEventListener('keydown', event => {
    const at = indexOf(event);
    if (at < 0) return;
    const boxes = words.map(({ button }) => {
      const { left, top, width } = button.getBoundingClientRect();
      return { x: left + width / 2, y: Math.round(top), leftward: element.dir === 'rtl' };
    });
    const next = nextWord(boxes, at, event.key);
    if (next === undefined || next === null) return;
    event.preventDefault();
    event.stopPropagation();
    words[next].button.focus();
    state.look(row, next);
  });

  return {
    element,
    strip: strip.element,
    row,
    get words() {
      return words;
    },
    get wraps() {
      return isSplit;
    },
    /** Creates the words again if the tokens changed; returns whether they did. */
    build({ tokens, picture, arrays }) {
      const key = JSON.stringify([tokens[row], arrays.picture && Array.from(arrays.picture.data.slice(-END))]);
      if (key === built) return false;
      patches = picture ?? null;
      built = key;
      build(tokens[row]);
      return true;
    },
    /** Chooses the type size with which the words fit into one line, or lets them wrap. */
    fit({ tokens, large, lesson }, { mustWrap, isEnd: isLast }) {
      const count = tokens[row].length;
      const isEnd = isLast && element.dir === 'ltr'; // a text from right to left ends at the left
      let wraps = mustWrap || count >= LONG || Boolean(patches);
      if (!wraps) {
        wrap(false, tokens[row]);
        element.style.fontSize = `${WORD_SIZE}px`;
        element.style.marginInlineEnd = '';
        const style = getComputedStyle(element);
        const boxOf = measureFrom(element);
        const widths = words.map(({ button }) => boxOf(button).width);
        const trunk = Number.parseFloat(style.getPropertyValue('--trunk')) || 0;
        const last = widths.at(-1) / 2;
        const room = element.clientWidth + (isEnd ? trunk / 2 + last : 0);
        const fixed = count * (2 * PADDING + 1); // px that do not become smaller with the type
        const natural = widths.reduce((sum, width) => sum + width - 2 * PADDING, 0);
        const fitted = wordSize(count, natural, room - fixed, large && !lesson ? WORD_SIZE : SMALLEST);
        wraps = fitted.wraps;
        if (!wraps) {
          element.style.fontSize = `${fitted.size}px`;
          const half = ((last - PADDING) * fitted.size) / WORD_SIZE + PADDING;
          element.parentElement.style.setProperty('--half', `${half}px`);
          if (isEnd) element.style.marginInlineEnd = `${-(trunk / 2 + half)}px`;
        }
      }
      wrap(wraps, tokens[row]);
    },
    /** Measures whether the words, and not only the guess, stand in several lines. */
    split() {
      const topOf = each => each?.button.getBoundingClientRect().top;
      isSplit = isWrapped && topOf(words.at(-1)) > topOf(words[0]) + 9;
      return isSplit;
    },
    show(data, shown) {
      const isKeys =
        shown.keys === row && (shown.queries !== row) === (isMemory || (shown.queries !== row && !data.tokens.target));
      const weights = isKeys ? shown.row : null;
      const numbered = weights && shown.used ? numberedWords(weights) : [];
      const hidden =
        state.overlay.mask && isKeys && data.arrays.mask
          ? hiddenWords(data.arrays.mask, shown.selection.layer, words.length)
          : [];
      const isCrowded = index => // the number of a short word would touch the larger one beside it
        data.tokens[row][index].trim().length < 3 &&
        [index - 1, index + 1].some(near => numbered.includes(near) && weights[near] > weights[index]);
      words.forEach(({ button, share }, index) => {
        const weight = weights?.[index] ?? 0;
        const tinted = weight >= SHOWN && shown.used && !hidden.length;
        const part = Math.sqrt(weight);
        const tint = tinted ? cssColour(state.dark, 'attention', part) : '';
        if (button.classList.contains('patch'))
          button.style.setProperty('--tint', tint ? `color-mix(in srgb, ${tint} 70%, transparent)` : 'transparent');
        else button.style.background = tint;
        button.style.color = tinted ? contrastColour(state.dark, 'attention', part) : '';
        const looks = !isMemory && shown.queries === row && index === shown.query;
        button.classList.toggle('looks', looks);
        button.classList.toggle('most', index === numbered[0]);
        button.classList.toggle('unused', Boolean(weights) && !shown.used && weight > UNUSED);
        button.classList.toggle('forgotten', hidden.includes(index));
        button.classList.toggle('later', shown.atRow === row && row === 'target' && index > shown.at);
        setText(share, numbered.includes(index) && !hidden.length && !isCrowded(index) ? formatShare(weight) : '');
        setAttribute(button, 'aria-pressed', looks);
        button.tabIndex = (shown.queries === row ? looks : index === 0) ? 0 : -1;
        if (tinted) setAttribute(button, 'aria-label', `${tokenText(data.tokens[row][index])} ${formatShare(weight)}`);
        else button.removeAttribute('aria-label');
      });
      strip.element.hidden = !isWrapped || !isKeys || words.length < 2;
      if (!strip.element.hidden) strip.show(data, shown, weights);
    },
  };
}

const END = 24; // bytes at the end of a PNG file, with the checksum of its pixels

/** Shows the patches of a picture in place of their names. */
function showPatches(element, words, { picture: { columns, before }, arrays }) {
  const url = URL.createObjectURL(new Blob([arrays.picture.data], { type: 'image/png' }));
  element.classList.add('patches');
  element.style.setProperty('--columns', columns);
  element.style.setProperty('--picture', `url(${url})`);
  const rows = Math.ceil((words.length - before) / columns);
  words.slice(before).forEach(({ button }, index) => {
    const [x, y] = [index % columns, Math.floor(index / columns)];
    const place = `${(100 * x) / Math.max(1, columns - 1)}% ${(100 * y) / Math.max(1, rows - 1)}%`;
    button.classList.add('patch');
    button.style.backgroundPosition = place;
    button.style.backgroundSize = `${100 * columns}% ${100 * rows}%`;
  });
}

const STRIP = 24; // px

/** Creates a strip with one column per token, which shows all weights of long texts and moves the looking word. */
function createStrip(state, row) {
  const canvas = make('canvas', { height: 1 });
  const mark = make('i.mark');
  const name = make('span');
  const bar = make('div.bar', { style: { height: `${STRIP}px` } }, canvas, mark);
  const element = make('div.strip.fine', { hidden: true }, name, bar);
  let count = 1;
  const move = event => {
    const { left, width } = bar.getBoundingClientRect();
    const index = Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - left) / width) * count)));
    state.look(row, index, true);
  };
  bar.addEventListener('pointerdown', event => {
    bar.setPointerCapture(event.pointerId);
    move(event);
  });
  bar.addEventListener('pointermove', event => {
    if (event.buttons && bar.hasPointerCapture(event.pointerId)) move(event);
  });
  return {
    element,
    show(data, shown, weights) {
      count = data.tokens[row].length;
      setText(name, _('all {n} tokens', { n: count }));
      if (canvas.width !== count) canvas.width = count;
      const context = canvas.getContext('2d');
      context.clearRect(0, 0, count, 1);
      for (let j = 0; weights && j < count; j += 1) {
        context.fillStyle = cssColour(state.dark, shown.used ? 'attention' : 'unused', Math.sqrt(weights[j]));
        context.fillRect(j, 0, 1, 1);
      }
      mark.style.insetInlineStart = `${(100 * shown.query) / count}%`;
      mark.style.width = `${100 / count}%`;
    },
  };
}
