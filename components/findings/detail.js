// The opened statement: plots, chart, facts, table, and the link into the Lab.

import { toCsv } from '../core/csv.js';
import { _, currentLanguage, stateQuery } from '../core/texts.js';
import { createFigure } from '../figure/figure.js';
import { linkedText, make, makeButton, onLink, setAttribute } from '../widgets/dom.js';
import { linkTo, save } from '../widgets/download_menu.js';
import { markElement, plotElement } from './plots.js';

function tableElement({ columns, rows }, name) {
  const row = (tag, cells) => make('tr', ...cells.map(textContent => make(tag, { textContent })));
  const table = make('table', make('thead', row('th', columns)), make('tbody'));
  table.tBodies[0].append(...rows.map(cells => row('td', cells)));
  return make('div.scrolls', { tabIndex: 0, role: 'region', 'aria-label': name }, table);
}

// Not the link to the visitor's state: it may contain a text, on which no finding depends.
const linkOf = key => linkTo(stateQuery({ page: 'results', claim: key }));

const folded = (title, ...children) => make('details', make('summary', { textContent: title }), ...children);
const paragraph = textContent => make('p', { textContent });

/** Creates {element, show(open, dark), close()}; `send` sends an event. */
export function createDetail(send) {
  const top = make('div');
  const choice = make('div.seg.wrap', { role: 'group', 'aria-label': _('Chart') });
  const place = make('div.chart');
  const rest = make('div');
  const element = make('article.one.card', { tabIndex: -1 }, top, choice, place, rest);
  const figure = createFigure(place.appendChild(make('div')));
  let [drawn, known, chosen, link] = ['', null, 0, ''];

  const lab = ({ key, lab: query }) => {
    const entry = make('a.button.primary', { href: `?${query}`, textContent: _('Try it in the lab') });
    onLink(entry, () => send({ type: 'lab', statement: key }));
    return entry;
  };

  const csv = ({ key, table }) =>
    makeButton('button', _('Table as CSV'), () =>
      save(toCsv(table, _('Made with Attention Lab: {what}.', { what: key }), linkOf(key)), 'text/csv', `${key}.csv`),
    );

  function build(open) {
    const { text, mark, word, source, about, facts, table, parts, command, methods, trainings, rates } = open;
    setAttribute(element, 'aria-label', text);
    top.replaceChildren(
      make('p.verdict.wrap', markElement(mark), make('b', { textContent: word }), make('span.fine')),
      make('h2.serif', { textContent: text }),
      make('p.note.muted', { textContent: about }),
      plotElement(open),
    );
    top.firstChild.lastChild.append(...linkedText(source));
    const list = facts.flatMap(([name, text]) => [make('dt.muted', name), make('dd', ...linkedText(text))]);
    rest.replaceChildren(
      make('dl', ...list),
      make('div.wrap', ...(open.lab ? [lab(open)] : []), ...(table ? [csv(open)] : [])),
      ...(table ? [tableElement(table, _('Table'))] : []),
      ...(parts
        ? [folded(_('Parts, which do not decide, with 95% limits and p-values'), tableElement(parts, _('Parts')))]
        : []),
      folded(
        _('How it was measured'),
        ...methods.map(paragraph),
        ...(trainings ? [tableElement(trainings, _('Trainings'))] : []),
        ...(rates ? [paragraph(_('Loss after a short training, by rate:')), tableElement(rates, _('Rates'))] : []),
        paragraph(_('Measure again:')),
        make('pre', { textContent: command, tabIndex: 0 }),
      ),
    );
  }

  const choose = (index, dark) => {
    chosen = index;
    draw(dark);
    choice.children[index].focus();
    place.scrollIntoView({ block: 'nearest' });
  };

  /** Shows a chart of the open statement; its charts stay known until another statement is open. */
  function draw(dark) {
    const charts = known ?? [];
    chosen = Math.min(chosen, Math.max(0, charts.length - 1));
    choice.hidden = charts.length < 2;
    choice.replaceChildren(
      ...charts.map(({ name }, index) =>
        makeButton('button small', name, () => choose(index, dark), { 'aria-pressed': index === chosen }),
      ),
    );
    place.hidden = known !== null && !charts.length;
    if (charts.length) figure.show({ ...charts[chosen], link }, dark);
  }

  const show = (open, dark) => {
    const { charts, follows, ...content } = open;
    const next = JSON.stringify([content, currentLanguage()]);
    if (next !== drawn) {
      [drawn, known, chosen] = [next, null, 0];
      build(open);
      element.scrollTop = 0;
      if (!charts && !follows) send({ type: 'chart' });
    }
    [known, link] = [charts ?? known, linkOf(open.key)];
    draw(dark);
  };
  return { element, show, close: () => figure.close() };
}
