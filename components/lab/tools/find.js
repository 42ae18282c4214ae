// Which heads do this? The heads that are most like a pattern or a role, on this text or over a corpus.

import { formatShare, shortHead } from '../../core/stage/sentences.js';
import { _ } from '../../core/texts.js';
import { bars, heading, list, note } from './parts.js';
import { defineTool } from './registry.js';

function draw(place, api) {
  const { tool, data } = api;
  const role = api.setting('role', tool.role);
  const rows = tool.heads.slice(0, 10);
  api.overlay({ found: rows.map(({ kind, layer, head }) => ({ kind, layer, head })) });
  place.append(
    heading(
      _('Which heads do this?'),
      '',
      list(
        _('They look at'),
        tool.roles.map(({ key, label }) => [key, label]),
        role,
        value => api.set('role', value),
      ),
    ),
    ...(rows.length
      ? [
          bars(
            rows.map(({ kind, layer, head, value }) => ({
              name: data.kinds.length > 1 ? `${titleOf(data, kind)} ${shortHead(layer, head)}` : shortHead(layer, head),
              value,
              text: formatShare(value),
              act: () => api.select(layer, head, 'head', kind),
            })),
            { most: 1, sans: true },
          ),
        ]
      : [note(_('No head does this.'))]),
    note(tool.about),
  );
}

const titleOf = (data, kind) => data.kinds.find(each => each.kind === kind)?.title ?? '';

export const find = defineTool('find', draw);
