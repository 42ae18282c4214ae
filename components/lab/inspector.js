// The inspector below the picture: tabs that name the selection, the state of the selected heads, the drawing of the open
// tool, and the tools as questions.

import { wordNames } from '../core/attention/words.js';
import { scopeName } from '../core/head_state.js';
import { formatShare, shortHead } from '../core/stage/sentences.js';
import { firstTool, openTool, SCOPES, settingOf, THINGS, thingOfTool } from '../core/stage/tools.js';
import { currentView } from '../core/stage/view.js';
import { _ } from '../core/texts.js';
import { offerTools } from '../runtime/finding.js';
import { make, setAttribute, setChildren } from '../widgets/dom.js';
import { addTip } from '../widgets/tip.js';
import { createPalette } from './palette.js';
import { createSide } from './side.js';
import { drawComposed } from './tools/composed.js';
import { button, note, wordElement } from './tools/parts.js';
import { drawingOf } from './tools/registry.js';

const PINS = { 'grid-column': '1 / -1', 'grid-template-columns': 'repeat(auto-fit, minmax(340px, 1fr))' };
const WAIT = 150; // ms after which an open tool without numbers says that it computes
let isLinked = new URLSearchParams(location.search).has('lab'); // the address that was opened names a tool

/**
 * Creates the inspector: {element, update(data), close()}, and sets `state.openPalette`, which opens the list of tools. The owner calls `update` with each payload and
 * whenever an event was sent, and `close` when the component leaves the page.
 *
 * The `api` that the tools' drawings receive has `data` (the payload), `now` (currentView), `key` and `tool` (key and
 * payload of the open tool; null before Python has answered), `thing`, `kind` (the selected block), `queries` and `keys`
 * (its words), `dark`, `wide` (true in the wide view), and the functions `send(event)`, `setting(name, value)` (the value of a setting that may wait),
 * `set(name, value)`, `open(key)`, `select(layer, head, scope, kind)` and `overlay(values)`, which marks the picture (lab.js).
 */
