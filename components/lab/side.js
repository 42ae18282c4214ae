// The inspector's left column: state and output of the selected heads, or the facts of the word or of the answer.

import { wordNames } from '../core/attention/words.js';
import { pressedState, scopeName, selectedStates } from '../core/head_state.js';
import { formatShare } from '../core/stage/sentences.js';
import { SCOPES } from '../core/stage/tools.js';
import { _ } from '../core/texts.js';
import { make, setAttribute, setText } from '../widgets/dom.js';
import { addTip } from '../widgets/tip.js';
import { sentence, wordElement } from './tools/parts.js';

/** Creates the column: {element, show(data, now, thing)}. */
export function createSide(send) {
  let selection = null; // the heads that the buttons change
  const change = values => send({ type: 'heads', ...selection, ...values });
  const title = make('h2');
  const button = (name, text, key, act) => {
    const element = make(
      'button',
      { onclick: () => element.getAttribute('aria-disabled') !== 'true' && act(), 'aria-keyshortcuts': key },
      make('span', { textContent: text }),
    );
    return addTip(element, name === 'pruned' ? 'prune' : name);
  };
  let gate = 1;
  const buttons = {
    live: button('live', _('Live'), 'R', () => change({ constant: false, gate: 1 })),
    constant: button('constant', _('Constant'), 'C', () => change({ constant: true, gate: gate || 1 })),
    pruned: button('pruned', _('Pruned'), 'P', () => change({ gate: 0 })),
  };
  const segment = make('div.segment.grid', { role: 'group', 'aria-label': _('State of the selected heads') });
  segment.append(...Object.values(buttons));
  const slider = make('input', { type: 'range', min: 0, max: 1, step: 0.05, 'aria-label': _('Gate') });
  slider.oninput = () => change({ gate: Number(slider.value), drag: true });
  slider.onchange = () => change({ gate: Number(slider.value), drag: false });
  const counts = make('span');
  const share = make('output.strong');
  const fader = addTip(make('label.fader', make('span.line.flex', counts, share), slider), 'gate');
  const remark = make('p.note', { 'aria-live': 'polite' });
  const heads = make('div.heads', segment, fader, remark);
  const facts = make('div.facts');
  const element = make('div.side', title, heads, facts);

  const showHeads = (data, now, thing) => {
    const scope =
      thing === 'head' && !Object.values(SCOPES).includes(now.selection.scope) ? now.selection.scope : SCOPES[thing];
    selection = { ...now.selection, scope };
    const kind = data.kinds.find(each => each.kind === selection.kind);
    const states = selectedStates({ heads: now.heads, selection });
    const open = states.length > 0;
    const one = scope === 'head';
    setText(title, headsTitle(thing, selection, kind, data.kinds.length > 1));
    const pressed = {
      live: pressedState(states, state => !state.constant && state.gate > 0),
      constant: pressedState(states, state => state.constant && state.gate > 0),
      pruned: pressedState(states, state => state.gate === 0),
    };
    for (const [name, each] of Object.entries(buttons)) {
      setAttribute(each, 'aria-pressed', pressed[name]);
      const missing = name === 'constant' && !data.can_constant;
      setAttribute(each, 'aria-disabled', !open || missing);
      each.title = !open ? _('Training pruned these heads.') : missing ? _('There are no constant matrices yet.') : '';
    }
    gate = states[0]?.gate ?? 0;
    const same = states.every(state => state.gate === gate);
    slider.disabled = !open;
    slider.value = String(states.reduce((sum, state) => sum + state.gate, 0) / (states.length || 1)); // the mean
    setText(counts, one ? _('Its output counts') : _('Their output counts'));
    setText(share, same ? formatShare(gate) : _('mixed'));
    setText(remark, data.hidden ? '' : stateSentence(states, pressed));
  };

  return {
    element,
    show(data, now, thing) {
      const isHeads = SCOPES[thing] !== null;
      heads.hidden = !isHeads;
      facts.hidden = isHeads;
      if (isHeads) return showHeads(data, now, thing);
      const { name, nodes } = (thing === 'word' ? wordFacts : answerFacts)(data, now);
      title.replaceChildren(...name);
      facts.replaceChildren(...nodes);
      return undefined;
    },
  };
}

function headsTitle(thing, selection, { title, layers, heads }, several) {
  const { layer } = selection;
  const block = several ? `${title} · ` : '';
  if (thing === 'all') return block + _('All {n} heads are', { n: layers * heads });
  if (thing === 'layer') return block + _('The {n} heads of layer {layer} are', { layer: layer + 1, n: heads });
  const name = scopeName(selection, several ? title : '');
  return selection.scope === 'head' ? _('{name} is', { name }) : _('{name} are', { name });
}

function stateSentence(states, pressed) {
  if (!states.length) return _('Training pruned these heads.');
  if (states.some(state => state.patched)) return _('The output is from another text (patched).');
  if (pressed.pruned === 'true') return _('Nothing of the output is used.');
  if (Object.values(pressed).includes('mixed')) return _('The heads have different states.');
  if (pressed.constant === 'true') return _('The pattern is the mean over many texts: by position, not word.');
  if (states.some(state => state.gate < 1)) return _('Part of the output is used.');
  return _('The pattern depends on the words.');
}

const big = text => make('p.big', { textContent: text });
const grey = text => make('p.note', { textContent: text });

function wordFacts(data, now) {
  const kind = data.kinds.find(each => each.kind === now.selection.kind);
  const words = data.tokens[kind.queries];
  const nodes = [grey(_('Token {n} of {count}.', { n: now.look + 1, count: words.length }))];
  const loss = kind.queries === 'text' ? data.losses?.[now.look] : null;
  if (loss !== null && loss !== undefined) {
    const old = data.losses_before?.[now.look];
    const changed = old !== null && old !== undefined && Math.abs(old - loss) >= 0.005;
    const share = value => formatShare(Math.exp(-value));
    nodes.push(big(`${changed ? `${share(old)} → ` : ''}${share(loss)}`));
    nodes.push(grey(_('Its chance after the words before; loss {loss} nats.', { loss: loss.toFixed(2) })));
  }
  return { name: sentence(_('Word {word}'), { word: wordElement(wordNames(words)[now.look] ?? '') }), nodes };
}

function answerFacts(data) {
  const { answer, hidden } = data;
  if (hidden) return { name: [_('Answer')], nodes: [grey(_('Guess first.'))] };
  if (!answer?.rows?.length) {
    const moved = answer?.vector?.facts?.[0];
    const nodes = moved ? [big(formatShare(moved.after ?? 0)), grey(`${moved.name}, ${moved.unit}`)] : [];
    return { name: [_('Answer')], nodes: [...nodes, grey(_('This text has no prediction.'))] };
  }
  const best = answer.rows.reduce((most, row) => (row.after > most.after ? row : most));
  const changed = data.changed && best.before !== best.after;
  const nodes = [big((changed ? `${formatShare(best.before)} → ` : '') + formatShare(best.after))];
  const [old, loss] = [answer.loss_before, answer.loss_after];
  if (loss !== null && loss !== undefined)
    nodes.push(
      grey(
        data.changed
          ? _('Loss on the text {before} → {after} nats', { before: old.toFixed(2), after: loss.toFixed(2) })
          : _('Loss on the text {loss} nats', { loss: loss.toFixed(2) }),
      ),
    );
  const moved = data.changed && _('Moved by {kl} nats (KL divergence)', { kl: answer.kl.toFixed(2) });
  nodes.push(grey(moved || _('The model is unchanged.')));
  return { name: sentence(_('Answer {word}'), { word: wordElement(best.label) }), nodes };
}
