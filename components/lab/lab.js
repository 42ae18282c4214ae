// The Lab: composes the picture, the answer, the text field and the inspector.

import { defineComponent } from '../runtime/component.js';
import { make, setText } from '../widgets/dom.js';

function create(state) {
  const raw = make('pre');
  state.root.append(raw);
  return { raw };
}

function update(state, data) {
  const { arrays, ...header } = data;
  setText(state.raw, JSON.stringify(header, null, 1) + Object.keys(arrays).join(' '));
}

export const lab = defineComponent({ create, update, parts: ['numbers', 'selection'] });
