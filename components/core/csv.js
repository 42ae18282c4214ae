// Tables as CSV (RFC 4180); the first line is a comment with the source.

const DIGITS = 6; // significant digits of a number, as many as float32 has

/** Returns a number as a string for a file; empty if the value is NaN or not a number. */
export const formatFigure = value =>
  typeof value !== 'number' || Number.isNaN(value) ? '' : String(Number(value.toPrecision(DIGITS)));

/** Returns a field of the table; an apostrophe keeps spreadsheets from reading a longer text as a formula. */
const field = value => {
  if (typeof value === 'number') return formatFigure(value);
  const text = String(value ?? '');
  const safe = /^[=+\-@\t\r]./su.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) || /^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** Returns the table as text: a comment line, the names of the columns, the rows. */
export const toCsv = ({ columns, rows }, citation, link) =>
  [`# ${`${citation} ${link}`.replace(/[\r\n]+/g, ' ')}`, ...[columns, ...rows].map(row => row.map(field).join(','))]
    .join('\r\n')
    .concat('\r\n');
