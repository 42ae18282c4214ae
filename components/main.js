// The entry of the library. components/library.py adds the modules of all components by `register`.

import { pageData } from './core/page_data.js';
import { applyStyle } from './runtime/component.js';
import { listenToPage } from './runtime/listen.js';
import { setPageStyle } from './runtime/streamlit.js';
import { listenForTips } from './widgets/tip.js';

/** @type {Record<string, {render: Function, unmount: Function}>} */
const components = {};

/** @type {Record<string, string[]>} the style sheets of components that have several */
const SHEETS = { training: ['lab', 'training', 'matrix'], findings: ['findings', 'matrix'] };

/** Adds the components among a module's exports, under their names. */
export function register(exports) {
  for (const [name, value] of Object.entries(exports)) if (value?.render) components[name] = value;
}

/** Displays a component, or updates it with new data, from the object that Streamlit passes to a component's script. */
export function render(name, component) {
  applyStyle(component.parentElement, ...(SHEETS[name] ?? [name]));
  components[name].render(component);
}

/** Ends a component that has left the page. */
export const unmount = (name, parentElement) => components[name].unmount(parentElement);

/** Stores the data that Python sends with the code, and starts to listen to the page's events. */
export function start(data) {
  Object.assign(pageData, data);
  setPageStyle(data.pageStyle);
  listenToPage();
  listenForTips();
}
