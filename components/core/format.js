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

/**
 * Returns a token as one line: invisible characters become symbols, outer spaces are removed. A mark that belongs above
 * or below a letter stands on a dotted circle if the token has no letter before it. A joiner alone is shown as its code.
 */
export function tokenText(token) {
  const shown = visibleText(token).trim();
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

/** Returns a fraction, 0 to 1, as a percentage; 0% and 100% only for exact values. */
export function formatPercent(value) {
  const percent = 100 * value;
  if (percent > 0 && percent < 0.1) return '<0.1%';
  if (percent < 100 && percent > 99.9) return '>99.9%';
  return `${percent.toFixed(1)}%`;
}

/** Returns a number with a typographic minus sign; `plus` adds a sign to positive numbers. */
export function formatNumber(value, digits, plus = false) {
  const text = Math.abs(value).toFixed(digits);
  const zero = Number(text) === 0;
  return (zero ? (plus ? '±' : '') : value < 0 ? '−' : plus ? '+' : '') + text;
}

/** Returns an attention weight with four decimals, or with a power of ten if all four decimals would be zeros. */
export function formatWeight(value, plus = false) {
  const size = Math.abs(value);
  if (size === 0 || size >= 0.0001) return formatNumber(value, 4, plus);
  return (value < 0 ? '−' : plus ? '+' : '') + size.toExponential(1).replace('-', '−');
}

// Matches the words of a text. Han, Hiragana and Katakana use no spaces, so each of these characters is a word.
const WORDS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}'’-]*|\s+|./gsu;
// largest number of words that are compared, because the table grows with the square of their number
const MOST_WORDS = 1000;

/**
 * Returns two texts as lists of {text, changed}. Words that are not in the longest common subsequence are changed, and
 * so are blanks between two changed words.
 */
export function diffWords(before, after) {
  const [old, now] = [before, after].map(text => text.match(WORDS) ?? []);
  const same = commonWords(old, now);
  return [pieces(old, same[0]), pieces(now, same[1])];
}

/** Returns one list of flags per list of words: 1 for words in the longest common subsequence of both lists. */
function commonWords(old, now) {
  const isCommon = [old, now].map(words => new Uint8Array(words.length));
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
  let [m, n] = [old.length, now.length];
  while (m > start && n > start && old[m - 1] === now[n - 1]) [m, n] = [m - 1, n - 1];
  isCommon[0].fill(1, 0, start).fill(1, m);
  isCommon[1].fill(1, 0, start).fill(1, n);
  const [height, width] = [m - start, n - start];
  if (!height || !width || Math.max(height, width) > MOST_WORDS) return isCommon;
  // longest[i][j] is the length of the longest common subsequence from i and j on
  const longest = Array.from({ length: height + 1 }, () => new Uint16Array(width + 1));
  for (let i = height - 1; i >= 0; i -= 1)
    for (let j = width - 1; j >= 0; j -= 1)
      longest[i][j] =
        old[start + i] === now[start + j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  for (let i = 0, j = 0; i < height && j < width; ) {
    if (old[start + i] === now[start + j]) {
      isCommon[0][start + i] = isCommon[1][start + j] = 1;
      i += 1;
      j += 1;
    } else if (longest[i + 1][j] >= longest[i][j + 1]) i += 1;
    else j += 1;
  }
  return isCommon;
}

function pieces(words, isCommon) {
  const isBlank = i => /^\s+$/.test(words[i]);
  const changed = words.map((_, i) =>
    isBlank(i) ? i > 0 && i < words.length - 1 && !isCommon[i - 1] && !isCommon[i + 1] : !isCommon[i],
  );
  const joined = [];
  words.forEach((text, i) => {
    if (joined.at(-1)?.changed === changed[i]) joined.at(-1).text += text;
    else joined.push({ text, changed: changed[i] });
  });
  return joined;
}
