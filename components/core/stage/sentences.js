// The sentences of the Lab: the lead, and the caption that says what the picture shows. A sentence is {text, slots}: a
// translated text with {names}, and by name {text, look} of what stands there.

import { wordNames } from '../attention/words.js';
import { quoteToken, tokenText, truncate } from '../format.js';
import { _ } from '../texts.js';

/** Returns the pieces of a sentence, {text, look} or {text, name}: `name` of a slot that is a control. */
export function sentencePieces({ text, slots }) {
  return text
    .split(/(\{\w+\})/)
    .filter(Boolean)
    .map(piece => {
      const name = /^\{(\w+)\}$/.exec(piece)?.[1];
      if (!name || !Object.hasOwn(slots, name)) return { text: piece };
      return typeof slots[name] === 'object' ? { name, ...slots[name] } : { name, text: String(slots[name]) };
    });
}

/** Returns whether a token has neither letters nor digits. */
export const isSign = label => !/[\p{L}\p{N}]/u.test(tokenText(label));

/** Returns a token as it stands in sentences: a sign in quotation marks, because a full stop alone is hardly visible. */
export const wordText = label => (isSign(label) ? quoteToken(label) : truncate(tokenText(label), 40));

/** Returns a probability or weight as a whole percentage; 0% and 100% only for exact values. */
export function formatShare(value) {
  const percent = Math.round(100 * value);
  if (percent === 0 && value > 0) return '<1%';
  if (percent === 100 && value < 1) return '>99%';
  return `${percent}%`;
}

/** Returns how far the vector of the text moved: 1 - cosine similarity. */
export const vectorShift = answer => answer?.vector?.facts?.[0]?.after ?? 0;

const LAST_RANK = 99; // the largest former rank that is named

/** Returns the probability of the answer before a change, and its rank if it was another one. */
export function formerText({ before, ranks: [old, now] = [1, 1] }) {
  const values = { share: formatShare(before), rank: old };
  if (old === now || old > LAST_RANK) return _('was {share}', values);
  return _('was {share}, rank {rank}', values);
}

/** Returns the short name of a head, for tight places: L3·H5. */
export function shortHead(layer, head, kind = '') {
  const blocks = { encoder: _('enc.'), decoder: _('dec.'), cross: _('cross') };
  const name = `L${layer + 1}·H${head + 1}`;
  return Object.hasOwn(blocks, kind) ? `${blocks[kind]} ${name}` : name;
}

const place = (layer, head) => ({ layer: layer + 1, head: head + 1 });

/** Returns the name of a selection within a sentence: layer 3, head 5. `used` is false if its heads are pruned. */
export function selectionName({ kind, layer, head, scope }, kinds, used = true) {
  const { heads, title } = kinds.find(each => each.kind === kind);
  const at = { ...place(layer, head), heads, title };
  const several = kinds.length > 1;
  if (scope === 'all') return several ? _('all heads of {title}', at) : _('all heads');
  if (!used && scope === 'row')
    return several ? _('layer {layer} of {title}', at) : _('layer {layer} ({heads} heads)', at);
  if (scope === 'row')
    return several ? _('layer {layer} of {title} (mean of its heads)', at) : _('layer {layer} (mean of its heads)', at);
  return several ? _('layer {layer}, head {head} of {title}', at) : _('layer {layer}, head {head}', at);
}

/** Returns the lead with the controls `model` and `whose`. */
export function leadSentence(data, selection, used, isConstant = false) {
  const slots = { model: { text: data.model.title }, whose: { text: selectionName(selection, data.kinds, used) } };
  const reads = {
    picture: _('The {model} model sees this picture.'),
    pair: data.typed
      ? _('The {model} model reads one text and your words for the other.')
      : _('The {model} model reads one text and writes the other.'),
  };
  const tint =
    selection.scope === 'all'
      ? _('The tint shows where {whose} look on average.')
      : _('The tint shows where {whose} looks.');
  const own = isConstant ? _('The tint is the constant pattern of {whose}.') : tint;
  const looks = used ? own : _('Nothing of {whose} is used.');
  return { text: `${reads[data.model.kind] ?? _('The {model} model reads this text.')} ${looks}`, slots };
}

