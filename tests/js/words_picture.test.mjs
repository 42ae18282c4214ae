import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hexColour } from '../../components/core/attention/scales.js';
import { wordsPicture, wordsTable } from '../../components/core/picture/words.js';
import './harness.mjs';

const words = more => ({
  rows: [['start', ' The', ' cat', ' sat']],
  titles: ['Words'],
  steps: new Map([
    [0, 200],
    [1, 0],
  ]),
  numbers: new Map([[0, '61%']]),
  scale: 'sequential',
  at: 3,
  ...more,
});
const texts = nodes => nodes.flatMap(([tag, , text]) => (tag === 'text' ? [text] : []));

test('the picture has every word, its tint, its number and the frame of the current word', () => {
  const { nodes } = wordsPicture(words());
  assert.deepEqual(texts(nodes), ['start', '61%', 'The', 'cat', 'sat']);
  const boxes = nodes.filter(([tag]) => tag === 'rect').map(([, attributes]) => attributes);
  assert.deepEqual(
    boxes.map(({ fill }) => fill),
    [hexColour(false, 'sequential', 200), 'none', 'none', 'none'],
  );
  assert.deepEqual(
    boxes.map(box => 'stroke' in box),
    [false, false, false, true],
  );
  boxes.slice(1).forEach((box, i) => assert.ok(box.x >= boxes[i].x + boxes[i].width));
});

test('a gate below 1 fades the tint as on the page', () => {
  const fill = more => wordsPicture(words(more)).nodes.find(([tag]) => tag === 'rect')[1].fill;
  assert.equal(fill({ opacity: 0.5 }), hexColour(false, 'sequential', 100));
  assert.equal(fill({}), hexColour(false, 'sequential', 200));
});

test('a long text has several lines, two sequences have titles', () => {
  const long = wordsPicture(words({ rows: [Array.from({ length: 80 }, () => ' word')] }));
  assert.ok(long.height > 4 * 52);
  assert.ok(long.nodes.every(([tag, { x, width }]) => tag !== 'rect' || x + width <= long.width));
  const two = wordsPicture(
    words({
      rows: [
        ['Die', ' Katze'],
        ['The', ' cat'],
      ],
      titles: ['one', 'two'],
    }),
  );
  assert.deepEqual(
    texts(two.nodes).filter(text => text === 'one' || text === 'two'),
    ['one', 'two'],
  );
});

test('the table has the tinted words with their numbers', () => {
  const { rows } = wordsTable({ rows: [['Die'], ['The', ' cat']], values: [0.25, 0.75], first: 1, at: 0 });
  assert.deepEqual(rows, [
    [2, 'The', 0.25, 1, 'Die'],
    [3, ' cat', 0.75, 1, 'Die'],
  ]);
});
