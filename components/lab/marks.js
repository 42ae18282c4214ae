// Marks of the picture's SVG. A drawing names its marks; a mark that the next drawing names again keeps its element, so
// that changes can be animated by CSS and few elements are created.

import { svgElement } from '../widgets/menu.js';

/** Creates {element, begin(), mark(name, tag, attributes, text), end(), clear()}; marks that are not named again go. */
export function createMarks(hatch) {
  const turned = { stroke: 'none', patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' };
  const definitions = svgElement([
    'defs',
    {},
    ['pattern', { id: 'against', width: 4, height: 4, ...turned }, ...hatch],
  ]);
  const element = svgElement(['svg', { class: 'strings', 'aria-hidden': 'true', translate: 'no' }]);
  element.append(definitions);
  const kept = new Map(); // name -> {element, values, drawing}
  let drawing = 0;
  let last = null; // the element that was drawn last
  return {
    element,
    begin() {
      drawing += 1;
      last = definitions;
    },
    mark(name, tag, attributes, text) {
      let mark = kept.get(name);
      if (!mark) {
        mark = { element: svgElement([tag]), values: {}, drawing };
        kept.set(name, mark);
      }
      mark.drawing = drawing;
      for (const [key, value] of Object.entries(attributes))
        if (mark.values[key] !== value) {
          mark.values[key] = value;
          mark.element.setAttribute(key, value);
        }
      for (const key of Object.keys(mark.values))
        if (!(key in attributes)) {
          delete mark.values[key];
          mark.element.removeAttribute(key);
        }
      if (text !== undefined && mark.element.textContent !== text) mark.element.textContent = text;
      // an element that is moved would end its transitions
      if (!mark.element.parentNode) last.after(mark.element);
      last = mark.element;
      return mark.element;
    },
    end() {
      for (const [name, mark] of kept)
        if (mark.drawing !== drawing) {
          mark.element.remove();
          kept.delete(name);
        }
    },
    clear() {
      for (const { element: each } of kept.values()) each.remove();
      kept.clear();
    },
  };
}
