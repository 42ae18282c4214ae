// Formats tokens and numbers, and compares two texts word by word.

const NAMES = { '\n': '↵', '\r': '↵', '\t': '⇥', '\x7f': '␡', '\xa0': '␣', '\xad': '‧' };
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u00a0]/gu;
const JOINERS = /[\u200c\u200d]/; // joiners are kept, because they are parts of emoji and of Arabic and Indic words

/** Returns a text with a symbol for every invisible character except blanks. */
export const visibleText = text =>
  text.replace(UNSEEN, sign => {
    const code = sign.codePointAt(0);
    if (NAMES[sign]) return NAMES[sign];
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (JOINERS.test(sign)) return sign;
    return code >= 0xd800 && code < 0xe000 ? '\ufffd' : `⟨${code.toString(16)}⟩`;
  });

/** Returns a token as one line: invisible characters become symbols, marks without a letter stand on a circle. */
export function tokenText(token) {
  const shown = visibleText(token).trim();
  if (shown === '[MASK]') return '?';
  const seen = shown.replace(/^[\u200c\u200d](?=\u2009|$)/, sign => `⟨${sign.codePointAt(0).toString(16)}⟩`);
  return (/^\p{M}/u.test(seen) ? '\u25cc' : '') + seen || (token ? '␣' : '∅');
}

/** Returns {text, part} of a token's text: `part` is `2/3` for the second of three tokens of a character, else ''. */
export function splitPart(text) {
  const [, whole, part] = /^(.+)\u2009(\d+\/\d+)$/su.exec(text) ?? [null, text, ''];
  return { text: whole, part };
}

const LEFTWARDS = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Returns whether a text has right-to-left letters. */
export const isLeftward = text => LEFTWARDS.test(text);

/** Returns a text with right-to-left letters between Unicode isolates, so that it does not reorder adjacent text. */
export const isolateDirection = text => (LEFTWARDS.test(text) ? `\u2068${text}\u2069` : text);

/** Returns a token in quotation marks for a sentence or an attribute. */
export const quoteToken = token => `“${isolateDirection(truncate(tokenText(token), 40))}”`;

const segmenter = globalThis.Intl?.Segmenter ? new Intl.Segmenter() : null;
const signs = text => (segmenter ? Array.from(segmenter.segment(text), part => part.segment) : Array.from(text));

/** Returns at most `count` graphemes of a text; the last grapheme is “…” if the text was cut. */
export function truncate(text, count) {
  if (text.length <= count) return text;
  const parts = signs(text.slice(0, 16 * count)); // 16 characters per grapheme are enough, except for stacked accents
  return parts.length <= count && text.length <= 16 * count ? text : `${parts.slice(0, count - 1).join('')}…`;
}

/** Returns the first `most` UTF-16 units of a text, without half a surrogate pair at the end. */
export const cutText = (text, most) =>
  text.length <= most ? text : text.slice(0, /[\ud800-\udbff]/.test(text[most - 1]) ? most - 1 : most);

const PAPER = /(arXiv \d{4}\.\d{4,5}|kexue(?:\.fm)?(?:\/archives\/| )\d{4,5})/;

/** Returns the parts of a text; a reference like `arXiv 2005.00743` has the address of the paper. */
export const splitReferences = text =>
  text.split(PAPER).map((part, index) => {
    const site = part.startsWith('a') ? 'https://arxiv.org/abs/' : 'https://kexue.fm/archives/';
    return index % 2 ? [part, site + part.split(/[ /]/).at(-1)] : [part];
  });

/** Returns a number with a typographic minus sign; `plus` adds a sign to positive numbers. */
export function formatNumber(value, digits, plus = false) {
  const text = Math.abs(value).toFixed(digits);
  const zero = Number(text) === 0;
  return (zero ? (plus ? '±' : '') : value < 0 ? '−' : plus ? '+' : '') + text;
}

/** Returns an attention weight with four decimals, or with a power of ten if all four decimals would be zeros. */
export const formatWeight = value =>
  value === 0 || value >= 0.0001 ? value.toFixed(4) : value.toExponential(1).replace('-', '−');
