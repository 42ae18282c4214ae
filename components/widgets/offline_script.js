// The script of a downloaded HTML file (core/picture/standalone.js). The script shows the <title> of the mark under the
// pointer, or of the mark that was reached with the arrow keys.

export const OFFLINE_SCRIPT = `
const readout = document.getElementById('readout'), svg = document.querySelector('svg'), rest = readout.textContent;
const marks = [...svg.querySelectorAll('title')].filter(t => t.parentNode !== svg).map(t => {
  const mark = t.parentNode;
  mark.description = t.textContent;
  t.remove();
  return mark;
});
const ring = document.createElementNS(svg.namespaceURI, 'rect');
ring.setAttribute('class', 'ring');
let now = -1, positions = null;
const positionOf = mark => {
  const box = mark.getBoundingClientRect();
  return [box.x + box.width / 2 + scrollX, box.y + box.height / 2 + scrollY];
};
const show = index => {
  now = index;
  if (index < 0) { readout.textContent = rest; ring.remove(); return; }
  const mark = marks[index], box = mark.getBBox(), pad = box.width < 8 ? 3 : 0;
  readout.textContent = mark.description;
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
  positions ??= marks.map(positionOf);
  const [px, py] = positions[now];
  let best = -1, least = Infinity;
  positions.forEach(([qx, qy], i) => {
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
