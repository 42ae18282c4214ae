// The text as flowing words: the word under the pointer is framed, the words that it attends to are tinted.

import { contrastColour, cssColour, emptyStep, fadedStep } from '../core/attention/scales.js';
import {
  flowsLeftward,
  isSpecialToken,
  labelsWithRoom,
  narrowTokens,
  nextWord,
  wordGaps,
} from '../core/attention/words.js';
import { tokenText, truncate } from '../core/format.js';
import { textWidth } from '../core/picture/svg.js';
import { _ } from '../core/texts.js';
import { isWideToken, joinTokens, make, setAttribute, setText, tokenElement } from '../widgets/dom.js';

const LONG = 48; // number of tokens above which the words are smaller
const LONGER = 96; // number of tokens above which the words are smallest
const PLAIN = { marked: new Set(), notes: new Map(), sink: false }; // a row without special words
const SMALL = 12; // font size of the labels in px, as in words.css
const SCROLLS = 160; // number of tokens above which the list scrolls

/**
 * Creates {element, show(rows, titles, start, about), paint(content), at(), point(index)}. Words are numbered
 * consecutively over all rows: queries, then keys if these are other tokens. Calls `onPoint(index)` when another word
 * becomes the current word.
 */
export function createWordList(onPoint) {
  const element = make('div', {
    className: 'words',
    attributes: { role: 'listbox', 'aria-label': _('Words: choose one to see what it attends to') },
  });
  let spans = []; // one {span, number (the label's element), step} per word
  let [pointed, chosen, rest] = [null, null, 0];
  let framed = null;
  let measured = null; // positions of the words; null after new words or a new width, because measuring forces a layout
  let labels = new Map(); // of the last painting

  const at = () => pointed ?? chosen ?? rest;
  const change = (nextPointed, nextChosen) => {
    const before = at();
    [pointed, chosen] = [nextPointed, nextChosen];
    if (at() !== before) onPoint(at());
  };
  const under = event => {
    const index = spans.findIndex(({ span }) => span === event.target.closest('.word'));
    return index < 0 ? null : index;
  };
  const boxes = () =>
    spans.map(({ span, leftward }) => ({
      x: span.offsetLeft + span.offsetWidth / 2,
      y: span.offsetTop,
      leftward,
    }));
  const showLabels = () => {
    measured ??= labels.size > 1 ? boxes() : null;
    const visible = measured ? labelsWithRoom(labels, measured, label => textWidth(label, SMALL)) : labels;
    spans.forEach(({ number }, index) => setText(number, visible.get(index) ?? ''));
  };
  const observer = new ResizeObserver(() => {
    measured = null;
    showLabels();
  });
  observer.observe(element);

  element.addEventListener('pointerover', event => {
    const index = under(event); // gaps between words have no index; the current word then stays
    if (index !== null && event.pointerType === 'mouse') change(index, chosen);
  });
  element.addEventListener('pointerleave', event => {
    if (event.pointerType === 'mouse') change(null, chosen);
  });
  element.addEventListener('click', event => {
    const index = under(event);
    if (index === null) return;
    spans[index].span.focus({ preventScroll: true });
    change(pointed, index);
  });
  element.addEventListener('keydown', event => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const index = under(event);
    const next = index === null ? undefined : nextWord(boxes(), index, event.key);
    if (next === undefined) return;
    // if no word is chosen, the page handles Escape, which ends large type
    if (next === null && chosen === null) return;
    event.preventDefault();
    change(null, next);
    spans[at()].span.focus({ preventScroll: next === null });
  });

  const wordOf = (token, spaced, mark, narrow, note) => {
    const number = make('small', { dir: 'ltr', attributes: { 'aria-hidden': true } });
    const name = tokenText(token);
    const span = make(
      'span',
      {
        className: Object.entries({ word: true, spaced, mark, narrow, wide: isWideToken(token) })
          .flatMap(([each, on]) => (on ? [each] : []))
          .join(' '),
        tabIndex: -1,
        title: note,
        attributes: {
          role: 'option',
          'aria-selected': false,
          'aria-label': [truncate(name, 40), note].filter(Boolean).join(', '),
        },
      },
      tokenElement(token),
      number,
    );
    return { span, number, step: null };
  };

  const flow = (tokens, title, { marked, notes, sink }) => {
    const own = sink ? tokens.slice(0, -1) : tokens;
    const [gaps, narrow, leftward] = [wordGaps(own), narrowTokens(own), flowsLeftward(own)];
    const words = tokens.map((token, i) => {
      const isSink = i === own.length;
      const mark = isSink || marked.has(i) || isSpecialToken(own, i);
      const spaced = gaps[i + 1] || (sink && i === own.length - 1);
      const note = isSink ? _('Attention sink: the part of the row that goes to no word') : (notes.get(i) ?? '');
      return { ...wordOf(token, spaced, mark, narrow[i], note), leftward };
    });
    spans.push(...words);
    const line = make('div', { className: 'flow', dir: leftward ? 'rtl' : 'ltr' });
    const parts = words.map(({ span }) => span);
    const breaks = new Set(parts.filter((_, i) => tokens[i] === '\n'));
    for (const part of joinTokens(tokens, parts))
      line.append(part, ...(breaks.has(part) ? [make('span', { className: 'break' })] : []));
    if (!title) return [line];
    setAttribute(line, 'role', 'group');
    setAttribute(line, 'aria-label', title);
    return [make('div', { className: 'whose', textContent: title, attributes: { 'aria-hidden': true } }), line];
  };

  return {
    element,
    at,
    point: index => change(null, index),
    /**
     * Shows one row of tokens, or two rows with `titles`. `start` is the current word while the pointer is on no word.
     * `about` describes the words of the first row: `marked`, the positions of a template's tokens; `notes`, position
     * -> tip; `sink`, whether the last word is the attention sink.
     */
    show(rows, titles, start, about) {
      const key = JSON.stringify([rows, [...about.marked], [...about.notes], about.sink]);
      const same = element.dataset.tokens === key;
      rest = start;
      if (same) return;
      element.dataset.tokens = key;
      const count = rows.flat().length;
      const focused = spans.findIndex(({ span }) => span === span.getRootNode().activeElement);
      [spans, framed, pointed, measured] = [[], null, null, null];
      chosen = chosen === null || chosen >= count ? null : chosen;
      const title = i => (rows.length > 1 ? titles[i] : '');
      element.replaceChildren(...rows.flatMap((tokens, i) => flow(tokens, title(i), i ? PLAIN : about)));
      element.classList.toggle('long', count > LONG);
      element.classList.toggle('longer', count > LONGER);
      element.classList.toggle('scrolls', count > SCROLLS);
      if (focused >= 0) spans[Math.min(focused, count - 1)].span.focus({ preventScroll: true });
    },
    /**
     * @param {{dark: boolean, scale: string, steps: Map<number, number>, numbers: Map<number, string>,
     *   opacity: number, unseen: (index: number) => boolean}} shown values by the index of the word; a word without a
     *   step has no tint
     */
    paint({ dark, scale, steps, numbers, opacity, unseen }) {
      const now = at();
      spans.forEach((word, index) => {
        const step = fadedStep(steps.get(index) ?? 0, opacity, scale);
        const key = `${dark} ${scale} ${step}`;
        if (word.key !== key) {
          word.key = key;
          // A word whose step has the page's background colour stays transparent.
          const bare = step === emptyStep(scale) || !steps.has(index);
          word.span.style.setProperty('--tint', bare ? '' : cssColour(dark, scale, step / 255));
          word.span.style.color = bare ? '' : contrastColour(dark, scale, step / 255);
        }
        word.span.classList.toggle('unseen', unseen(index));
      });
      if (framed !== now) {
        for (const index of [framed, now]) {
          const span = spans[index]?.span;
          if (!span) continue;
          setAttribute(span, 'aria-selected', index === now);
          span.classList.toggle('now', index === now);
          span.tabIndex = index === now ? 0 : -1;
        }
        framed = now;
      }
      labels = numbers;
      showLabels();
    },
  };
}
