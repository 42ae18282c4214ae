// Adapts Vega-Lite specifications of figures/: fits a specification to a width and a theme, adds title and citation for
// a file, and returns the table of a chart.

import { textWidth, wrapText } from '../picture/svg.js';

const GAP = 20; // gap in px between two panels
const BESIDE = 64; // width in px of a panel's vertical axis and of its right edge
const LABEL = 13; // size in px of the text in the legend
const SAMPLE = 56; // width in px of a legend's sample and of the space after its label
const LINE = 17; // height in px of a line below a chart in a file

/** Replaces colours of the light theme in a specification; data are not changed. */
export function recolour(value, colours) {
  if (typeof value === 'string') return colours[value] ?? value;
  if (Array.isArray(value)) return value.map(one => recolour(one, colours));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, content]) => [
      key,
      key === 'datasets' || key === 'data' || key === 'config' ? content : recolour(content, colours),
    ]),
  );
}

/** Returns the names of the series in the legend: the first domain of a colour scale in the specification. */
function legendNames(spec) {
  const parts = [spec, ...(spec.layer ?? []), ...(spec.concat ?? [])];
  for (const part of parts) {
    const encoding = part.encoding?.color ?? part.encoding?.stroke;
    if (encoding?.legend && encoding.scale?.domain) return encoding.scale.domain;
    if (part !== spec) {
      const names = legendNames(part);
      if (names.length) return names;
    }
  }
  return [];
}

/**
 * Returns the number of panels that fit in a row of the given width.
 * @param {any} spec
 * @param {number} width
 */
export const panelsBeside = ({ usermeta = {}, concat = [] }, width) =>
  Math.max(
    1,
    Math.min(usermeta.columns ?? 1, concat.length || 1, Math.floor((width + GAP) / ((usermeta.least ?? 320) + GAP))),
  );

/** Returns a specification for a width and a theme; `at` is the marked position, and panels get `narrower` px less. */
export function fitSpec(given, { width, config, colours = {}, at, narrower = 0 }) {
  const { datasets, ...rest } = given;
  const fitted = { ...recolour(rest, colours), datasets };
  const names = legendNames(fitted);
  const longest = Math.max(0, ...names.map(name => textWidth(String(name), LABEL)));
  const columns = Math.max(1, Math.floor(width / (longest + SAMPLE)));
  const legend = { ...config.legend, columns, labelLimit: Math.max(80, width - SAMPLE) };
  fitted.config = { ...config, legend };
  if (at !== undefined) {
    fitted.params = (fitted.params ?? []).map(param => (param.name === 'at' ? { ...param, value: at } : param));
  }
  if (!fitted.concat) return { ...fitted, width, autosize: { type: 'fit-x', contains: 'padding' } };
  const beside = panelsBeside(fitted, width);
  const each = Math.max(60, Math.floor((width - GAP * (beside - 1)) / beside) - BESIDE - narrower);
  return { ...fitted, columns: beside, concat: fitted.concat.map(panel => ({ ...panel, width: each })) };
}

/** Returns a specification for a file: the chart with its title above, and its explanation, citation and link below. */
export function frameSpec(spec, { title, about, citation, link, width }) {
  const lines = [
    ...about.flatMap(sentence => wrapText(sentence, width, 12).map(text => ({ text }))),
    ...wrapText(citation, width, 12).map(text => ({ text })),
    ...wrapText(link, width, 12, 3).map(text => ({ text, link })),
  ].map((line, index) => ({ ...line, place: index * LINE }));
  const {
    config,
    datasets,
    usermeta,
    description,
    params,
    $schema,
    autosize: _autosize,
    columns,
    concat,
    layer,
    resolve,
    ...rest
  } = spec;
  const chart = { ...rest, ...(layer && { layer }), ...(concat && { concat, columns }), ...(resolve && { resolve }) };
  const mark = { type: 'text', align: 'left', baseline: 'top', fontSize: 12, style: 'reference-label' };
  const caption = {
    data: { values: lines },
    width,
    height: LINE * lines.length,
    view: { stroke: null },
    encoding: {
      x: { value: 0 },
      y: { field: 'place', type: 'quantitative', scale: null, axis: null },
      text: { field: 'text', type: 'nominal' },
    },
    layer: [
      { mark, transform: [{ filter: '!datum.link' }] },
      { mark, transform: [{ filter: 'isValid(datum.link)' }], encoding: { href: { field: 'link', type: 'nominal' } } },
    ],
  };
  const heading = wrapText(title, width, 16);
  return {
    $schema,
    config,
    datasets,
    usermeta,
    description,
    ...(params && { params }),
    padding: 20,
    spacing: 16,
    title: { text: heading, fontSize: 16, anchor: 'start', offset: 14 },
    vconcat: [chart, caption],
  };
}

/**
 * Returns the rows of a specification's datasets as a table with the columns in usermeta.table, without empty columns.
 * @param {any} spec
 */
export function tableOf({ datasets = {}, usermeta = {} }) {
  const rows = rowsOf(datasets);
  const columns = (usermeta.table ?? []).filter(([field]) =>
    rows.some(row => row[field] !== undefined && row[field] !== null && row[field] !== ''),
  );
  return {
    columns: columns.map(([, title]) => title),
    rows: rows.map(row => columns.map(([field]) => row[field] ?? '')),
  };
}

/** Returns the rows of a chart's table: those of all datasets whose names begin with `rows`. */
const rowsOf = datasets => Object.entries(datasets).flatMap(([name, rows]) => (name.startsWith('rows') ? rows : []));

/** Returns the horizontal positions of the points on a chart's lines, in increasing order. */
export function positions({ datasets = {} }) {
  return [
    ...new Set(
      rowsOf(datasets)
        .filter(({ form }) => form === 'line')
        .map(({ x }) => x),
    ),
  ].sort((a, b) => a - b);
}

const STYLE = `
body { margin: 0; padding: 1rem; background: #fff; color: #1b1b26; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: max-content; margin: 0 auto; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: 3px 10px; text-align: left; border-bottom: 1px solid #d9d9e3; }
`;
const SIGNS = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeHtml = text => String(text).replace(/[&<>"]/g, sign => SIGNS[sign]);

/** Returns an HTML file that draws a framed specification without a network, with the chart's table below. */
export function figurePage({ spec, title, table, heading, script, language }) {
  const cells = (tag, row) => `<tr>${row.map(cell => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
  const json = JSON.stringify(spec).replaceAll('<', '\\u003c');
  return [
    `<!doctype html><html lang="${escapeHtml(language)}"><head><meta charset="utf-8">`,
    // The policy blocks every request of this file, whatever its texts contain.
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ",
    "script-src 'unsafe-inline'\">",
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main><div id="chart"></div>`,
    `<details><summary>${escapeHtml(heading)}</summary><table><thead>${cells('th', table.columns)}</thead>`,
    `<tbody>${table.rows.map(row => cells('td', row)).join('')}</tbody></table></details></main>`,
    `<script>${script.replaceAll('</script', '<\\/script')}</script>`,
    `<script>attentionLabVega.vegaEmbed('#chart', ${json}, { actions: false, ast: true, renderer: 'svg' })`,
    '</script></body></html>\n',
  ].join('');
}
