// What the grids offer for download; files of all numbers are made by the server.

import { gridPicture } from '../core/picture/maps.js';
import { _, N_ } from '../core/texts.js';
import { keySelector } from '../runtime/streamlit.js';

const PATIENCE = 30_000; // ms until the server must have answered

/** What the menu of the grids offers; the numbers of all heads are not here, and are asked of Python. */
export function gridOffer(state) {
  const { grids, arrays, model, files } = state.data;
  return {
    title: _('{model}, all heads', { model }),
    about: [_('Layers down, heads across. C: constant; a bar below: its gate; crossed out: pruned.')],
    models: [model],
    what: 'all-heads',
    picture: () => gridPicture(grids, kind => arrays[`tiles ${kind}`].data),
    others: Object.entries(files ? FILES : {}).map(([what, text]) => ({
      text: _(text),
      act: () => fetch(state, what),
    })),
  };
}

const FILES = {
  csv: N_('Weights of all heads, CSV'),
  json: N_('All numbers, JSON'),
  npz: N_('All numbers, NumPy (.npz)'),
};

/** Asks Python for the button that fetches a file, and presses it when it is there. */
async function fetch(state, what) {
  const number = state.send({ type: 'take', what });
  const until = performance.now() + PATIENCE;
  while (state.waiting().some(({ type }) => type === 'take') && performance.now() < until)
    await new Promise(done => setTimeout(done, 50));
  while (performance.now() < until) {
    const button = /** @type {HTMLElement} */ (
      document.querySelector(`${keySelector(`take-${what}-${number}`)} button`)
    );
    if (button) return button.click();
    await new Promise(done => setTimeout(done, 50));
  }
}
