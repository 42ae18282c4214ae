// Files of a chart: SVG, PNG and HTML, which Vega creates with the print theme.

import { figurePage, fitSpec, frameSpec, tableOf } from '../core/figure/spec.js';
import { pageData } from '../core/page_data.js';
import { _, currentLanguage } from '../core/texts.js';
import { make } from '../widgets/dom.js';
import { embed, vegaAddress } from './vega.js';

const WIDTH = 720; // width in px of a chart in a file, if the chart does not name another

/** Returns the specification for a file, with title, explanation, citation and link. */
function framed(spec, at, frame) {
  const width = spec.usermeta?.width ?? WIDTH;
  const config = pageData.figures.themes.print;
  return frameSpec(fitSpec(spec, { width, config, ...(at !== undefined && { at }) }), { ...frame, width });
}

/** Calls `work` with a Vega view of the framed chart; the view is not on the page. */
async function withView(spec, work) {
  const place = make('div');
  const result = await embed(place, spec);
  try {
    return await work(result.view);
  } finally {
    result.finalize();
  }
}

/** Returns functions that create the content of a file; `frame` has title, about, citation and link. */
export const figureFiles = (spec, at) => ({
  svg: frame => withView(framed(spec, at, frame), view => view.toSVG()),
  png: frame =>
    withView(framed(spec, at, frame), async view => {
      const canvas = await view.toCanvas(2);
      return new Promise(done => canvas.toBlob(done, 'image/png'));
    }),
  html: async frame => {
    const answer = await fetch(vegaAddress());
    return figurePage({
      spec: framed(spec, at, frame),
      title: frame.title,
      table: tableOf(spec),
      heading: _('Table'),
      script: await answer.text(),
      language: currentLanguage(),
    });
  },
});
