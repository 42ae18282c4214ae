// SVG pictures as trees: [tag, attributes, ...children]; a string is text. The page draws the trees, and files contain
// them as XML.

import { truncate } from '../format.js';

/** The colours of downloaded pictures: for printing on paper, independent of the page's theme. */
export const PAPER = {
  ink: '#1b1b26',
  faint: '#5b5b68',
  line: '#d9d9e3',
  ground: '#ffffff',
  panel: '#f4f4f8',
  accent: '#3f3d9e',
  dark: false,
};
export const SVG_FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", "Noto Sans CJK SC", sans-serif';

const SIGNS = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
// Characters that XML 1.0 does not allow: most control characters, and lone surrogates.
const UNKNOWN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** Escapes a text for XML and HTML, inside and outside of attributes. */
export const escapeXml = text =>
  String(text)
    .replace(UNKNOWN, '\ufffd')
    .replace(/[&<>"']/g, sign => SIGNS[sign]);

/** Returns a tree as XML. */
export function toMarkup(node) {
  if (typeof node === 'string') return escapeXml(node);
  const [tag, attributes, ...children] = node;
  const named = Object.entries(attributes ?? {}).map(([name, value]) => ` ${name}="${escapeXml(value)}"`);
  return children.length
    ? `<${tag}${named.join('')}>${children.map(toMarkup).join('')}</${tag}>`
    : `<${tag}${named.join('')}/>`;
}

/** Returns a length in px with two decimals at most. */
export const toPx = value => String(Math.round(100 * value) / 100);

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f300}-\u{1faff}]/u;
const widthOf = sign =>
  WIDE.test(sign)
    ? 1.05
    : /[mwMW@%→…]/.test(sign)
      ? 0.9
      : /[iljtfr.,:;'|!()[\] ]/.test(sign)
        ? 0.36
        : /[A-Z0-9]/.test(sign)
          ? 0.66
          : 0.58;

/** Returns the approximate width of a text in px, without a page in which to measure it. */
export const textWidth = (text, size) => size * Array.from(text).reduce((sum, sign) => sum + widthOf(sign), 0);

/** Returns at most `most` lines of at most `width` px; words that are too long are broken. */
export function wrapText(text, width, size, most = Infinity) {
  const lines = [''];
  for (const piece of text.match(/\s+|[^\s]+/g) ?? []) {
    for (const part of textWidth(piece, size) > width ? Array.from(piece) : [piece]) {
      if (textWidth(lines.at(-1) + part, size) <= width || !lines.at(-1).trim()) lines[lines.length - 1] += part;
      else lines.push(part.trimStart());
    }
  }
  const shown = lines.map(line => line.trim()).filter(Boolean);
  return shown.length <= most
    ? shown
    : [...shown.slice(0, most - 1), truncate(shown[most - 1], 60).replace(/…?$/, '…')];
}

const MARGIN = 20; // margin in px around a downloaded picture
const LEAST = 480; // smallest width in px for the texts of a downloaded picture

/** Returns a picture for download: title, drawing, explanation, citation and link. */
export function framePicture({ title, about, picture, citation, link }) {
  const { ink, faint, ground } = PAPER;
  const width = Math.ceil(Math.max(LEAST, picture.width));
  const nodes = [];
  let y = MARGIN;
  const write = (lines, size, attributes, wrap = node => node) => {
    for (const line of lines) {
      y += size;
      nodes.push(wrap(['text', { x: MARGIN, y: toPx(y), 'font-size': size, fill: faint, ...attributes }, line]));
      y += Math.round(0.4 * size);
    }
  };
  write(wrapText(title, width, 16), 16, { fill: ink, 'font-weight': 600 });
  y += 8;
  nodes.push(['g', { transform: `translate(${MARGIN} ${toPx(y)})` }, ...picture.nodes]);
  y += picture.height + 10;
  write(
    about.flatMap(sentence => wrapText(sentence, width, 12)),
    12,
  );
  y += 4;
  write(wrapText(citation, width, 11), 11);
  write(wrapText(link, width, 11, 3), 11, { 'text-decoration': 'underline' }, node => ['a', { href: link }, node]);
  const size = { width: width + 2 * MARGIN, height: Math.ceil(y + MARGIN - 4) };
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${size.width} ${size.height}`,
    ...size,
    'font-family': SVG_FONT,
    role: 'img',
  };
  const tree = [
    'svg',
    attributes,
    ['title', {}, title],
    ['desc', {}, `${about.join(' ')} ${citation} ${link}`],
    ['rect', { ...size, fill: ground }],
    ...nodes,
  ];
  return { ...size, tree };
}

const LONGEST = 120; // largest number of characters of a file name; systems limit the length of a path

/** Returns a file name of lower-case letters, digits, - and _ with the first, the last and as many parts as fit. */
export function fileName(parts, ending) {
  const safe = parts
    .map(part =>
      String(part)
        .normalize('NFKD')
        .replace(/[^\w]+/g, '-')
        .replace(/^[-_]+|[-_]+$/g, '')
        .slice(0, 48)
        .toLowerCase(),
    )
    .filter(Boolean);
  while (safe.length > 2 && safe.join('_').length > LONGEST) safe.splice(-2, 1);
  return `${['attention-lab', ...safe].join('_')}.${ending}`;
}
