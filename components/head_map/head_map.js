// The large map of the selected head: title, forms (words or matrix), views, picture, readout and legend.

import {
  availableViews,
  cellValues,
  gateOpacity,
  hiddenCells,
  isDifference,
  largestWeight,
} from '../core/attention/pattern.js';
import { colourTable, differenceStep, scaleName, weightStep } from '../core/attention/scales.js';
import { scopeName, stateName } from '../core/head_state.js';
import { pageData } from '../core/page_data.js';
import { _, N_ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { isTouch, make, setAttribute, setStarredText, setText } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';
import { addTip } from '../widgets/tip.js';
import { mapOffer, VIEWS } from './download.js';
import { createMaskingPlayer } from './masking_player.js';
import { createMatrix } from './matrix.js';
import { cellReading, createLegend, createReadout, createShading, weightLegend } from './readout.js';
import { pointTogether } from './shared_pointer.js';
import { createWordsPanel } from './words_panel.js';

const WEIGHTS = {
  used: N_('Attention weights after your changes, {name}: move with the arrow keys'),
  live: N_('Computed weights, {name}: move with the arrow keys'),
  constant: N_('Constant weights, {name}: move with the arrow keys'),
  difference: N_('Difference between constant and computed weights, {name}: move with the arrow keys'),
  change: N_('Change of the weights by the plan, {name}: move with the arrow keys'),
};
const ALWAYS = ['used', 'mask']; // views that an unchanged head has too
const FORMS = { words: N_('Words'), matrix: N_('Matrix') };

/** Returns the description of the view, which is shown under the tabs. */
const noteOf = (view, mean, { constant, gate, changed, base, used }, compares) => {
  if (mean !== 'head') return _('The pattern after your changes, averaged over several heads.');
  if (view === 'live') return _('The pattern that this head computes from your text.');
  if (view === 'constant') return _('The mean pattern over many texts, the same for every text.');
  if (view === 'difference') return _('Constant minus computed: orange is more, blue is less.');
  if (view === 'change')
    return _('After your changes (pattern times gate) minus before: orange is more, blue is less.');
  if (view === 'mask') return _('Mask F: how strongly the words read so far have voted to hide a word.');
  if (gate === 0) return _('This head is pruned: its output is multiplied by 0. *Computed* shows its weights.');
  if (gate < 1)
    return _("The colours are faded, because the gate passes on {share}% of this head's output.", {
      share: Math.round(100 * gate),
    });
  if (constant) return _('The pattern after your changes to this head.');
  if (changed && base !== used) return _('This head is unchanged, but your changes elsewhere change its pattern.');
  return compares ? _('The current pattern. This head is unchanged, so the tab Computed shows the same.') : '';
};

function create(state) {
  const title = make('h2', { id: 'title' });
  const forms = tabList(state, 'form', _('Form of the picture'));
  const tabs = tabList(state, 'view', _('View of the head'));
  forms.classList.add('forms');
  const [readout, legend] = [createReadout(), createLegend()];
  const shadings = createShading(shading => {
    state.send({ type: 'shading', shading });
    state.refresh();
  });
  const matrix = createMatrix(
    (i, j) => {
      readout.say(...cellReading(state, i, j));
      pointTogether(state, i, j);
    },
    (query, key) => state.data.explains && state.send({ type: 'cell', row: query, column: key }),
  );
  const take = createDownloadMenu(() => mapOffer(state), _('Download: this head'));
  const words = createWordsPanel(state, readout, legend);
  const below = make('div', { className: 'below' }, legend.element, shadings.element);
  const map = make('div', { className: 'map' }, words.element, matrix.element, readout.element, below);
  const player = createMaskingPlayer();
  const attributes = { role: 'tabpanel', 'aria-labelledby': 'title' };
  const panel = make('div', { id: 'panel', className: 'panel', attributes }, map, player.element);
  const note = make('p', { className: 'note' });
  const line = make('div', { className: 'line' }, title, take.element, forms);
  const head = make('div', { className: 'head' }, line, tabs, note);
  const remarks = make('div', { className: 'remarks' });
  state.root.append(head, panel, remarks);
  return {
    take,
    title,
    forms,
    tabs,
    note,
    matrix,
    words,
    readout,
    legend,
    shadings,
    map,
    player,
    panel,
    remarks,
    numbers: panel,
    besideChanged: words.refresh,
  };
}

/** Creates a tab list whose tabs send {type: name, [name]: the chosen value}; showTabs creates the tabs. */
function tabList(state, name, label) {
  const list = make('div', { className: 'tabs', attributes: { role: 'tablist', 'aria-label': label } });
  const choose = tab => {
    if (!tab || tab.getAttribute('aria-disabled') === 'true' || tab.dataset.name === state[name]) return;
    state.send({ type: name, [name]: tab.dataset.name });
    state.refresh();
  };
  list.addEventListener('click', event => choose(event.target.closest('[role="tab"]')));
  list.addEventListener('keydown', event => {
    const all = Array.from(list.children);
    const index = all.indexOf(event.target);
    const next = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = all[(next + all.length) % all.length];
    tab.focus();
    choose(tab);
  });
  return list;
}

function howTo(words) {
  if (!words) return _('Rows are queries, columns are keys.');
  return isTouch()
    ? _('Tap a word to see which words it attends to.')
    : _('Point at a word to see which words it attends to.');
}

/**
 * Puts the note in the place of the tabs while these are hidden, and below the picture if they are shown: the tabs that
 * come with the first change of a head move no word. A map that always has its tabs has the note under them.
 */
function placeNote({ note, tabs, panel }, { compares }) {
  note.classList.toggle('instead', tabs.hidden);
  const place = tabs.hidden || compares === undefined ? tabs : panel;
  if (note.previousSibling !== place) place.after(note);
}

/** Returns the visitor's last choice of `name`, even if Python has not handled it yet. */
const chosen = (state, name) => state.waiting().findLast(({ type }) => type === name)?.[name] ?? state.data[name];

function update(state, data) {
  data.own ??= !data.columns; // in self-attention queries and keys are the same tokens
  if (data.own) data.columns = data.sink ? [...data.rows, _('sink')] : data.rows;
  // the tabs stay while one of them has the focus
  const compares = data.compares !== false || state.tabs.matches(':focus-within');
  const views = availableViews(data).filter(view => compares || ALWAYS.includes(view));
  const known = view => views.includes(view) && (view !== 'change' || data.base);
  const [form, mean, view] = ['form', 'mean', 'view'].map(name => chosen(state, name));
  const isMean = form === 'words' && mean !== 'head'; // a mean is available only for the patterns after the plan
  state.shading = chosen(state, 'shading') ?? 'root';
  state.shadings.show(state.shading);
  Object.assign(state, { form, mean, view: known(view) && !isMean ? view : 'used' });
  state.most = largestWeight(data);
  const name = scopeName({ ...data, scope: 'head' }, data.kind_title);
  setText(state.title, `${name} · ${stateName(data.constant, data.gate, data.patched).replaceAll(', ', ' · ')}`);
  showTabs(state.forms, FORMS, Object.keys(FORMS), form);
  showTabs(
    state.tabs,
    VIEWS,
    views,
    state.view,
    isMean ? _('The mean is computed from the patterns after your changes') : '',
  );
  const words = form === 'words';
  state.tabs.hidden = views.length < 2;
  setStarredText(state.note, noteOf(state.view, words ? mean : 'head', data, compares) || howTo(words));
  placeNote(state, data);
  showRemarks(state.remarks, data.remarks);
  const player = state.view === 'mask' && !words;
  state.map.hidden = player;
  state.player.element.hidden = !player;
  state.words.element.hidden = !words;
  state.matrix.element.hidden = words;
  state.shadings.element.hidden = state.view === 'mask'; // the fraction that F masks has one scale
  state.panel.classList.toggle('roomy', Boolean(data.arrays.selected) && !words);
  if (player) return state.player.show(data, state.dark);
  state.player.pause();
  return words ? state.words.show() : showMatrix(state, data, name);
}

/** Shows sentences about properties of the head that the map does not show. */
function showRemarks(element, remarks) {
  if (element.children.length !== remarks.length) element.replaceChildren(...remarks.map(() => make('p')));
  remarks.forEach((remark, index) => setStarredText(element.children[index], remark));
}

function showMatrix(state, data, name) {
  setAttribute(state.matrix.element, 'aria-label', _(WEIGHTS[state.view], { name }));
  state.matrix.element.title = data.explains ? _('Click a cell to see the parts of its score.') : '';
  state.matrix.element.classList.toggle('explains', Boolean(data.explains));
  state.values = cellValues(data, state.view);
  state.matrix.show(drawing(state, data));
  state.legend.show({ dark: state.dark, ...weightLegend(state.most, state.view, state.shading) });
  state.readout.say(...cellReading(state, ...(state.matrix.at() ?? [null])));
}

function drawing({ dark, view, shading, values: value, most }, data) {
  const { rows, columns, causal, sink, own, template, gate, at } = data;
  const hidden = hiddenCells(data);
  const difference = isDifference(view);
  const step = difference ? differenceStep : weightStep;
  return {
    rows,
    columns,
    causal,
    sink,
    own,
    template,
    predicts: at,
    pruned: view === 'used' && gate === 0,
    opacity: view === 'used' ? gateOpacity(gate) : 1,
    table: colourTable(dark, scaleName(difference, shading)),
    step: (i, j) => (hidden(i, j) ? undefined : step(value(i, j), most)),
  };
}

const TERMS = { live: 'computed' }; // view -> its term in the glossary, where `live` is the state of a head

/** Adds a tip to a tab whose name is a term of the glossary; other tabs get no tip. */
function tipped(tab, name) {
  const term = TERMS[name] ?? name;
  return Object.hasOwn(pageData.glossary, term) ? addTip(tab, term) : tab;
}

/** Shows `names` as tabs, one of them selected. With a `reason`, the other tabs cannot be chosen. */
function showTabs(list, labels, names, selected, reason = '') {
  if (list.dataset.names !== String(names)) {
    list.dataset.names = String(names);
    list.replaceChildren(
      ...names.map(name =>
        tipped(
          make('button', {
            type: 'button',
            textContent: _(labels[name]),
            dataset: { name },
            attributes: { role: 'tab', 'aria-controls': 'panel' },
          }),
          name,
        ),
      ),
    );
  }
  for (const tab of list.children) {
    const on = tab.dataset.name === selected;
    setAttribute(tab, 'aria-selected', on);
    setAttribute(tab, 'aria-disabled', Boolean(reason) && !on);
    tab.title = on ? '' : reason;
    tab.tabIndex = on ? 0 : -1;
  }
}

export const head_map = defineComponent({
  create,
  update,
  parts: ['numbers', 'selection'],
  destroy: state => {
    state.matrix.stop();
    state.player.stop();
    state.take.close();
  },
});
