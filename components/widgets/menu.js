// A button with a menu, for the header and for downloads; and functions that convert SVG trees to elements.

import { make, setAttribute, setText } from './dom.js';

const EDGE = 8; // px

/** Creates SVG elements from a tree of core/picture/svg.js. */
export function svgElement(node) {
  if (typeof node === 'string') return document.createTextNode(node);
  const [tag, attributes, ...children] = node;
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children.map(svgElement));
  return element;
}

/** Creates an icon from a path in a 16 x 16 box; fonts differ in the symbols that they contain. */
export const iconElement = path =>
  svgElement(['svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true', class: 'icon' }, ['path', { d: path }]]);

/** Returns the role of an entry, and whether it is checked. */
function kindOf(checked, on) {
  if (checked !== undefined) return { role: 'menuitemradio', 'aria-checked': checked };
  return on === undefined ? { role: 'menuitem' } : { role: 'menuitemcheckbox', 'aria-checked': on };
}

/**
 * Creates {element, button, close(), refresh(), rename(name), write(text)}: a button and its menu, with the usual keys of
 * a menu. `refresh()` shows the current entries if the menu is open; the owner calls it when entries may have changed.
 * @param {{icon?: string, text: string, name?: string, className?: string, entries: () => {text: string, act: () =>
 *   void, note?: string, checked?: boolean, on?: boolean, disabled?: boolean}[]}} menu `entries` is called when the menu
 *   opens or is refreshed. `note` is a second line. Entries with `checked` are radio items, entries with `on` are check
 *   boxes. A disabled entry can be focused and read, but a click has no effect
 */
export function createMenu({ icon, text, name = text, className = '', entries }) {
  const button = make(
    'button',
    { className, title: text, 'aria-haspopup': 'menu', 'aria-expanded': false, 'aria-label': name },
    ...(icon ? [iconElement(icon)] : []),
    make('span.text', { textContent: text }),
  );
  const menu = make('div.menu', { hidden: true, role: 'menu', 'aria-label': name });
  const element = make('div.with-menu', button, menu);
  let outside = null;

  const close = refocus => {
    if (menu.hidden) return;
    menu.hidden = true;
    setAttribute(button, 'aria-expanded', false);
    outside?.abort();
    if (refocus) button.focus();
  };

  const item = ({ text: label, note, act, checked, on, disabled = false }) =>
    make(
      'button.item.fill',
      {
        tabIndex: -1,
        ...kindOf(checked, on),
        ...(disabled ? { 'aria-disabled': true } : {}),
        onclick: () => {
          if (disabled) return;
          close(true);
          act();
        },
      },
      label,
      ...(note ? [make('small', { textContent: note })] : []),
    );

  let shown = ''; // the texts and states of the displayed entries, as JSON, to detect a change
  const fill = offered => {
    shown = JSON.stringify(offered);
    menu.replaceChildren(...offered.map(item));
    menu.style.left = '';
    const { left, right } = menu.getBoundingClientRect();
    const shift = Math.max(EDGE - left, Math.min(0, document.documentElement.clientWidth - EDGE - right));
    menu.style.left = `${shift / (menu.currentCSSZoom ?? 1)}px`; // the menu stays inside the window
  };

  const refresh = () => {
    if (menu.hidden) return;
    const offered = entries();
    if (JSON.stringify(offered) === shown) return; // entries that stay are not replaced under the pointer
    const at = Array.from(menu.children).indexOf(menu.getRootNode().activeElement);
    fill(offered);
    /** @type {HTMLElement | undefined} */ (menu.children[Math.min(at, offered.length - 1)])?.focus();
  };

  const open = last => {
    menu.hidden = false;
    fill(entries());
    menu.tabIndex = menu.scrollHeight > menu.clientHeight ? 0 : -1; // a menu that scrolls can be scrolled by keys
    setAttribute(button, 'aria-expanded', true);
    const chosen = Array.from(menu.children).find(({ ariaChecked }) => ariaChecked === 'true');
    (last ? menu.lastChild : (chosen ?? menu.firstChild)).focus();
    outside = new AbortController();
    const listen = { signal: outside.signal, capture: true };
    document.addEventListener('pointerdown', event => event.composedPath().includes(element) || close(false), listen);
  };

  button.onclick = () => (menu.hidden ? open(false) : close(true));
  element.addEventListener('keydown', event => {
    const items = Array.from(menu.children);
    const at = items.indexOf(event.target);
    const inside = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
    if (menu.hidden) {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      open(event.key === 'ArrowUp');
    } else if (event.key in inside) items[(inside[event.key] + items.length) % items.length].focus();
    else if (event.key === 'Escape') close(true);
    else {
      if (event.key === 'Tab') close(true);
      event.stopPropagation(); // the key event ends here: letters are shortcuts of the heads, but not inside a menu
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  const rename = name => [button, menu].forEach(one => setAttribute(one, 'aria-label', name));
  const write = label => {
    setText(button.querySelector('.text'), label);
    setAttribute(button, 'title', label);
    rename(label);
  };
  return { element, button, rename, write, refresh, close: () => close(false) };
}
