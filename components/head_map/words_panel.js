// The form Words of the large map: tinted words, the choice of heads, and the sentence about the tint.

import { accumulateMask, cellValues, gateOpacity, isDifference, seenKeys } from '../core/attention/pattern.js';
import { scaleName } from '../core/attention/scales.js';
import {
  fitsThumbnails,
  labelledNumbers,
  MEANS,
  maskedShares,
  meanPattern,
  rowShares,
  rowValues,
  wordSentence,
  wordStep,
} from '../core/attention/words.js';
import { _ } from '../core/texts.js';
import { gridsBeside } from '../heads/heads.js';
import { isTouch, make, setAttribute, setText } from '../widgets/dom.js';
import { rowReading, weightLegend } from './readout.js';
import { createWordList } from './word_list.js';

// ticks of the colour scale for the fraction that F masks
const TAKEN = [0, 0.25, 0.5, 0.75, 1].map(at => ({ at, label: `${100 * at}%` }));

/** Creates the panel: {element, show(), refresh()}. Call `show` for new data or choices, `refresh` for new grids. */
export function createWordsPanel(state, readout, legend) {
  const words = createWordList(() => paint());
  const scopes = scopeButtons(state);
  const element = make('div', { className: 'reading' }, scopes.element, words.element);
  let now = null; // {what, row(i) (numbers of query i), about, value}; null if there are no numbers

  const paint = () => {
    const { data, dark } = state;
    const { own } = data;
    const [n, index] = [data.rows.length, words.at()];
    // if the word is a key (second row) or the sink, the queries that attend to the key are tinted
    const isKey = index >= n;
    const key = own ? index : index - n;
    const row = !now ? [] : isKey ? data.rows.map((_, i) => now.row(i)[key]) : Array.from(now.row(index));
    const what = isKey && now?.what === 'share' ? 'seen' : now?.what;
    const first = own || isKey ? 0 : n; // position of the first tinted word
    const gate = state.mean === 'head' && state.view === 'used' ? data.gate : 1;
    const pruned = gate === 0;
    const tint = {
      scale: scaleName(what === 'change', what === 'taken' ? 'root' : state.shading),
      steps: new Map(pruned ? [] : row.map((value, j) => [first + j, wordStep(what, value)])),
      numbers: new Map(pruned ? [] : Array.from(labelledNumbers(what, row), ([j, number]) => [first + j, number])),
    };
    const opacity = gateOpacity(gate);
    panel.shown = { ...tint, opacity, rows: rowsOf(data), titles: titles(), at: index, first };
    panel.shown.values = row;
    words.paint({
      ...tint,
      dark,
      opacity,
      unseen: place => own && index < n && place < n && data.causal && place > index,
    });
    if (!now) return readout.say(_('All of these heads are pruned: their output is 0.'), '');
    const [word, others] = isKey ? [data.columns[key], data.rows] : [data.rows[index], data.columns];
    const self = own ? index : null;
    panel.shown.sentence = wordSentence({
      what,
      word,
      words: others,
      row,
      self,
      about: now.about,
      pruned,
      view: state.view,
    });
    readout.say(panel.shown.sentence, pruned ? '' : secondLine(state, now, isKey ? null : index));
  };

  const panel = {
    element,
    shown: null, // the painted content, for the download
    show() {
      const { data, dark, view } = state;
      now = tinted(state);
      scopes.show(data, view !== 'mask'); // F is the same for all heads of a layer
      words.show(rowsOf(data), titles(), data.at ?? data.rows.length - 1, {
        marked: new Set(data.template ?? []),
        notes: tokenNotes(data),
        sink: Boolean(data.sink && data.own),
      });
      paint();
      legend.show(
        view === 'mask'
          ? { dark, scale: 'sequential', ticks: TAKEN, before: _('masked'), after: '' }
          : { dark, ...weightLegend(1, view, state.shading) },
      );
    },
    refresh: () => {
      if (state.form === 'words' && state.mean !== 'head') panel.show();
    },
  };
  return panel;
}

