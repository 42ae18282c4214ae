// The first minute: seven steps. Each points at a part of the Lab, waits until the visitor has used it, and says what
// changed. It begins for a visitor who enters the Lab from the start page for the first time, or from the guide.

import { captionSentences } from '../core/stage/sentences.js';
import { _, N_ } from '../core/texts.js';
import { make, setText } from '../widgets/dom.js';
import { keep, recall } from '../widgets/storage.js';
import { showSentences } from './sentence.js';

const SEEN = 'attention-lab-minute'; // key of the local storage
const PRUNE = ['.phone-bar .primary', '.segment button:last-child'];

let offer = ''; // 'once' or 'again'; the next payload of the Lab takes it

/** Lets the Lab begin the first minute when it opens; unless `again`, only if this browser has not shown it. */
export const offerMinute = (again = false) => (offer = again ? 'again' : 'once');

/**
 * The steps: `ask`, what to do; `find(moment)`, selectors of what to press, the first visible one counts; `done(now,
 * before)` compares two moments; `says`, a text about what changed in place of the caption.
 * @type {{ask: string, find: (moment: any) => string[], done: (now: any, before: any) => boolean, says?: string,
 *   isLook?: boolean}[]}
 */
export const STEPS = [
  {
    ask: N_('Press a word in the text.'),
    find: ({ look }) => [`.word[data-index="${look - 2}"]`, '.words .word:not(.looks)'],
    done: (now, before) => now.look !== before.look,
    isLook: true,
  },
  {
    ask: N_('Press a tile: each is one head.'),
    find: ({ layer }) => [`.tile[data-layer="${layer}"][data-head="1"]:not(.on, .pruned)`, '.tile:not(.on, .pruned)'],
    done: (now, before) => now.head !== '' && now.head !== before.head,
    isLook: true,
  },
  {
    ask: N_('Press a question about this head.'),
    find: () => ['.tools button[data-key]:not([aria-pressed=true])'],
    done: (now, before) => now.tool !== before.tool,
    says: N_('The figure is the answer.'),
  },
  { ask: N_('Prune this head.'), find: () => PRUNE, done: (now, before) => now.pruned > before.pruned },
  {
    ask: N_('Press the name of a layer, then prune it.'),
    find: ({ isLayer, layer }) => (isLayer ? PRUNE : [`.layer-name[data-layer="${layer}"]`]),
    done: (now, before) => now.layers > before.layers,
  },
  { ask: N_('Undo all changes.'), find: () => ['.reset'], done: now => now.pruned === 0 },
  {
    ask: N_('Write a text, or choose an example.'),
    find: () => ['.field'],
    done: (now, before) => now.text !== before.text,
    says: N_('The guide explains the terms.'),
  },
];

/** Returns what the steps compare, from the payload and the view; `head` is empty unless one unpruned head is selected. */
export function momentOf({ text, tool }, { look, selection, heads }) {
  const { kind, layer, head, scope } = selection;
  const rows = Object.values(heads).flat();
  const isPruned = ({ gate }) => gate === 0;
  return {
    ...{ look, layer, text, tool: tool?.key ?? '', isLayer: scope === 'row' },
    head: scope === 'head' && !isPruned(heads[kind][layer][head]) ? `${kind} ${layer} ${head}` : '',
    pruned: rows.flat().filter(isPruned).length,
    layers: rows.filter(row => row.every(isPruned)).length,
  };
}

/** Returns the progress {step, before} after a moment: the next step if the present one is done. */
export const progressed = ({ step, before }, now) =>
  STEPS[step]?.done(now, before) ? { step: step + 1, before: now } : { step, before };

/** Returns whether this browser has shown the first minute, and remembers that it does now. */
function isSeen() {
  const seen = recall(SEEN);
  keep(SEEN, 'true');
  return seen !== null;
}

const isEmbedded = () => window.top !== window.self || new URLSearchParams(location.search).has('embed');

/** Creates the first minute, which stands before the inspector: {show(data, view), close()}. */
export function createMinute(state) {
  const count = make('span');
  const leave = make('button.link', { onclick: () => end() });
  const [says, ask] = ['says serif', 'ask strong'].map(className => make('p', { className }));
  const card = make('section.minute.card.wrap', { hidden: true, 'aria-label': _('First minute') });
  card.append(count, says, ask, leave);
  const spoken = make('p.spoken', { role: 'status' });
  state.root.querySelector('.inspector').before(card, spoken);
  let progress = null;
  let target = null;

  const visible = selectors => {
    const found = selectors.flatMap(each => Array.from(state.root.querySelectorAll(each)));
    return found.find(element => element.getClientRects().length);
  };
  const pointAt = element => {
    if (element === target) return;
    target?.classList.remove('pointed');
    element?.classList.add('pointed');
    element?.scrollIntoView({ block: 'nearest' });
    target = element;
  };
  const end = () => {
    progress = null;
    card.hidden = true;
    pointAt(null);
    const { text, examples } = state.data;
    if (!text.trim() && examples?.length) state.send({ type: 'text', text: examples[0].text });
    state.refresh();
    state.root.querySelector('.word.looks')?.focus({ preventScroll: true });
  };
  const onKey = event => {
    if (!progress || event.key !== 'Escape' || event.defaultPrevented) return;
    if (!event.composedPath().some(element => element instanceof HTMLDialogElement)) end();
  };
  const listening = new AbortController();
  document.addEventListener('keydown', onKey, { signal: listening.signal });

  return {
    close: () => listening.abort(),
    show(data, view) {
      // a visitor who enters with a layer off sees what that does; the minute begins once the change is undone
      const waits = offer === 'once' && data.changed;
      const begins = offer && !waits && !data.lesson && !isEmbedded() && (!isSeen() || offer === 'again');
      if (!waits) offer = '';
      const now = momentOf(data, view);
      if (begins) progress = { step: 0, before: now };
      if (!progress) return undefined;
      if (data.lesson) return end();
      card.hidden = false;
      const old = begins ? null : STEPS[progress.step];
      if (!state.waiting().length) progress = progressed(progress, now);
      const next = STEPS[progress.step];
      if (begins) says.replaceChildren();
      else if (next !== old) {
        const seen = old.isLook ? { ...data, changed: false } : data; // says where it looks, not what is pruned
        const caption = captionSentences(seen, { ...state.held, contributions: false });
        showSentences(says, [
          { text: '✓', slots: {} },
          ...(old.says ? [{ text: _(old.says), slots: {} }] : caption.slice(old.isLook ? -1 : 0)),
        ]);
      }
      setText(count, `${Math.min(progress.step + 1, STEPS.length)} / ${STEPS.length}`);
      setText(leave, next ? _('Leave') : _('Close'));
      setText(ask, next ? _(next.ask) : '');
      setText(spoken, `${says.textContent} ${ask.textContent}`);
      const element = next ? visible(next.find(now)) : null;
      ask.dataset.points = !element ? '' : element.closest('.stage') ? '↑' : '↓';
      return pointAt(element);
    },
  };
}
