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


_ATTENTION, _SCALES, _LAYOUT, _PLAN, _ASKING, _EFFECTS, _TEXT, _PAYLOAD, _TEXTS, _LESSONS = (
    f"core/{name}.js" for name in ("attention", "scales", "layout", "plan", "asking", "effects", "text", "payload",
                                   "texts", "lessons"))

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
    ("a tip below the window", _LAYOUT, "top: fits ? under : Math.max(GAP, word.top - GAP - height)", "top: under",
     "layout"),
    ("a tip over the right edge", _LAYOUT, "Math.min(screen.width - width - GAP, centred)", "centred", "layout"),
    ("arrows turned round", _LAYOUT, "ArrowLeft: [i, j - 1]", "ArrowLeft: [i, j + 1]", "layout"),
    ("no way over a grid's edge", _LAYOUT, "return after ? inside(grid + 1, 1, column) : null;", "return null;",
     "layout"),
    ("kinds confused", _PLAN, "kind === selection.kind &&\n", "true &&\n", "plan"),
    ("gate of an event ignored", _PLAN, "if (event.gate !== undefined) state.gate = event.gate;", "", "plan"),
    ("row and column swapped", _PLAN, "selection.scope === 'column' || layer", "selection.scope === 'row' || layer",
     "plan"),
    ("pruned called live", _PLAN, "if (gate === 0) return lab._('pruned');", "", "plan"),
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
    ("better and worse swapped", _EFFECTS, "return change > 0 ? ['▲', lab._('worse')",
     "return change < 0 ? ['▲', lab._('worse')",
     "effects"),
    ("points of the wrong sign", _EFFECTS, "100 * (after - before), 1", "100 * (before - after), 1", "effects"),
    ("the strip shows before alone", _EFFECTS, "after : after - before)", "after : before)", "effects"),
    ("changed words marked on the wrong side", _TEXT, "[pieces(old, same[0]), pieces(now, same[1])]",
     "[pieces(old, same[1]), pieces(now, same[0])]", "text"),
    ("percent that is no percent", _TEXT, "percent.toFixed(1)", "value.toFixed(1)", "text"),
    ("signs of direction let through", _TEXT, "`⟨${code.toString(16)}⟩`", "sign", "text"),
    ("triangle one off", _PAYLOAD, "(i * (i + 1)) / 2 + j", "(i * (i - 1)) / 2 + j", "text"),
    ("arrays from the wrong place", _PAYLOAD, "start + offset", "start", "text"),
    ("the answer given away", _LESSONS, "if (right !== null && index === right)", "if (index === (right ?? 2))",
     "lessons"),
    ("a wrong choice called right", _LESSONS, "mark: right === null ? 'chosen' : 'wrong'", "mark: 'right'", "lessons"),
    ("names of controls not marked", _LESSONS, "isName: index % 2 === 1", "isName: false", "lessons"),
    ("Page Down taken from who scrolls", _LESSONS, "!(isOwn || shiftKey)", "false", "lessons"),
)]
