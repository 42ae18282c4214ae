// The downloads of the large map, and the names of its views.

import { cellValues, gateOpacity } from '../core/attention/pattern.js';
import { scopeName, stateName } from '../core/head_state.js';
import { mapPicture, mapTable } from '../core/picture/maps.js';
import { wordsPicture, wordsTable } from '../core/picture/words.js';
import { _, N_ } from '../core/texts.js';

export const VIEWS = {
  used: N_('Used'),
  live: N_('Computed'),
  constant: N_('Constant'),
  difference: N_('C − computed'),
  change: N_('After − before'),
  mask: N_('Mask F'),
};

/** Returns the content of the download menu of a large map. */
export function mapOffer(state) {
  const { data, most } = state;
  const view = state.view === 'mask' ? 'used' : state.view;
  const head = scopeName({ ...data, scope: 'head' }, data.kind_title);
  const map = {
    rows: data.rows,
    columns: data.columns,
    causal: data.causal,
    sink: data.sink,
    value: cellValues(data, view),
    most,
    view,
    shading: state.shading,
    opacity: view === 'used' ? gateOpacity(data.gate) : 1,
    pruned: view === 'used' && data.gate === 0,
  };
  const words = state.form === 'words' ? state.words.shown : null;
  if (words)
    return {
      title: [data.model, head, _(VIEWS[state.view])].join(' · '),
      about: [words.sentence ?? ''],
      models: [data.model],
      what: `layer-${data.layer + 1}-head-${data.head + 1}-words`,
      picture: () => wordsPicture(words),
      table: () => wordsTable(words),
    };
  return {
    title: `${data.model} · ${head} · ${stateName(data.constant, data.gate, data.patched)} · ${_(VIEWS[view])}`,
    about: [_('Rows are queries, columns are keys.')],
    models: [data.model],
    what: `layer-${data.layer + 1}-head-${data.head + 1}-${view}`,
    picture: () => mapPicture(map),
    table: () => mapTable({ ...map, name: view }),
  };
}
