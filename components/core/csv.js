// Tables as CSV (RFC 4180), with a first line that says where they come from.

const DIGITS = 6; // of a number: as many as float32 has

/** A number as it is printed in files; empty if there is none. */
export const formatFigure = value =>
  typeof value !== 'number' || Number.isNaN(value) ? '' : String(Number(value.toPrecision(DIGITS)));

/**
 * A field. Spreadsheets take a text that begins with = + - @ for a formula, which may call programs: an apostrophe
 * before it makes it text. A sign alone, as tokens often are, can do nothing and stays.
 */
const field = value => {
  if (typeof value === 'number') return formatFigure(value);
  const text = String(value ?? '');
  const safe = /^[=+\-@\t\r]./su.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) || /^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** The table as text: a comment line, the names of the columns, the rows. Numbers stand as formatFigure prints them. */
export const toCsv = ({ columns, rows }, citation, link) =>
  [`# ${`${citation} ${link}`.replace(/[\r\n]+/g, ' ')}`, ...[columns, ...rows].map(row => row.map(field).join(','))]
    .join('\r\n')
    .concat('\r\n');
