// A picture as one HTML file that needs nothing else: it works without a network, and tells what is pointed at.

// Runs in that file. What can be pointed at are the parts of the picture that have a <title>.
const SCRIPT = `
const told = document.getElementById('told'), svg = document.querySelector('svg'), rest = told.textContent;
const marks = [...svg.querySelectorAll('title')].filter(t => t.parentNode !== svg).map(t => {
  const mark = t.parentNode;
  mark.told = t.textContent;
  t.remove();
  return mark;
});
const ring = document.createElementNS(svg.namespaceURI, 'rect');
ring.setAttribute('class', 'ring');
let now = -1, places = null;
const place = mark => {
  const box = mark.getBoundingClientRect();
  return [box.x + box.width / 2 + scrollX, box.y + box.height / 2 + scrollY];
};
const show = index => {
  now = index;
  if (index < 0) { told.textContent = rest; ring.remove(); return; }
  const mark = marks[index], box = mark.getBBox(), pad = box.width < 8 ? 3 : 0;
  told.textContent = mark.told;
  ring.setAttribute('x', box.x - pad); ring.setAttribute('y', box.y - pad);
  ring.setAttribute('width', box.width + 2 * pad); ring.setAttribute('height', box.height + 2 * pad);
  const moved = mark.getAttribute('transform');
  if (moved) ring.setAttribute('transform', moved); else ring.removeAttribute('transform');
  mark.parentNode.append(ring);
};
const numbers = new Map(marks.map((mark, index) => [mark, index]));
svg.addEventListener('pointermove', event => {
  for (let e = event.target; e && e !== svg; e = e.parentNode) if (numbers.has(e)) return show(numbers.get(e));
  if (event.target !== ring) show(-1);
});
svg.addEventListener('pointerleave', event => { if (event.pointerType === 'mouse') show(-1); });
const towards = ([x, y]) => {
  places ??= marks.map(place);
  const [px, py] = places[now];
  let best = -1, least = Infinity;
  places.forEach(([qx, qy], i) => {
    const along = (qx - px) * x + (qy - py) * y, aside = Math.abs((qx - px) * y) + Math.abs((qy - py) * x);
    if (along > 0.5 && along + 3 * aside < least) [best, least] = [i, along + 3 * aside];
  });
  return best < 0 ? now : best;
};
svg.addEventListener('keydown', event => {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!way || !marks.length) return;
  event.preventDefault();
  show(now < 0 ? 0 : towards(way));
});
`;

const STYLE = `
body { margin: 0; padding: 1rem; background: #fff; color: #1b1b26; font: 16px/1.5 ${'system-ui, sans-serif'}; }
main { max-width: max-content; margin: 0 auto; }
svg { display: block; max-width: 100%; height: auto; }
svg:focus-visible { outline: 2px solid #3f3d9e; }
.ring { fill: none; stroke: #1b1b26; stroke-width: 1.5; vector-effect: non-scaling-stroke; pointer-events: none; }
#told { position: sticky; bottom: 0; margin: 0; padding: 0.5rem 1.25rem; min-height: 1.5em; background: #f4f4f8; }
`;

/**
 * The file.
 * @param {{title: string, rest: string, tree: object[], language: string}} what `tree`: a lab.framed picture; `rest`:
 *   what stands under it while nothing is pointed at
 */
lab.standalone = ({ title, rest, tree: [tag, attributes, ...children], language = 'en' }) => {
  const named = { ...attributes, role: 'application', tabindex: '0', 'aria-label': title, 'aria-describedby': 'told' };
  return [
    `<!doctype html><html lang="${lab.escaped(language)}"><head><meta charset="utf-8">`,
    // No request can leave this file, whatever text it holds.
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; ',
    'script-src \'unsafe-inline\'">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${lab.escaped(title)}</title><style>${STYLE}</style></head><body><main>`,
    lab.markup([tag, named, ...children]),
    `<p id="told" role="status">${lab.escaped(rest)}</p></main><script>${SCRIPT}</script></body></html>\n`,
  ].join('');
};
