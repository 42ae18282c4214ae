// Downloads of the grids: a picture of all heads, and files of all numbers, which the server creates.

import { quoteToken } from '../core/format.js';
import { gridPicture } from '../core/picture/maps.js';
import { _, N_ } from '../core/texts.js';
import { keySelector } from '../runtime/streamlit.js';

const PATIENCE = 30_000; // ms to wait for the server's file

/** Returns the content of the grids' download menu. */
export function gridOffer(state) {
  const { grids, arrays, model, files, shading } = state.data;
  return {
    title: _('{model}, all heads', { model }),
    about: [
      ...(state.data.sentence ? [quoteToken(state.data.sentence)] : []),
      _('Layers down, heads across. C: constant; P: patched; a bar below: its gate; crossed out: pruned.'),
    ],
    models: [model],
    what: 'all-heads',
    picture: () => gridPicture(grids, kind => arrays[`tiles ${kind}`].data, shading),
    others: [
      ...Object.entries(files ? FILES : {}).map(([what, text]) => ({ text: _(text), act: () => fetch(state, what) })),
      ...savedModel(state),
    ],
  };
}

/** Returns the menu entry for the model under the plan; the entry is disabled if the model cannot be saved. */
function savedModel(state) {
  const { files, unsaved } = state.data;
  if (!files || unsaved === undefined) return [];
  const text = _('Model with these gates, for transformers (.zip)');
  return [{ text: unsaved ? `${text}: ${unsaved}` : text, disabled: Boolean(unsaved), act: () => fetch(state, 'zip') }];
}

const FILES = {
  csv: N_('Weights of all heads, CSV'),
  json: N_('All numbers, JSON'),
  npz: N_('All numbers, NumPy (.npz)'),
};

/** Requests a file from Python, which adds a download button to the page, and presses that button. */
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
