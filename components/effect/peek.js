// The effect in one line at the foot of the window while the effect panel is below the visible part of the page.

import { effectPeek } from '../core/effect_text.js';
import { keySelector, mainElement } from '../runtime/streamlit.js';
import { make, setText } from '../widgets/dom.js';

const SEEN = 0.25; // the line is hidden if more than this fraction of the prediction's rows is visible

/**
 * Creates the line of a panel whose rows are `rows`: {show(data, prediction), stop()}. The line is displayed only on
 * pages with a grid of heads.
 */
export function createEffectPeek(root, rows) {
  const around = root.parentNode;
  const beside = root.getRootNode().host?.closest(`${keySelector('work')}, ${keySelector('heads-work')}`);
  // an older version of the library may have left its line
  for (const old of around.querySelectorAll('.peek')) old.remove();
  const [title, text, verdict] = ['name', 'says', 'verdict'].map(className => make('span', { className }));
  const element = make(
    'div',
    { className: 'peek', hidden: true, attributes: { 'aria-hidden': true } },
    title,
    text,
    verdict,
  );
  element.addEventListener('click', () => root.scrollIntoView({ block: 'start' }));
  // The line is placed beside the root, because inside the root `position: fixed` would be relative to the container.
  root.after(element);
  const observer = new IntersectionObserver(
    ([{ intersectionRatio, boundingClientRect }]) => {
      element.hidden = !beside || intersectionRatio > SEEN || !boundingClientRect.height;
    },
    // Rows above the window count as visible: a jump from below the rows to above them would change no ratio.
    { root: beside && mainElement(), rootMargin: '1000000px 0px 0px', threshold: [0, SEEN, 2 * SEEN] },
  );
  observer.observe(rows);
  return {
    show(data, prediction) {
      const content = effectPeek(data, prediction);
      setText(title, content.title);
      setText(text, content.text);
      setText(verdict, content.verdict?.text ?? '');
      verdict.className = `verdict ${content.verdict?.className ?? ''}`;
    },
    stop() {
      observer.disconnect();
      element.remove();
    },
  };
}