const likeliest = (rows, when) => rows.reduce((best, row) => (row[when] > best[when] ? row : best));
const word = (label, look) => ({ text: wordText(label), look });

/** Returns {now, former}: the most likely rows after and before the changes; null without an answer. */
export function answers(answer) {
  if (!answer?.rows?.length) return null;
  return { now: likeliest(answer.rows, 'after'), former: likeliest(answer.rows, 'before') };
}

/** Returns the caption, as a list of sentences. */
export function captionSentences(data, shown) {
  const found = answers(data.answer);
  const moved = data.moved ? [{ text: _('Most changed: after {word}.'), slots: { word: word(at(data), 'word') } }] : [];
  if (data.written)
    return [writtenSentence(data.written), ...(data.changed ? moved : [lookSentence(data, shown)])].filter(Boolean);
  if (data.changed && !data.hidden) return [changeSentence(data, found), ...moved];
  const first = found ? [answerSentence(data.model.kind, found.now)] : [];
  const second = (shown.contributions && found && contributionSentence(data)) || lookSentence(data, shown);
  return second ? [...first, second] : first;
}

const at = ({ tokens, at: index }) => wordNames(tokens.target)[index] ?? '';

const LONGEST = 80; // characters of a written text

/** Returns the sentence about the text that the model writes; `after` is empty while it is generated. */
function writtenSentence({ before, after }) {
  const text = (written, look) => ({ text: truncate(written, LONGEST), look });
  if (after === '') return { text: _('It writes …'), slots: {} };
  if (after === null) return { text: _('It writes {answer}'), slots: { answer: text(before, 'answer') } };
  const slots = { answer: text(after, 'answer'), former: text(before, 'former') };
  if (after === before) return { text: _('It still writes {answer}'), slots };
  return { text: _('It writes {answer} instead of {former}'), slots };
}

function answerSentence(kind, { label }) {
  const slots = { answer: word(label, 'answer') };
  if (kind === 'lookup') return { text: _('The answer is {answer}.'), slots };
  if (kind === 'picture') return { text: _('It sees: {answer}.'), slots };
  return { text: _('The best guess is {answer}.'), slots };
}

function lookSentence({ kinds, tokens }, { selection, row, used, queries, query, atRow, at }) {
  if (!row || !used) return null;
  const { kind, layer, head, scope } = selection;
  const { keys } = kinds.find(each => each.kind === kind);
  const most = row.indexOf(Math.max(...row));
  if (!(row[most] > 0)) return null;
  const slots = {
    ...place(layer, head),
    word: word(wordNames(tokens[keys])[most], 'word'),
    share: formatShare(row[most]),
    from: word(wordNames(tokens[queries])[query] ?? '', 'word'),
  };
  if (queries !== atRow || query !== at) {
    if (scope === 'all') return { text: _('From {from}, {word} gets most attention on average, {share}.'), slots };
    if (scope === 'row')
      return { text: _('From {from}, the heads of layer {layer} look most at {word}, {share} on average.'), slots };
    return { text: _('From {from}, layer {layer}, head {head} gives {share} of its attention to {word}.'), slots };
  }
  if (scope === 'all') return { text: _('On average, {word} gets most attention, {share}.'), slots };
  if (scope === 'row') return { text: _('The heads of layer {layer} look most at {word}, {share} on average.'), slots };
  return { text: _('Layer {layer}, head {head} gives {share} of its attention to {word}.'), slots };
}

const SECOND = 0.2; // logits below which only the first head is named

