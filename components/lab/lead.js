// The head of the Lab: the lead, a sentence with two controls; the caption; and the legend, whose entries switch layers
// of the picture.

import { contrastColour } from '../core/attention/scales.js';
import { tokenText } from '../core/format.js';
import { selectedStates } from '../core/head_state.js';
import { pageData } from '../core/page_data.js';
import { captionSentences, formatShare, leadSentence, selectionName } from '../core/stage/sentences.js';
import { _ } from '../core/texts.js';
import { make, makeButton, setAttribute, setChildren, setText } from '../widgets/dom.js';
import { createMenu, svgElement } from '../widgets/menu.js';
import { addTip } from '../widgets/tip.js';
import { showSentences } from './sentence.js';

/** Creates the lead and the caption: {elements, show(data, view, shown), close()}. */
export function createLead(state) {
  const models = createMenu({ text: '', className: 'control nowrap', entries: () => modelEntries(state) });
  const whose = createMenu({ text: '', className: 'control nowrap', entries: () => whoseEntries(state) });
  const lead = make('p.lead.serif');
  const caption = make('p.caption.serif', { 'aria-live': 'polite' });
  return {
    elements: [lead, caption],
    close: () => [models, whose].forEach(menu => menu.close()),
    show(data, view, shown) {
      const isConstant = selectedStates(view).every(({ constant }) => constant);
      const sentence = leadSentence(data, shown.selection, shown.used, isConstant);
      models.write(sentence.slots.model.text);
      whose.write(sentence.slots.whose.text);
      const controls = { ...(data.models && { model: models.element }), whose: whose.element };
      // what stands in the controls changes without a new sentence
      const blank = Object.fromEntries(Object.keys(controls).map(name => [name, { text: '' }]));
      showSentences(lead, [{ ...sentence, slots: { ...sentence.slots, ...blank } }], controls);
      models.refresh();
      whose.refresh();
      showSentences(caption, captionSentences(data, { ...state.held, contributions: view.marks.contributions }));
    },
  };
}

function modelEntries({ data, send, refresh }) {
  const { model, models = [] } = data;
  const entry = ({ name, title, note, task }) => ({
    text: title,
    note: [task, note].filter(Boolean).join(' · '),
    checked: name === model.name,
    act: () => {
      send({ type: 'model', name });
      refresh();
    },
  });
  const own = models.find(({ name }) => name === model.name) ?? model;
  return [own, ...models.filter(each => each !== own)].map(entry);
}

function whoseEntries(state) {
  const { data, view } = state;
  const { selection } = view;
  const notes = { head: _('one head'), row: _('mean of its heads'), all: _('mean of all heads') };
  const scopes = Object.keys(notes).map(scope => ({
    text: selectionName({ ...selection, scope }, data.kinds),
    note: notes[scope],
    checked: selection.scope === scope,
    act: () => state.select({ ...selection, scope }),
  }));
  const forgets = data.arrays.mask && {
    text: _('which words layer {layer} forgets', { layer: selection.layer + 1 }),
    note: _('mask F'),
    act: () => state.openTool('layer', 'layer.forget', { layer: selection.layer }),
  };
  return forgets ? [...scopes, forgets] : scopes;
}

const BAR = 6; // px
const SHARES = [0.01, 0.1, 0.5, 1]; // of the attention, named on its scale

