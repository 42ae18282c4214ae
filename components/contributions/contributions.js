// Sorted bars that show the contributions of heads and other components, with choices and a text field above.

import { cssColour } from '../core/attention/scales.js';
import { visibleText } from '../core/format.js';
import { barScale, barsPicture, barsTable, barValue, sortedBars } from '../core/picture/answers.js';
import { _ } from '../core/texts.js';
import { defineComponent } from '../runtime/component.js';
import { make, setAttribute, setText } from '../widgets/dom.js';
import { createDownloadMenu } from '../widgets/download_menu.js';

const FEW = 12; // number of bars that are shown at first

function create(state) {
  const title = make('h3');
  const [about, total, message] = ['about', 'total', 'about'].map(className => make('p', { className }));
  setAttribute(total, 'role', 'status');
  setAttribute(message, 'role', 'status');
  const legend = make('p', { className: 'legend', textContent: _('blue: less · orange: more') });
  const [controls, field, bars] = ['controls', 'field', 'bars'].map(className => make('div', { className }));
  setAttribute(bars, 'role', 'list');
  const more = make('button', {
    type: 'button',
    onclick: () => {
      state.all = !state.all;
      state.refresh();
    },
  });
  const take = createDownloadMenu(() => offer(state));
  state.root.append(
    make('div', { className: 'top' }, title, take.element),
    ...[about, field, controls, message, total, legend, bars, more],
  );
  return {
    title,
    about,
    total,
    message,
    controls,
    field,
    legend,
    bars,
    more,
    take,
    built: '',
    fieldBuilt: '',
    all: false,
  };
}

function update(state, data) {
  setText(state.title, data.title);
  setText(state.about, data.about);
  setText(state.message, data.message);
  setText(state.total, data.message ? '' : data.total);
  state.message.hidden = !data.message;
  state.legend.hidden = !data.bars.length;
  state.take.rename(_('Download: {title}', { title: data.title }));
  state.take.element.hidden = !data.bars.length;
  showChoices(state, data.choices);
  showField(state, data.field);
  showBars(state, data);
}

function showChoices(state, choices) {
  const built = JSON.stringify(choices);
  if (state.built === built) return;
  state.built = built;
  state.controls.replaceChildren(
    ...choices.map(({ name, label, value, options }) => {
      const select = make(
        'select',
        { attributes: { translate: 'no' } },
        ...options.map(({ value: own, text }, index) =>
          make('option', { value: index, textContent: visibleText(text), selected: own === value }),
        ),
      );
      select.onchange = () => state.send({ type: 'choose', name, value: options[select.value].value });
      return make('label', {}, `${label} `, select);
    }),
  );
}

function showField(state, field) {
  state.field.hidden = !field;
  const built = JSON.stringify(field);
  if (!field || state.fieldBuilt === built) return;
  state.fieldBuilt = built;
  const input = make('input', { type: 'text', value: field.value, autocomplete: 'off' });
  input.onchange = () => state.send({ type: 'source', text: input.value });
  const pairs = field.examples.map(([text, source]) =>
    make(
      'button',
      { type: 'button', onclick: () => state.send({ type: 'pair', text, source }) },
      `${text} / ${source}`,
    ),
  );
  state.field.replaceChildren(make('label', {}, field.label, input), make('div', { className: 'pairs' }, ...pairs));
}

function showBars(state, data) {
  const bars = sortedBars(data.bars);
  const shown = state.all ? bars : bars.slice(0, FEW);
  const scale = barScale(shown);
  state.bars.style.setProperty('--zero', `${100 * scale.zero}%`);
  state.bars.replaceChildren(...shown.map(bar => barElement(state, bar, scale, data)));
  state.more.hidden = bars.length <= FEW;
  setText(state.more, state.all ? _('Show fewer') : _('Show all {count}', { count: bars.length }));
}

function barElement(state, { label, value, head, patched }, scale, { unit, field }) {
  const [kind, layer, index] = head ?? [];
  const name = head
    ? make('button', {
        type: 'button',
        className: 'name',
        textContent: label,
        onclick: () => state.send({ type: 'select', kind, layer, head: index }),
      })
    : make('span', { className: 'name', textContent: label });
  const bar = make('i');
  const width = scale.part * Math.abs(value);
  bar.style.width = `${100 * width}%`;
  bar.style.insetInlineStart = `${100 * (value < 0 ? scale.zero - width : scale.zero)}%`;
  bar.style.background = cssColour(state.dark, 'diverging', value < 0 ? 0.15 : 0.85);
  const patch = make('button', {
    type: 'button',
    textContent: patched ? _('Undo') : _('Patch'),
    attributes: {
      'aria-label': patched ? _('Undo the patch of {head}', { head: label }) : _('Patch {head}', { head: label }),
    },
    onclick: () => state.send({ type: 'patch', kind, layer, head: index, on: !patched }),
  });
  const row = make(
    'div',
    { className: 'bar', attributes: { role: 'listitem' } },
    name,
    make('span', { className: 'track', attributes: { 'aria-hidden': true } }, bar),
    make('span', { className: 'value', textContent: barValue(value, unit) }),
    ...(field && head ? [patch] : []),
  );
  row.classList.toggle('patched', Boolean(patched));
  return row;
}

function offer({ data }) {
  return {
    title: `${data.model} · ${data.title}`,
    about: [data.total, data.about].filter(Boolean),
    models: [data.model],
    what: data.field ? 'two-prompts' : 'contributions',
    picture: () => barsPicture(data),
    table: () => barsTable(data),
  };
}

export const contributions = defineComponent({ create, update });