/** Returns the sentence that names the two heads with the largest contributions; null if none pushes for the answer. */
function contributionSentence({ contributions, arrays, kinds }) {
  if (!contributions?.token) return null;
  const heads = kinds.flatMap(({ kind, heads }) =>
    Array.from(arrays[`stubs.${kind}`]?.data ?? [], (value, index) => ({
      value,
      name: shortHead(Math.floor(index / heads), index % heads, kind),
    })),
  );
  const [first, second] = heads.sort((one, other) => other.value - one.value);
  if (!(first?.value > 0)) return null;
  const slots = { first: first.name, second: second?.name };
  if (!(second?.value >= SECOND)) return { text: _('Of the heads, {first} pushes most directly.'), slots };
  return { text: _('Of the heads, {first} and {second} push most directly.'), slots };
}

const LIVE = 'live';

/** Returns the state of a head as a key: live, constant, 0.5 (its gate), 0 (pruned), or `other`. */
function stateKey(kind, layer, head) {
  const gate = kind.gates[layer][head];
  if (kind.closed?.[layer]?.[head]) return LIVE; // training pruned the head; the visitor did not
  if (kind.patched?.[layer]?.[head]) return 'other';
  if (gate === 0) return '0';
  if (kind.constant[layer][head]) return gate === 1 ? 'constant' : 'other';
  return gate === 1 ? LIVE : String(gate);
}

/** Returns the changed parts of the model, {kind, layer, head, state}; `head` is null for a whole layer. */
export function changedParts(kinds) {
  return kinds.flatMap(kind =>
    Array.from({ length: kind.layers }, (_, layer) => {
      const states = Array.from({ length: kind.heads }, (_, head) => stateKey(kind, layer, head));
      const same = states.every(state => state === states[0]);
      if (same && states[0] !== LIVE && kind.heads > 1) return [{ kind, layer, head: null, state: states[0] }];
      return states.map((state, head) => ({ kind, layer, head, state })).filter(({ state }) => state !== LIVE);
    }).flat(),
  );
}

const MOST = 2; // parts that a caption names

function partsName(parts, kinds) {
  const names = parts.map(({ kind, layer, head }) => {
    const isShort = parts.length > 1 || kinds.length > 1;
    const one = isShort ? shortHead(layer, head) : _('layer {layer}, head {head}', place(layer, head));
    const name = head === null ? _('the heads of layer {layer}', { layer: layer + 1 }) : one;
    return kinds.length > 1 ? _('{name} of {title}', { name, title: kind.title }) : name;
  });
  return names.length > 1 ? _('{first} and {second}', { first: names[0], second: names[1] }) : names[0];
}

/** Returns the beginning of the caption after a change. */
function changeText(kinds) {
  const parts = changedParts(kinds);
  const count = parts.reduce((sum, { kind, head }) => sum + (head === null ? kind.heads : 1), 0);
  const states = new Set(parts.map(({ state }) => state));
  if (!parts.length) return _('With this setting');
  if (states.size > 1 || states.has('other')) return _('With {n} heads changed', { n: count });
  const state = parts[0].state;
  const who = parts.length > MOST ? _('{n} heads', { n: count }) : partsName(parts, kinds);
  if (state === '0') return _('Without {who}', { who });
  if (state === 'constant') return _('With {who} constant', { who });
  return _('With {who} at {gate}', { who, gate: formatShare(Number(state)) });
}

function changeSentence(data, found) {
  const change = changeText(data.kinds);
  if (!found)
    return {
      text: _('{change}, the vector of the text moves by {moved}.'),
      slots: { change, moved: formatShare(vectorShift(data.answer)) },
    };
  const { now, former } = found;
  const answer = word(now.label, 'answer');
  if (now.label === former.label) {
    const slots = { change, answer, was: formatShare(now.before), is: formatShare(now.after) };
    return { text: _('{change}, the answer stays {answer}: {was} → {is}.'), slots };
  }
  return {
    text: _('{change}, the answer turns from {former} to {answer}.'),
    slots: { change, former: word(former.label, 'former'), answer },
  };
}
