// The tools of the Lab's inspector: which one is open, which ones a search finds, and the numbers that they show.

import { headRow } from './weights.js';

/** The tabs of the inspector, in order. */
export const THINGS = ['head', 'layer', 'all', 'word', 'answer'];

/** The scope of a selection that belongs to a tab; null for tabs that keep the selection. */
export const SCOPES = { head: 'head', layer: 'row', all: 'all', word: null, answer: null };

const TABS = { head: 'head', row: 'layer', all: 'all' };

/** Returns the thing of a tool's key, like `head` of `head.looks`. */
export const thingOfTool = key => key.split('.')[0];

/** Returns the key of a thing's first tool; null if no tool fits the model. */
export const firstTool = (tools, thing) => tools.find(tool => tool.thing === thing)?.key ?? null;

/** Returns the key of the open tool with the waiting events applied, as in app/lab/page.py. */
export function openTool({ tools, tool, thing }, waiting) {
  let key = tool?.key ?? firstTool(tools, thing);
  for (const event of waiting) {
    if (event.type === 'tool') key = event.name;
    const opened = event.type === 'thing' ? event.thing : event.type === 'select' ? TABS[event.scope] : null;
    if (opened && thingOfTool(key ?? '') !== opened) key = firstTool(tools, opened) ?? key;
  }
  return key;
}

/** Returns the value of a setting of a tool: that of the payload, or of the newest waiting event. */
export const settingOf = (value, waiting, name) =>
  waiting.findLast(event => event.type === 'set' && event.name === name)?.value ?? value;

// what users of other tools search for; not shown
const ALSO = { find: ['induction'], order: ['prune', 'ablation'], fewest: ['prune', 'circuit'], carry: ['circuit'] };

/** Returns the tools whose question or term contains all words of a search, in their order. */
export function foundTools(tools, search) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return tools.filter(({ key, question, term }) => {
    const text = `${question} ${term} ${ALSO[key.split('.')[1]] ?? ''}`.toLowerCase();
    return words.every(word => text.includes(word));
  });
}

/** Returns the entropy of a row of weights, divided by its sum, in nats. */
export function entropy(row) {
  const sum = row.reduce((total, weight) => total + weight, 0);
  if (!(sum > 0)) return 0;
  return row.reduce((total, weight) => total - (weight > 0 ? (weight / sum) * Math.log(weight / sum) : 0), 0);
}

/** Returns {value, index} of the largest numbers of a row, largest first. */
export const largest = (row, count) =>
  Array.from(row, (value, index) => ({ value, index }))
    .sort((one, other) => other.value - one.value || one.index - other.index)
    .slice(0, count);

/** Returns {layer, head, value} of heads by their mean weight on a key over later queries, largest first. */
export function lookersAt(data, kindName, position) {
  const kind = data.kinds.find(each => each.kind === kindName);
  const isSame = kind.queries === kind.keys;
  const queries = Array.from(data.tokens[kind.queries].keys()).filter(
    i => !(isSame && i === position) && (!kind.causal || i > position),
  );
  if (!kind.exact || !queries.length) return [];
  const found = [];
  for (let layer = 0; layer < kind.layers; layer += 1)
    for (let head = 0; head < kind.heads; head += 1) {
      const sum = queries.reduce((total, i) => total + headRow(data, kindName, layer, head, i)[position], 0);
      found.push({ layer, head, value: sum / queries.length });
    }
  return found.sort((one, other) => other.value - one.value);
}

const CHANGED = 0.005; // nats below which a change of a loss is not named

/** Returns {mean, before, most} of losses: their means, and the `count` largest changes as {index, change}. */
export function lossSummary(losses, before, count = 2) {
  const mean = values => {
    const known = values.filter(value => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  };
  const changes = (before ?? [])
    .map((old, index) => ({ index, change: old === null || losses[index] === null ? 0 : losses[index] - old }))
    .filter(({ change }) => Math.abs(change) >= CHANGED)
    .sort((one, other) => Math.abs(other.change) - Math.abs(one.change));
  return { mean: mean(losses), before: before && mean(before), most: changes.slice(0, count) };
}

/** Returns round numbers from `low` to `high`, at most `most` of them, for the ticks of an axis. */
export function axisTicks(low, high, most = 6) {
  const span = Math.max(high - low, 1e-9);
  const power = 10 ** Math.floor(Math.log10(span / most));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => span / size <= most);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
