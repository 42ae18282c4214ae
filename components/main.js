// The entry of the library: maps the names under which Python registers components to the components.

import { catalogue, chooser } from './chooser/chooser.js';
import { comparison } from './comparison/comparison.js';
import { contributions } from './contributions/contributions.js';
import { pageData } from './core/page_data.js';
import { dial } from './dial/dial.js';
import { effect } from './effect/effect.js';
import { figure } from './figure/figure.js';
import { head_map } from './head_map/head_map.js';
import { heads } from './heads/heads.js';
import { hiding } from './hiding/hiding.js';
import { lens } from './lens/lens.js';
import { lesson } from './lesson/lesson.js';
import { navigation } from './navigation/navigation.js';
import { notice } from './notice/notice.js';
import { opening } from './opening/opening.js';
import { applyStyle } from './runtime/component.js';
import { listenToPage } from './runtime/listen.js';
import { text_box } from './text_box/text_box.js';
import { toolbar } from './toolbar/toolbar.js';
import { listenForTips } from './widgets/tip.js';
import { written } from './written/written.js';

const components = {
  catalogue,
  chooser,
  comparison,
  contributions,
  dial,
  effect,
  figure,
  head_map,
  heads,
  hiding,
  lens,
  lesson,
  navigation,
  notice,
  opening,
  text_box,
  toolbar,
  written,
};

/**
 * Displays a component, or updates it with new data. `component` is the object that Streamlit passes to a component's
 * script.
 */
export function render(name, component) {
  applyStyle(component.parentElement, name);
  components[name].render(component);
}

/** Ends a component that has left the page. */
export const unmount = (name, parentElement) => components[name].unmount(parentElement);

/** Stores the data that Python sends with the code, and starts to listen to the page's events. */
export function start(data) {
  Object.assign(pageData, data);
  listenToPage();
  listenForTips();
}
