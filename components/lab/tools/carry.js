// What does it carry? Each head alone takes its output from a second text; bars show how far the answer moves.

import { formatShare, shortHead } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { bars, choice, heading, note, sentence, signed, wordElement } from './parts.js';
import { defineTool } from './registry.js';
import { secondText } from './second_text.js';

const ROWS = 4;

function draw(place, api) {
  const { tool, now, kind } = api;
  const { layer, head } = now.selection;
  place.append(
    heading(
      _('What does it carry?'),
      _('each head alone takes its value from the second text'),
      choice(
        _('Patched value'),
        tool.values.map(({ key, label }) => [key, label]),
        tool.what,
        value => api.send({ type: 'choose', name: 'what', value }),
      ),
    ),
    secondText(api),
  );
  if (tool.reason) return place.append(note(tool.reason));
  if (!tool.heads) return undefined;
  const own = tool.heads.find(each => each.kind === kind.kind && each.layer === layer && each.head === head);
  const others = tool.heads.filter(each => each !== own).slice(0, ROWS);
  return place.append(
    bars(
      [...(own ? [own] : []), ...others].map(each => ({
        name: shortHead(each.layer, each.head),
        value: each.share,
        text: `${each.share < 0 ? '−' : ''}${formatShare(Math.abs(each.share))}`,
        act: () => api.select(each.layer, each.head, 'head', each.kind),
      })),
      { most: 1, sans: true, first: Boolean(own) },
    ),
    note(
      ...sentence(
        _('Logit of {token} minus {other}: {before} here, {source} in the second text; 100% is all the way.'),
        {
          token: wordElement(tool.token),
          other: wordElement(tool.against),
          before: signed(tool.before),
          source: signed(tool.source_value),
        },
      ),
    ),
  );
}

export const carry = defineTool('carry', draw);
