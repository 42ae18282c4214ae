"""Mistakes that the JavaScript's tests must notice: each an exact replacement in one source, and the tests to fail."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """`new` in place of `old`, which the file holds once; `tests` is a file of tests/js without its ending."""

    name: str
    file: str
    old: str
    new: str
    tests: str


_ATTENTION, _SCALES, _LAYOUT, _PLAN, _ASKING, _EFFECTS, _TEXT, _PAYLOAD, _TEXTS = (
    f"core/{name}.js" for name in ("attention", "scales", "layout", "plan", "asking", "effects", "text", "payload",
                                   "texts"))
_SVG, _CSV, _STANDALONE, _PICTURE, _AXES, _MARKS, _LINES, _CHART = (
    f"core/{name}.js" for name in ("svg", "csv", "standalone", "picture", "axes", "marks", "lines", "chart"))

MUTATIONS = [Mutation(*entry) for entry in (
    ("a name that nobody gave", _TEXTS, "(Object.hasOwn(values, name) ? String(values[name]) : whole)",
     "String(values[name])", "texts"),
    ("values with dollars", _TEXTS, "(whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole)",
     "Object.values(values)[0] ?? '$1'", "texts"),
    ("always English", _TEXTS, "lab.texts?.[lab.language]", "lab.texts?.en", "texts"),
    ("names of objects taken for texts", _TEXTS, "texts && Object.hasOwn(texts, text) ? texts[text] : null",
     "texts?.[text] ?? null", "texts"),
    ("one thing among languages of one form", _TEXTS, "forms.length === 1 || n === 1", "n === 1", "texts"),
    ("F halved", _ATTENTION, "? selected[place(i, j)] : 0", "? selected[place(i, j)] / 2 : 0", "attention"),
    ("F with its own row", _ATTENTION, "mask[(i + 1) * n + j] = mask[i * n + j] +", "mask[i * n + j] +=", "attention"),
    ("weights without F", _ATTENTION, "- (mask ? mask[t * n + j] : 0)", "", "attention"),
    ("taken away and left swapped", _ATTENTION, "1 - Math.exp(-mask)", "Math.exp(-mask)", "attention"),
    ("difference reversed", _ATTENTION,
     "arrays.constant.data[place(i, j)] - arrays.live.data[place(i, j)]",
     "arrays.live.data[place(i, j)] - arrays.constant.data[place(i, j)]", "attention"),
    ("weights tripled", _ATTENTION, "return (i, j) => data[place(i, j)];", "return (i, j) => 3 * data[place(i, j)];",
     "attention"),
    ("live shown as used", _ATTENTION, "arrays[view === 'used' ? used : view]", "arrays.live", "attention"),
    ("entropy in bits", _ATTENTION, "weight * Math.log(weight)", "weight * Math.log2(weight)", "attention"),
    ("thumbnails inverted", _SCALES, ": tiles[index * size + place(i, j)]", ": 255 - tiles[index * size + place(i, j)]",
     "scales"),
    ("thumbnails shifted by one head", _SCALES, "tiles[index * size", "tiles[(index + 1) * size", "scales"),
    ("thumbnails transposed", _SCALES, "pixels[i * columns + j] = table", "pixels[j * rows + i] = table", "scales"),
    ("scale without its root", _SCALES, "Math.sqrt(Math.min(1, Math.max(0, weight / most)))",
     "Math.min(1, Math.max(0, weight / most))", "scales"),
    ("diverging scale turned round", _SCALES, "(0.5 + 0.5 * Math.sign(value)", "(0.5 - 0.5 * Math.sign(value)",
     "scales"),
    ("themes swapped", _SCALES, "const stops = lab.colours[dark ? 'dark' : 'light']",
     "const stops = lab.colours[dark ? 'light' : 'dark']", "scales"),
    ("pointer one column off", _LAYOUT, "Math.floor((px - x) / cell)]", "Math.floor((px - x) / cell) + 1]", "layout"),
    ("pointer one row off", _LAYOUT, "Math.floor((py - y) / cell),", "Math.floor((py - y) / cell) - 1,", "layout"),
    ("cells too large for the longer side", _LAYOUT, "side / Math.max(rows, columns)", "side / rows", "layout"),
    ("arrows turned round", _LAYOUT, "ArrowLeft: [i, j - 1]", "ArrowLeft: [i, j + 1]", "layout"),
    ("no way over a grid's edge", _LAYOUT, "return after ? inside(grid + 1, 1, column) : null;", "return null;",
     "layout"),
    ("kinds confused", _PLAN, "kind === selection.kind &&\n", "true &&\n", "plan"),
    ("gate of an event ignored", _PLAN, "if (event.gate !== undefined) state.gate = event.gate;", "", "plan"),
    ("row and column swapped", _PLAN, "selection.scope === 'column' || layer", "selection.scope === 'row' || layer",
     "plan"),
    ("pruned called live", _PLAN, "if (gate === 0) return 'pruned';", "", "plan"),
    ("events of one head folded into another's", _ASKING, "['kind', 'layer', 'head', 'scope']",
     "['kind', 'layer', 'scope']", "asking"),
    ("fields that are not covered are lost", _ASKING, "previous[field] === undefined || event[field] !== undefined",
     "true", "asking"),
    ("a queue of 32", _ASKING, "!lab.covers(event, previous)), event];",
     "!lab.covers(event, previous)), event].slice(-32);", "asking"),
    ("undo folded away", _ASKING, "const ONE = [", "const ONE = ['undo', ", "asking"),
    ("older answers taken for new ones", _ASKING, "return typed.length ? text !== typed.at(-1) :",
     "return typed.length ? !typed.includes(text) :", "asking"),
    ("questions forgotten with the first answer", _ASKING, "number > upTo ||", "number > upTo &&", "asking"),
    ("before and after swapped", _EFFECTS, "before: 100 * before,\n  after: 100 * after,",
     "before: 100 * after,\n  after: 100 * before,", "effects"),
    ("better and worse swapped", _EFFECTS, "return change > 0 ? ['▲', 'worse'", "return change < 0 ? ['▲', 'worse'",
     "effects"),
    ("points of the wrong sign", _EFFECTS, "100 * (after - before), 1", "100 * (before - after), 1", "effects"),
    ("the strip shows before alone", _EFFECTS, "after : after - before)", "after : before)", "effects"),
    ("changed words marked on the wrong side", _TEXT, "[pieces(old, same[0]), pieces(now, same[1])]",
     "[pieces(old, same[1]), pieces(now, same[0])]", "text"),
    ("percent that is no percent", _TEXT, "percent.toFixed(1)", "value.toFixed(1)", "text"),
    ("signs of direction let through", _TEXT, "`⟨${code.toString(16)}⟩`", "sign", "text"),
    ("triangle one off", _PAYLOAD, "(i * (i + 1)) / 2 + j", "(i * (i - 1)) / 2 + j", "text"),
    ("arrays from the wrong place", _PAYLOAD, "start + offset", "start", "text"),
    ("text of people as markup", _SVG, ".replace(/[&<>\"']/g, sign => SIGNS[sign])", "", "svg"),
    ("attributes as they come", _SVG, "=\"${lab.escaped(value)}\"`", "=\"${value}\"`", "svg"),
    ("signs that XML has no place for", _SVG, ".replace(UNKNOWN, '\\ufffd')", "", "svg"),
    ("lines beyond their width", _SVG, "lab.textWidth(piece, size) > width ? Array.from(piece) : [piece]", "[piece]",
     "svg"),
    ("a picture without its link", _SVG, "['a', { href: link }, node]", "node", "svg"),
    ("names of files with anything in them", _SVG, ".replace(/[^\\w]+/g, '-')", "", "svg"),
    ("hidden files", _SVG, "['attention-lab', ...safe]", "safe", "svg"),
    ("formulas in tables", _CSV, "? `'${text}` : text;", "? text : text;", "svg"),
    ("quotes that end a field", _CSV, ".replaceAll('\"', '\"\"')", "", "svg"),
    ("numbers cut short", _CSV, "const DIGITS = 6;", "const DIGITS = 3;", "svg"),
    ("a page that may ask others", _STANDALONE, "default-src \\'none\\';", "default-src *;", "svg"),
    ("a page without its keys", _STANDALONE, "tabindex: '0',", "", "svg"),
    ("cells transposed", _PICTURE, "x: j * cell, y: i * cell, width", "x: i * cell, y: j * cell, width", "picture"),
    ("the future drawn", _PICTURE, "      if (causal && j > i) return;\n", "", "picture"),
    ("tokens left out", _PICTURE, "...across.map((label, j) => {", "...across.slice(0, 64).map((label, j) => {",
     "picture"),
    ("cells without their scale", _PICTURE, "lab.hex(false, scale, step(weight, most))",
     "lab.hex(false, 'sequential', step(weight, most))", "picture"),
    ("a table one key off", _PICTURE, "[[i + 1, query, j + 1, key, value(i, j)]]",
     "[[i + 1, query, j + 1, key, value(i, 0)]]",
     "picture"),
    ("heads of the grid mixed up", _PICTURE, "layer * heads + head, grid)", "layer * heads, grid)", "picture"),
    ("ticks that are not round", _AXES, "[1, 2, 5, 10].find(", "[1, 3, 7, 10].find(", "chart"),
    ("no logarithm", _AXES, "kind === 'log2' ? Math.log2 :", "kind === 'log' ? Math.log2 :", "chart"),
    ("labels upon each other", _AXES, "places[i - 1] + apart)", "places[i - 1])", "chart"),
    ("one theme's colours in both", _MARKS, "theme.dark ? 'dark' : 'light'", "'light'", "chart"),
    ("colour alone", _MARKS, "dash ? { 'stroke-dasharray': dash } : {}", "({})", "chart"),
    ("rings flatten the lines", _LINES, "...seeds.map(({ x, y }) => [x, y])]",
     "...seeds.map(({ x, y }) => [x, y]), ...(lines[0].rings ?? []), [32, 90]]", "chart"),
    ("points without words in files", _LINES, "if (few || every)", "if (few)", "chart"),
    ("the nearest place is the farthest", _LINES, "distance(one) < distance(best)", "distance(one) > distance(best)",
     "chart"),
    ("dots in the wrong row", _CHART, "const y = top + row * tall + tall / 2 +", "const y = top + tall / 2 +", "chart"),
    ("squares of one colour", _CHART, "Math.max(0, value / most)", "Math.max(0, most / most)", "chart"),
    ("layers and heads swapped", _CHART, "[title, layer + 1, head + 1, value]", "[title, head + 1, layer + 1, value]",
     "chart"),
)]
