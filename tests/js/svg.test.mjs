// Tests of SVG, CSV and HTML files for download: they are safe and complete, and contain title, citation and link.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCsv } from '../../components/core/csv.js';
import { standalonePage } from '../../components/core/picture/standalone.js';
import { escapeXml, fileName, framePicture, textWidth, toMarkup, wrapText } from '../../components/core/picture/svg.js';
import './harness.mjs';

const HOSTILE = `</text><script>alert("x")</script>&amp;'\u0000\ud800`;

test('any text is text in XML, in elements and in attributes', () => {
  const markup = toMarkup(['text', { x: 1, title: HOSTILE }, HOSTILE, ['tspan', {}]]);
  assert.ok(!/<script|<\/text>.*<\/text>|"x"|\ud800/.test(markup) && !markup.includes('\0'));
  assert.ok(markup.startsWith('<text x="1" title="&lt;/text&gt;'));
  assert.ok(markup.endsWith('&amp;amp;&#39;\ufffd\ufffd<tspan/></text>'));
  assert.equal(escapeXml('naïve 漢字 🐉 👩‍👩‍👧'), 'naïve 漢字 🐉 👩‍👩‍👧');
});

test('lines hold the whole text and no more than their width', () => {
  const text = 'A rather long sentence with https://example.org/?text=Once+upon+a+time+there+was+a+little+dragon in it';
  const lines = wrapText(text, 120, 11);
  assert.equal(lines.join('').replaceAll(' ', ''), text.replaceAll(' ', ''));
  for (const line of lines) assert.ok(textWidth(line, 11) <= 120, line);
  const short = wrapText(text, 120, 11, 2);
  assert.equal(short.length, 2);
  assert.ok(short[1].endsWith('…'));
});

test('a picture carries title, drawing, sentences, citation and the whole link', () => {
  const link = `https://example.org/?text=${'x'.repeat(600)}`;
  const picture = { width: 100, height: 50, nodes: [['rect', { id: 'it' }]] };
  const { width, height, tree } = framePicture({
    title: 'T <b>',
    about: ['One.', 'Two.'],
    picture,
    citation: 'C.',
    link,
  });
  const markup = toMarkup(tree);
  for (const part of ['T &lt;b&gt;', 'One.', 'Two.', 'C.', 'id="it"', `href="${link}"`])
    assert.ok(markup.includes(part), part);
  assert.ok(markup.includes(`viewBox="0 0 ${width} ${height}"`));
  assert.ok(markup.includes('fill="#ffffff"'));
});

test('names of files are safe, and say what is in them', () => {
  assert.equal(
    fileName(['stories-softmax', 'layer 1 head 3'], 'svg'),
    'attention-lab_stories-softmax_layer-1-head-3.svg',
  );
  assert.equal(
    fileName(['../../etc/passwd', 'C:\\con', '\u202egnp.exe', '漢字'], 'png'),
    'attention-lab_etc-passwd_c-con_gnp-exe.png',
  );
  assert.equal(fileName(['', '..'], 'csv'), 'attention-lab.csv');
  assert.ok(fileName(['x'.repeat(500)], 'csv').length < 80);
  const models = Array.from({ length: 30 }, (_, i) => `masked-softmax-${i + 10}`);
  const long = fileName([...models, 'constant'], 'csv');
  assert.match(long, /^attention-lab_masked-softmax-10_masked-softmax-11_.*_constant\.csv$/);
  assert.ok(long.length > 110 && long.length < 140);
});

test('a table keeps its texts and numbers, and holds no formula', () => {
  const columns = ['token', 'value'];
  const rows = [
    ['a,b "c"\n', 0.1234567],
    ['=HYPERLINK("http://x")', 1e-7],
    ['=', NaN],
    [' the', 2],
    ['-1.5', -3],
    ['@x', null],
  ];
  const text = toCsv({ columns, rows }, 'Cited\r\nhere.', 'http://l');
  assert.deepEqual(text.split('\r\n'), [
    '# Cited here. http://l',
    'token,value',
    '"a,b ""c""\n",0.123457',
    `"'=HYPERLINK(""http://x"")",1e-7`,
    '=,',
    '" the",2',
    '-1.5,-3',
    "'@x,",
    '',
  ]);
});

test('the page needs no other file and shows typed text as text', () => {
  const tree = ['svg', { xmlns: 'http://www.w3.org/2000/svg' }, ['title', {}, HOSTILE], ['text', {}, HOSTILE]];
  const page = standalonePage({ title: HOSTILE, rest: HOSTILE, tree, script: '1;', language: 'zh"><script>' });
  assert.equal(page.match(/<script/g).length, 1);
  assert.ok(page.includes("default-src 'none'"));
  assert.ok(!/\b(?:src|href)="?(?!#)/.test(page.replace(/-src/g, '')));
  assert.ok(page.includes('tabindex="0"'));
});
