// Download: the pattern as a picture and as numbers, the answer as numbers, and the Python code of the state.

import { scopeName } from '../../core/head_state.js';
import { mapPicture, mapTable } from '../../core/picture/maps.js';
import { weightOf } from '../../core/stage/weights.js';
import { _, N_ } from '../../core/texts.js';
import { fileAddress } from '../../runtime/direct.js';
import { toClipboard } from '../../widgets/clipboard.js';
import { make, setText } from '../../widgets/dom.js';
import { save, saveFile } from '../../widgets/download_menu.js';
import { headBytes, mapBytes } from './matrix.js';
import { meanBytes } from './mean.js';
import { button, heading, note } from './parts.js';
import { defineTool } from './registry.js';

const PICTURES = { png: N_('Picture (PNG)'), svg: N_('Picture (SVG)'), html: N_('Picture (HTML)') };

function draw(place, api) {
  const { thing, tool } = api;
  const said = make('span.note', { role: 'status' });
  const say = text => setText(said, text);
  const offer = thing === 'answer' ? answerOffer(api) : patternOffer(api);
  const pictures = offer.picture ? Object.entries(PICTURES) : [];
  place.append(
    heading(_('Download'), offer.title),
    make(
      'div.downloads.wrap',
      ...pictures.map(([kind, name]) => button(_(name), () => saveFile(kind, offer, say))),
      button(_('Numbers (CSV)'), () => saveFile('csv', offer, say)),
      ...Object.entries(tool.files).map(([file, name]) => button(name, () => download(file, say))),
      button(_('Copy the Python code'), async () =>
        say((await toClipboard(tool.code, place)) ? _('Copied') : _('Not copied: select the code below')),
      ),
      said,
    ),
    make('pre.code', { tabIndex: 0, textContent: tool.code, translate: false }),
    ...(tool.refused ? [note(tool.refused)] : []),
    ...(offer.picture || thing === 'answer' ? [] : [note(_('Loading the whole pattern…'))]),
  );
}

/** Downloads a file that the server makes, or says why it cannot. */
async function download(name, say) {
  const address = fileAddress(name);
  say(address ? _('Making the file…') : _('No files from this server: start app/host.py.'));
  if (!address) return;
  try {
    const response = await fetch(address);
    if (!response.ok) return say(await response.text());
    const given = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get('content-disposition') ?? '');
    save(await response.blob(), '', given ? decodeURIComponent(given[1]) : name);
    say('');
  } catch {
    say(_('No connection to the server.'));
  }
}

/** Returns the pattern of the head, or the mean pattern of the layer, for the files. */
function patternOffer({ data, now, kind, thing }) {
  const { layer, head } = now.selection;
  const isHead = thing === 'head';
  const [queries, keys] = [data.tokens[kind.queries], data.tokens[kind.keys]];
  const map = data.arrays[isHead ? 'map.used' : 'map.mean'];
  const bytes = map
    ? mapBytes(map, queries.length, keys.length)
    : isHead
      ? headBytes(data, kind, layer, head)
      : meanBytes(
          data,
          kind,
          now.heads[kind.kind][layer].map(({ gate }, h) => ({ l: layer, head: h, gate })),
        );
  const name = scopeName({ ...now.selection, scope: isHead ? 'head' : 'row' }, data.kinds.length > 1 ? kind.title : '');
  const { gate } = now.heads[kind.kind][layer][head];
  const content = bytes && {
    rows: queries,
    columns: keys,
    causal: kind.causal,
    sink: kind.has_sink,
    value: (i, j) => weightOf(bytes(i, j) ?? 0),
    pruned: isHead && gate === 0,
  };
  return {
    title: `${data.model.title} · ${name}`,
    about: [_('Rows are queries, columns are keys.')],
    models: [data.model.name],
    what: isHead ? `layer-${layer + 1}-head-${head + 1}` : `layer-${layer + 1}`,
    picture: content ? () => mapPicture(content) : null,
    table: () => (content ? mapTable({ ...content, name: 'used' }) : { columns: [], rows: [] }),
  };
}

function answerOffer({ data }) {
  const rows = data.answer?.rows ?? [];
  return {
    title: data.model.title,
    about: [],
    models: [data.model.name],
    what: 'answer',
    picture: null,
    table: () => ({
      columns: ['token', 'before', 'after'],
      rows: rows.map(({ label, before, after }) => [label, before, after]),
    }),
  };
}

export const get = defineTool('get', draw);
