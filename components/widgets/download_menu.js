// The download menu of a picture: SVG, PNG, CSV, or one HTML file, which the browser creates on request.

import { toCsv } from '../core/csv.js';
import { standalonePage } from '../core/picture/standalone.js';
import { fileName, framePicture, toMarkup } from '../core/picture/svg.js';
import { linkQuery } from '../core/query.js';
import { _, currentLanguage, N_ } from '../core/texts.js';
import { make, setText } from './dom.js';
import { createMenu } from './menu.js';
import { OFFLINE_SCRIPT } from './offline_script.js';

const SIDE = 16_000; // largest side in px of a canvas that every browser can create
const PATIENCE = 5_000; // ms to wait for the pixels of a picture
const SHOWN = 15_000; // ms for which a message is shown
const KEPT = 60_000; // ms until the URL of a saved file is revoked
const ICON = 'M8 2v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11';

/** Returns the link to the current state, without the given parameters. */
export function stateLink(without = []) {
  const query = new URLSearchParams(location.search);
  for (const name of ['embed', 'embed_options', ...without]) query.delete(name);
  const text = linkQuery(query);
  return linkTo(text ? `?${text}` : '');
}

/** Returns the link with this query. Some mail programs and chats end a link at a `?` without a `/` before it. */
export const linkTo = query => location.origin + location.pathname.replace(/\/?$/, '/') + query;

/** Saves a file. */
export function save(content, type, name) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  make('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT);
}

/** Returns the result of a promise, or null if it fails or takes longer than PATIENCE. */
const inTime = work => Promise.race([work, new Promise(done => setTimeout(done, PATIENCE, null))]).catch(() => null);

/** Returns a picture as a PNG blob at twice its size. */
async function rasterised({ width, height, tree }) {
  const url = URL.createObjectURL(new Blob([toMarkup(tree)], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const scale = Math.min(2, SIDE / Math.max(width, height));
    const canvas = make('canvas', { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise(done => canvas.toBlob(done, 'image/png'));
  } finally {
    URL.revokeObjectURL(url);
  }
}

async function saveSvg({ figure, frame, framed, name }) {
  const markup = figure ? await figure.svg(frame) : toMarkup(framed().tree);
  save(`<?xml version="1.0" encoding="UTF-8"?>\n${markup}\n`, 'image/svg+xml', name('svg'));
}

/** Format -> function that creates and saves the file. */
const MAKE = {
  svg: saveSvg,
  png: async offer => {
    const { figure, frame, framed, name, say } = offer;
    const blob = await inTime(figure ? figure.png(frame) : rasterised(framed()));
    if (blob) return save(blob, 'image/png', name('png'));
    // browsers that protect visitors from fingerprinting may refuse to read pixels
    say(_('This browser makes no PNG. The picture was saved as SVG.'));
    return saveSvg(offer);
  },
  csv: ({ table, citation, link, name }) => save(toCsv(table(), citation, link), 'text/csv;charset=utf-8', name('csv')),
  html: async ({ figure, frame, framed, title, name }) =>
    save(
      figure
        ? await figure.html(frame)
        : standalonePage({
            title,
            rest: _('Values: point, or use the arrow keys.'),
            tree: framed().tree,
            script: OFFLINE_SCRIPT,
            language: currentLanguage(),
          }),
      'text/html;charset=utf-8',
      name('html'),
    ),
};
const NAMES = {
  svg: N_('SVG: vector'),
  png: N_('PNG: twice the size'),
  csv: N_('CSV: numbers'),
  html: N_('HTML: works offline'),
};

/** Creates and saves a file of a format, a key of MAKE; `offer` as in createDownloadMenu, `say` shows a message. */
export function saveFile(kind, offer, say) {
  const citation = _('Made with Attention Lab: {what}.', { what: offer.models.join(', ') });
  const link = offer.link ?? stateLink();
  const name = ending => fileName([...offer.models, offer.what], ending);
  const framed = () => framePicture({ ...offer, picture: offer.picture(), citation, link });
  const frame = { title: offer.title, about: offer.about, citation, link };
  return MAKE[kind]({ ...offer, citation, link, name, frame, framed, say });
}

/** Creates a button with a menu of file formats: {element, close(), refresh(), rename(name)}. */
export function createDownloadMenu(offered, name = _('Download')) {
  const take = kind => saveFile(kind, offered(), say);
  const line = make('span.status', { role: 'status' });
  const say = text => {
    setText(line, text);
    setTimeout(() => setText(line, ''), SHOWN);
  };
  const menu = createMenu({
    icon: ICON,
    text: _('Download'),
    name,
    className: 'button small',
    entries: () => {
      const offer = offered();
      const kinds = Object.keys(NAMES).filter(kind => kind !== 'csv' || offer.table);
      return [...kinds.map(kind => ({ text: _(NAMES[kind]), act: () => take(kind) })), ...(offer.others ?? [])];
    },
  });
  menu.element.append(line);
  return menu;
}
