// The menu that lets a picture be taken away: as SVG, PNG, CSV, or one HTML file; made here, when it is asked for.

const SIDE = 16_000; // px of a canvas that every browser still makes
const KEPT = 60_000; // ms until the browser may forget a file that was saved
const ICON = 'M8 2v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11';

/** A tree as elements. */
lab.vector = node => {
  if (typeof node === 'string') return document.createTextNode(node);
  const [tag, attributes, ...children] = node;
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children.map(lab.vector));
  return element;
};

/** An icon from a path in a box of 16 by 16. */
lab.icon = path => lab.vector(['svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true', class: 'icon' }, ['path', { d: path }]]);

/** The address of the present state, as others can open it: not embedded, and without a place on the page. */
lab.stateLink = () => {
  const query = new URLSearchParams(location.search);
  query.delete('embed');
  query.delete('embed_options');
  const text = query.toString();
  return location.origin + location.pathname + (text ? `?${text}` : '');
};

function save(content, type, name) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  lab.make('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT);
}

/** A picture at twice its size, as a blob. */
async function rasterised({ width, height, tree }) {
  const url = URL.createObjectURL(new Blob([lab.markup(tree)], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = Math.min(2, SIDE / Math.max(width, height));
    const canvas = lab.make('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise(done => canvas.toBlob(done, 'image/png'));
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** {kind: (offer) => file}: what can be made here. */
const MAKE = {
  svg: ({ framed, name }) => save(`<?xml version="1.0" encoding="UTF-8"?>\n${lab.markup(framed().tree)}\n`, 'image/svg+xml', name('svg')),
  png: async ({ framed, name }) => save(await rasterised(framed()), 'image/png', name('png')),
  csv: ({ table, citation, link, name }) => save(lab.csv(table(), citation, link), 'text/csv;charset=utf-8', name('csv')),
  html: ({ framed, title, name }) =>
    save(
      lab.standalone({ title, rest: 'Point at the picture, or use the arrow keys, for its values.', tree: framed().tree, language: document.documentElement.lang }),
      'text/html;charset=utf-8',
      name('html'),
    ),
};
const NAMES = { svg: 'SVG: vector picture', png: 'PNG: picture at twice the size', csv: 'CSV: the numbers', html: 'HTML: one file, works offline' };

/**
 * {element, close()}: a button with its menu.
 * @param {() => {title: string, about: string[], names: string[], picture: () => object, table?: () => object,
 *   others?: {name: string, act: () => void}[]}} offered what is taken away, asked for when an entry is chosen;
 *   without a table there is no CSV
 */
lab.takeAway = (state, offered) => {
  const button = lab.make(
    'button',
    { type: 'button', className: 'take', attributes: { 'aria-haspopup': 'menu', 'aria-expanded': false } },
    lab.icon(ICON),
    lab.make('span', { textContent: 'Take away' }),
  );
  const menu = lab.make('div', { className: 'menu', hidden: true, attributes: { role: 'menu', 'aria-label': 'Take away' } });
  const element = lab.make('div', { className: 'taking' }, button, menu);
  let outside = null;

  const close = refocus => {
    if (menu.hidden) return;
    menu.hidden = true;
    lab.set(button, 'aria-expanded', false);
    outside?.abort();
    if (refocus) button.focus();
  };

  const take = kind => {
    const offer = offered();
    const [citation, link] = [`Attention Lab, ${offer.names.join(', ')}.`, lab.stateLink()];
    const name = ending => lab.fileName(offer.names, ending);
    const framed = () => lab.framed({ ...offer, picture: offer.picture(), citation, link });
    return MAKE[kind]({ ...offer, citation, link, name, framed });
  };

  const entry = (text, act) =>
    lab.make('button', {
      type: 'button',
      textContent: text,
      tabIndex: -1,
      attributes: { role: 'menuitem' },
      onclick: () => {
        close(true);
        act();
      },
    });

  const open = last => {
    const offer = offered();
    const kinds = Object.keys(NAMES).filter(kind => kind !== 'csv' || offer.table);
    menu.replaceChildren(
      ...kinds.map(kind => entry(NAMES[kind], () => take(kind))),
      ...(offer.others ?? []).map(({ name, act }) => entry(name, act)),
    );
    menu.hidden = false;
    // To the left where it would leave the screen.
    menu.classList.toggle('leftwards', button.getBoundingClientRect().left + menu.offsetWidth > document.documentElement.clientWidth - 8);
    lab.set(button, 'aria-expanded', true);
    menu.children[last ? menu.children.length - 1 : 0].focus();
    outside = new AbortController();
    const { signal } = outside;
    document.addEventListener('pointerdown', event => event.composedPath().includes(element) || close(false), { signal, capture: true });
  };

  button.onclick = () => (menu.hidden ? open(false) : close(true));
  element.addEventListener('keydown', event => {
    const entries = Array.from(menu.children);
    const at = entries.indexOf(event.target);
    const inside = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 };
    if (menu.hidden) {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      open(event.key === 'ArrowUp');
    } else if (event.key in inside) entries[(inside[event.key] + entries.length) % entries.length].focus();
    else if (event.key === 'Escape') close(true);
    else {
      if (event.key === 'Tab') close(true);
      event.stopPropagation(); // letters are keys of the heads, and here they are none
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  return { element, close: () => close(false) };
};