/** Returns the rows of words: queries, and keys if these are other tokens. A sink is the last of the keys. */
const rowsOf = ({ own, rows, columns }) => (own ? [columns] : [rows, columns]);

/** Returns position -> tip of the words that are parts of characters or of a chat template. */
function tokenNotes({ template = [], parts = {} }) {
  const notes = new Map();
  for (const place of template) notes.set(place, _('added by the chat template'));
  for (const [place, raw] of Object.entries(parts)) notes.set(Number(place), _('bytes {raw}', { raw }));
  return notes;
}

const titles = () => [_('Words that attend'), _('Words attended to')];

/**
 * Creates the choice of head, mean of its layer, or mean of all heads: {element, show(data, isOffered)}. Where it is not
 * offered its room stays, so that the words do not move.
 */
function scopeButtons(state) {
  const choose = mean => {
    if (mean === state.mean) return;
    state.send({ type: 'mean', mean });
    state.refresh();
  };
  const buttons = MEANS.map(mean =>
    make('button', { type: 'button', attributes: { role: 'radio' }, onclick: () => choose(mean) }),
  );
  const element = make(
    'div',
    { className: 'scopes', attributes: { role: 'radiogroup', 'aria-label': _('Heads shown') } },
    ...buttons,
  );
  element.addEventListener('keydown', event => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = (MEANS.indexOf(state.mean) + step + buttons.length) % buttons.length;
    choose(MEANS[index]);
    buttons[index].focus();
  });
  return {
    element,
    show({ layer, head }, isOffered) {
      element.style.visibility = isOffered ? '' : 'hidden';
      const names = [
        _('Head {head}', { head: head + 1 }),
        _('Mean of layer {layer}', { layer: layer + 1 }),
        _('Mean of all heads'),
      ];
      buttons.forEach((button, index) => {
        const on = MEANS[index] === state.mean;
        setText(button, names[index]);
        setAttribute(button, 'aria-checked', on);
        button.tabIndex = on ? 0 : -1;
      });
    },
  };
}

/** Returns the numbers of the tint; null if all heads are pruned or the thumbnails have not arrived. */
function tinted(state) {
  const { data, view, mean } = state;
  const [queries, keys] = [data.rows.length, data.columns.length];
  // above the diagonal, a map with a sink has zeros
  const numbers = value => i => rowValues(value, i, data.causal && !data.sink ? i + 1 : keys);
  const shares = value => i => rowShares(numbers(value)(i));
  if (mean !== 'head') {
    const beside = gridsBeside(state);
    const grid = beside?.grids.find(({ kind }) => kind === beside.selection.kind);
    if (!grid || !fitsThumbnails(grid, queries, keys)) return null;
    const tiles = beside.arrays[`tiles ${grid.kind}`].data;
    const pattern = meanPattern(grid, tiles, mean === 'layer' ? data.layer : null, queries, keys);
    return pattern && { what: 'share', row: shares(pattern.value), about: !pattern.exact };
  }
  if (view === 'mask') {
    const mask = accumulateMask(data.arrays.selected.data, queries);
    return { what: 'taken', row: numbers(maskedShares(mask, queries)) };
  }
  if (isDifference(view)) {
    const names = view === 'change' ? ['used', data.base] : ['constant', 'live'];
    const [one, other] = names.map(name => shares(cellValues(data, name)));
    const factor = view === 'change' ? data.gate : 1;
    return { what: 'change', row: i => one(i).map((value, j) => factor * value - other(i)[j]) };
  }
  const value = cellValues(data, view);
  return { what: 'share', row: shares(value), value };
}

/** Returns the line under the sentence: the row's entropy, or an explanation of the numbers. */
function secondLine({ data, mean }, { what, about, value }, i) {
  if (about) return _('Above 64 tokens the mean is computed from thumbnails, so it is approximate.');
  if (mean !== 'head') return _('The mean over heads, weighted by their gates.');
  if (i === null || what !== 'share')
    return isTouch() ? _('Tap a word to choose it.') : _('Point at a word, or use the arrow keys.');
  const seen = seenKeys(data, value, i);
  return rowReading(seen.value, i, seen.count);
}