export function createInspector(state) {
  const last = {}; // thing -> key of the tool that was open last
  let data = null;
  let timer = 0;
  let asking = 0; // timer of a tool that goes on computing
  let drawn = null; // what the view shows: a change of it scrolls the view to its beginning
  let chosen = isLinked; // true until the tool that was chosen is in view
  let pinned = Infinity; // figures that were kept last
  isLinked = false;

  const send = event => {
    state.send(event);
    state.refresh();
  };
  const open = key => {
    const thing = thingOfTool(key);
    const { selection } = currentView(data, state.waiting());
    const scope = SCOPES[thing];
    if (scope && selection.scope !== scope && !(thing === 'head' && selection.scope.startsWith('and.')))
      state.send({ type: 'select', ...selection, scope });
    send({ type: 'tool', name: key });
  };
  const select = (layer, head, scope = 'head', kind = currentView(data, state.waiting()).selection.kind) =>
    send({ type: 'select', kind, layer, head, scope });

  const tabs = THINGS.map(thing =>
    make('button', { dataset: { thing }, onclick: () => openThing(thing), role: 'tab', 'aria-controls': 'inspected' }),
  );
  const headButton = (textContent, onclick, more = {}) => make('button.reset', { textContent, onclick, ...more });
  const signButton = (sign, title, onclick) => headButton(sign, onclick, { title, 'aria-label': title });
  const reset = headButton(_('Undo all changes'), () => send({ type: 'reset' }));
  const things = make('div.things.flex', { role: 'tablist', 'aria-label': _('Selection') }, ...tabs);
  const side = createSide(send);
  const view = make('div.view', { id: 'inspected', role: 'tabpanel', tabIndex: -1 });
  const tools = make('div.tools', { role: 'group', 'aria-label': _('Tools') });
  const wide = make('dialog.wide-view', { 'aria-label': _('Wide view') });
  wide.onclose = () => {
    side.element.after(view);
    update(data);
  };
  wide.append(headButton(_('Close'), () => wide.close(), { style: { float: 'inline-end' } }));
  wide.onpointerdown = event => event.target === wide && wide.close(); // the backdrop
  const widen = signButton('⤢', _('Wide view'), () => {
    wide.append(view);
    wide.showModal();
    update(data);
  });
  const pin = signButton('⊕', _('Keep this figure below'), () => {
    const key = openTool(data, state.waiting());
    send({ type: 'pin', name: key, on: !data.pins?.some(tool => tool.key === key) });
  });
  const pins = make('div.pins', { style: PINS });
  const tabline = make('div.tabline.flex', things, reset, pin, widen);
  const element = make('section.inspector.grid.card', { 'aria-label': _('The selection and its tools') });
  const unfold = key => {
    state.unfolded = data.lesson?.place; // the step that shows more than it needs
    open(key);
  };
  const palette = createPalette(unfold);
  element.append(tabline, side.element, view, tools, pins, palette.element, wide);

  const openThing = thing => {
    const key = last[thing] ?? firstTool(data.tools, thing);
    const show = data.lesson?.needs === 'picture' ? unfold : open;
    if (key && data.tools.some(tool => tool.key === key)) show(key);
  };

  things.addEventListener('keydown', event => {
    const shown = tabs.filter(tab => !tab.hidden);
    const at = shown.indexOf(event.target);
    const place = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (at < 0 || place === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const tab = shown[(place + shown.length) % shown.length];
    openThing(tab.dataset.thing);
    tab.focus();
  });

  const showTabs = (now, thing) => {
    for (const tab of tabs) {
      const each = tab.dataset.thing;
      tab.hidden = !data.tools.some(tool => tool.thing === each);
      setAttribute(tab, 'aria-selected', each === thing);
      tab.tabIndex = each === thing ? 0 : -1;
      const { text, word, share = '', name } = tabName(each, data, now);
      const pieces = () => [text, ...(word === undefined ? [] : [' ', wordElement(word), share])];
      setChildren(tab, [text, word, share], pieces);
      if (name) setAttribute(tab, 'aria-label', name);
      else tab.removeAttribute('aria-label');
    }
    reset.hidden = !data.changed;
  };

  const showTools = (key, thing) => {
    const offered = data.tools.filter(tool => tool.thing === thing);
    setChildren(tools, offered, () => [
      ...offered.map(tool =>
        make(
          'button.item.flex',
          { dataset: { key: tool.key }, onclick: () => open(tool.key) },
          make('span', { textContent: tool.question }),
          tipped(make('small', { textContent: tool.term }), tool.tip),
        ),
      ),
      make(
        'button.every.item.flex',
        { onclick: () => palette.open(data.tools), 'aria-haspopup': 'dialog' },
        make('span', { textContent: _('All tools') }),
        make('kbd', { textContent: '/' }),
      ),
    ]);
    for (const each of tools.children)
      if (each.dataset.key) setAttribute(each, 'aria-pressed', each.dataset.key === key);
  };

  /** Returns what a drawing of a tool receives; `arrays` replace those of the payload. */
  const apiOf = (now, key, tool, overlay, arrays = data.arrays) => {
    const kind = data.kinds.find(each => each.kind === now.selection.kind);
    const name = key.split('.')[1];
    return {
      ...{ now, key, tool, kind, send, open, select, overlay },
      data: { ...data, arrays },
      thing: thingOfTool(key),
      dark: state.dark,
      wide: wide.open,
      queries: wordNames(data.tokens[kind.queries]),
      keys: wordNames(data.tokens[kind.keys]),
      setting: (setting, value) => settingOf(value, state.waiting(), `${name}.${setting}`),
      set: (setting, value) => send({ type: 'set', name: `${name}.${setting}`, value }),
    };
  };

  /** Draws the pinned tools, two abreast. */
  const showPins = now => {
    pins.hidden = !data.pins?.length;
    pins.replaceChildren(
      ...(data.pins ?? []).map((tool, index) => {
        const own = Object.entries(data.arrays).filter(([name]) => name.startsWith(`pin${index}.`));
        const arrays = { ...data.arrays, ...Object.fromEntries(own.map(([name, array]) => [name.slice(5), array])) };
        const { draw } = drawingOf(tool.key.split('.')[1]) ?? { draw: drawComposed };
        const place = make('div', { className: `drawing ${tool.key.split('.')[1]}` });
        const api = apiOf(now, tool.key, tool, () => undefined, arrays);
        if (tool.message) place.append(note(tool.message));
        else draw(place, api);
        const off = () => send({ type: 'pin', name: tool.key, on: false });
        const remove = button('✕', off);
        remove.setAttribute('aria-label', _('Remove figure {n}', { n: index + 1 }));
        return make('figure', make('figcaption', make('b', { textContent: `${index + 1} ` }), remove), place);
      }),
    );
  };

  const showView = (now, key) => {
    clearTimeout(timer);
    clearInterval(asking);
    const { draw, isLocal = false } = (key && drawingOf(key.split('.')[1])) || { draw: drawComposed };
    const tool = data.tool?.key === key ? data.tool : null;
    if (!tool && !isLocal) {
      view.classList.add('waits');
      timer = setTimeout(() => view.replaceChildren(note(_('Computing…'))), WAIT);
      return undefined;
    }
    view.classList.remove('waits');
    const api = apiOf(now, key, tool, values => Object.assign(state.overlay, values));
    const place = make('div', { className: `drawing ${key.split('.')[1]}` });
    if (tool?.message) place.append(note(tool.message));
    else draw(place, api);
    if (tool?.again)
      asking = setInterval(
        () => state.waiting().some(({ type }) => type === 'again') || send({ type: 'again' }),
        tool.again,
      );
    const keepFocus = focusIn(view);
    view.replaceChildren(place);
    keepFocus();
    if (drawn !== key) view.scrollTo(0, 0);
    drawn = key;
    return undefined;
  };

  const update = news => {
    const isFirst = !data;
    data = news;
    if (isFirst) offerTools(state.openPalette);
    const waiting = state.waiting();
    const now = currentView(data, waiting);
    const key = openTool(data, waiting);
    const thing = key ? thingOfTool(key) : now.thing;
    if (key) last[thing] = key;
    showTabs(now, thing);
    if (element.dataset.thing !== thing) things.scrollLeft = tabs[THINGS.indexOf(thing)].offsetLeft - 40; // on phones
    element.dataset.thing = thing;
    side.show(data, now, thing);
    showTools(key, thing);
    const old = JSON.stringify(state.overlay);
    state.overlay = {};
    showView(now, key);
    showPins(now);
    const count = data.pins?.length ?? 0;
    if (count > pinned) scrollTo(pins);
    pinned = count;
    if (waiting.some(({ type }) => type === 'tool')) chosen = true;
    else if (chosen && !view.classList.contains('waits')) {
      chosen = false;
      // during the first minute, the picture stays in view
      const isFree = !data.lesson && !wide.open && !state.root.querySelector('.minute:not([hidden])');
      if (isFree && element.getBoundingClientRect().bottom > innerHeight) scrollTo(element);
    }
    setAttribute(pin, 'aria-pressed', Boolean(data.pins?.some(tool => tool.key === key)));
    if (JSON.stringify(state.overlay) !== old) state.repaint();
  };

  state.openPalette = () => {
    palette.open(data.tools);
    return true;
  };

  return {
    element,
    update,
    close: () => {
      clearTimeout(timer);
      clearInterval(asking);
      palette.close();
      offerTools(null);
    },
  };
}

/** Scrolls as little as possible to an element, and at once: a press during a smooth scroll would miss its target. */
function scrollTo(element) {
  element.scrollIntoView({ block: 'nearest', behavior: 'instant' });
}

const tipped = (element, tip) => (tip ? addTip(element, tip) : element);

const FOCUSABLE = 'a, button, input, textarea, select, summary, [tabindex]';

/** Returns a function that focuses the element at the place of the one that has the focus now. */
function focusIn(view) {
  const at = Array.from(view.querySelectorAll(FOCUSABLE)).indexOf(view.getRootNode().activeElement);
  return () => {
    if (at >= 0) /** @type {HTMLElement} */ (view.querySelectorAll(FOCUSABLE)[at])?.focus({ preventScroll: true });
  };
}

/** Returns {text, word, share, name} of a tab: `word` is a token, `share` its probability, and `name` is what a screen reader reads instead. */
function tabName(thing, data, now) {
  const { selection } = now;
  const kind = data.kinds.find(each => each.kind === selection.kind);
  const several = selection.scope.startsWith('and.') || selection.scope === 'column';
  switch (thing) {
    case 'head': {
      const name = scopeName(
        several ? selection : { ...selection, scope: 'head' },
        data.kinds.length > 1 ? kind.title : '',
      );
      const short = shortHead(selection.layer, selection.head, kind.kind); // names the stack, where there are several
      return { text: several ? name : data.kinds.length > 1 ? short : _('Head {name}', { name: short }), name };
    }
    case 'layer':
      return { text: _('Layer {n}', { n: selection.layer + 1 }) };
    case 'all':
      return { text: _('All heads') };
    case 'word':
      return { text: _('Word'), word: wordNames(data.tokens[kind.queries])[now.look] ?? '' };
    default: {
      const rows = data.answer?.rows;
      if (!rows?.length) return { text: _('Answer') };
      const { label, after } = rows.reduce((best, row) => (row.after > best.after ? row : best));
      return { text: _('Answer'), word: label, share: ` ${formatShare(after)}` };
    }
  }
}
