// Which words are forgotten? The mask F of selective attention for the looking word, in the selected layer.

import { formatNumber } from '../../core/format.js';
import { largest } from '../../core/stage/tools.js';
import { hiddenWords } from '../../core/stage/weights.js';
import { _ } from '../../core/texts.js';
import { bars, heading, note, sentence, wordElement } from './parts.js';
import { defineTool } from './registry.js';

const [LEAST, MOST] = [4, 12]; // rows
const FULL = 8; // F of a full bar at least

function draw(place, api) {
  const { data, now, keys } = api;
  const [{ layer }, { mask }] = [now.selection, data.arrays];
  const word = wordElement(keys[now.look] ?? '');
  if (!mask || now.look !== data.look) return place.append(note(_('Computing…')));
  api.overlay({ mask: true });
  const row = Array.from({ length: now.look + 1 }, (_each, j) => mask.data[layer * mask.shape[1] + j] / data.mask_step);
  const hidden = hiddenWords(mask, layer, now.look + 1).length;
  const title = hidden
    ? _('Layer {layer} hides {n} of {count} tokens from {word}')
    : _('Layer {layer} hides nothing from {word}');
  const rows = largest(row, Math.max(LEAST, Math.min(hidden, MOST))).filter(({ value }) => value > 0);
  return place.append(
    heading(sentence(title, { n: String(hidden), count: String(now.look + 1), word, layer: String(layer + 1) })),
    note(
      _(
        'F is the sum of the votes against a word, subtracted from its match. Hidden: F of 4 or more, attention at least 50 times smaller.',
      ),
    ),
    bars(
      rows.map(({ value, index }) => ({
        name: wordElement(keys[index]),
        value,
        text: value >= 15.9 ? '≥ 15.9' : formatNumber(value, 1),
      })),
      { most: Math.max(FULL, ...row) },
    ),
    ...(hidden > MOST ? [note(_('and {n} more', { n: hidden - MOST }))] : []),
  );
}

export const forget = defineTool('forget', draw, true);