/** Creates the legend: {element, show(data, view)}. Pressing an entry shows or hides a layer of the picture. */
export function createLegend(state) {
  const toggle = (name, text, term) => {
    const change = () => state.mark({ [name]: !state.view.marks[name] });
    return addTip(makeButton('switch muted', text, change), term);
  };
  const entry = (...children) => make('span.entry.inline', ...children);
  const name = textContent => make('span', { textContent });
  const ticks = SHARES.map(part =>
    make('span', { textContent: formatShare(part), style: { '--at': Math.sqrt(part) } }),
  );
  const ramp = make('i.ramp', ...ticks);
  const attention = addTip(entry(ramp, name(_('attention'))), 'weight');
  attention.tabIndex = 0;
  const contributions = toggle('contributions', _('contributions'), 'contributions');
  const guesses = toggle('guesses', _('guesses'), 'logit-lens');
  const training = makeButton('switch muted', _('training'), () => {
    state.training = !state.training;
    state.refresh();
  });
  const target = make('span.targets.inline', { role: 'group', 'aria-label': _('Token') });
  const pushes = entry(svgElement(BARS), name(_('pushes for or against')), target);
  const unit = entry(make('i.unit'), name(_('1 logit')));
  const chance = entry(svgElement(LINE), make('span'));
  const before = entry(make('i.tick'), name(_('before')));
  const moved = entry(make('i.tick', { style: { width: '18px', height: '3px' } }), name(_('moved attention')));
  const message = entry();
  const parts = [attention, entry(contributions), pushes, unit, entry(guesses), chance, training];
  const element = make('div.legend.wrap.fine.nowrap', ...parts, before, moved, message);
  return {
    element,
    show(data, { marks }, { unit: px }) {
      const scale = pageData.colours[state.dark ? 'dark' : 'light'].attention;
      ramp.style.setProperty('background', `linear-gradient(90deg, ${scale.join(', ')})`);
      SHARES.forEach((part, index) => {
        ticks[index].style.color = contrastColour(state.dark, 'attention', Math.sqrt(part));
      });
      setAttribute(contributions, 'aria-pressed', Boolean(marks.contributions));
      setAttribute(guesses, 'aria-pressed', Boolean(marks.guesses));
      training.hidden = !data.steps?.length;
      setAttribute(training, 'aria-pressed', Boolean(state.training));
      const predicts = Boolean(data.answer?.rows?.length);
      contributions.parentElement.hidden = guesses.parentElement.hidden = !predicts;
      const shown = marks.contributions && data.contributions?.token ? data.contributions : null;
      pushes.hidden = unit.hidden = !shown;
      if (shown) showTargets(state, target, shown);
      unit.firstElementChild.style.height = `${px}px`;
      const lens = marks.guesses && data.guesses?.layers ? data.guesses : null;
      chance.hidden = !lens;
      if (lens) setText(chance.lastElementChild, _('chance of {word} here', { word: tokenText(lens.token) }));
      before.style.visibility = data.changed ? '' : 'hidden';
      moved.hidden = !Object.keys(data.arrays).some(key => key.startsWith('moved.'));
      const reasons = ['contributions', 'guesses'].map(mark => marks[mark] && data[mark]?.message);
      setText(message, [...new Set(reasons.filter(Boolean))].join(' '));
      message.hidden = !message.textContent;
    },
  };
}

/** Shows the tokens whose logit the bars can explain; the answer before and after a change. */
function showTargets(state, element, { token, choices }) {
  const waiting = state.waiting().findLast(({ type }) => type === 'contribution');
  const chosen = waiting ? waiting.token : token.id;
  setChildren(element, [chosen, choices], () =>
    choices.map(({ id, label }) => {
      const word = make('bdi.serif', { textContent: tokenText(label), translate: false, dir: 'auto' });
      if (choices.length < 2) return word;
      const button = make('button.item.muted', { 'aria-pressed': id === chosen }, word);
      button.onclick = () => {
        state.send({ type: 'contribution', token: id });
        state.refresh();
      };
      return button;
    }),
  );
}

const BARS = [
  'svg',
  { width: 24, height: 20, viewBox: '0 0 24 20', 'aria-hidden': 'true', class: 'sign' },
  ['path', { d: 'M0 12h10M13 12h10', stroke: 'var(--line2)' }],
  ['rect', { x: 2, y: 2, width: BAR, height: 10, rx: 1, fill: 'var(--accent)' }],
  ['rect', { x: 15, y: 12, width: BAR, height: 6, fill: 'url(#against)', stroke: 'var(--against)' }],
];
const LINE = [
  'svg',
  { width: 12, height: 20, viewBox: '0 0 12 20', 'aria-hidden': 'true', class: 'sign' },
  ['path', { d: 'M6 20V12', stroke: 'var(--accent)', 'stroke-width': 1.5 }],
  ['path', { d: 'M6 12V6', stroke: 'var(--accent)', 'stroke-width': 5 }],
  ['path', { d: 'M6 6V0', stroke: 'var(--accent)', 'stroke-width': 10 }],
];
