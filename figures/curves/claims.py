"""Charts of Findings: all statements, the numbers of the paper beside our numbers, and learning curves."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from figures.line_charts import line_parts
from figures.lines import TEXT_LINE, Layout, Panel, Point, Rule, Series
from figures.tables import Column, Narrow, Parts, charted, format_value, sentence
from figures.theme import Look, Theme
from models.messages import message

SOURCE = "source"  # value of `which` for the numbers of the paper
_SOURCE = ("accent", 1)  # colour and shape
_OURS = (("ink", 0), ("faint", 2), ("ink", 3), ("faint", 5), ("ink", 4), ("faint", 1))

ROW, SPACE = 21, 8  # height in px of a row of one line, and of a gap
NARROW = 1150  # width of the page in px below which the picture has no columns of numbers
CHARACTERS = 44  # in a line of the narrow picture; a Chinese character counts twice
WORD_CHARACTERS = 20  # in a line of the column of verdicts
COLUMNS = {"text": 45, "source": 44, "ours": 44}  # column of the wide picture -> characters in a line


@charted
def statements(rows: Sequence[Mapping[str, str]], title: str, looks: Mapping[str, Look], words: Mapping[str, str],
               theme: Theme = "light") -> Parts:
    """Returns a picture of all statements, one row each: the mark of the verdict, the source's number and ours.

    Rows with the same verdict are below its title. In every row the mark is beside the verdict's word, on narrow pages
    too. Texts and numbers are broken into lines, because none may be cut. On a page that is narrower than NARROW the
    picture has the marks and the statements alone. A click on a row selects its `key`, see usermeta.picks in
    components/figure.

    Args:
        rows: short (short title of the claim), key, text, source, ours, verdict and meaning (of the
            verdict, for the tooltip) of each statement, in the reader's language, ordered by verdict.
        title: title of the picture.
        looks: verdict in the reader's language -> its mark, in the order of the legend.
        words: text, source, ours and verdict -> title of this column in the reader's language.
        theme: see figures.theme.
    """
    counts = {word: sum(row["verdict"] == word for row in rows) for word in looks}
    labels = {word: f"{word} ({count})" for word, count in counts.items() if count}
    placed: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    wide, narrow = ROW, 0  # the wide picture begins with the titles of its columns
    for row in rows:
        if not heads or heads[-1]["text"] != labels[row["verdict"]]:
            heads.append({"text": labels[row["verdict"]], "wide_middle": wide + SPACE + ROW / 2,
                          "narrow_middle": narrow + SPACE + ROW / 2})
            wide, narrow = wide + SPACE + ROW, narrow + SPACE + ROW
        lines = _lines(row["text"])
        columns = {field: _lines(row[field], most) for field, most in COLUMNS.items()} | {
            "verdict": [row["verdict"], *_lines(row["short"], WORD_CHARACTERS)]}
        height = TEXT_LINE * (1 + len(lines)) + SPACE  # the first line has the verdict's word
        wide_height = TEXT_LINE * (max(map(len, columns.values())) - 1) + ROW
        placed.append({**row, "label": labels[row["verdict"]], "lines": "\n".join(lines),
                       "word": f"{row['verdict']} · {row['short']}",
                       **{f"{field}_lines": "\n".join(parts) for field, parts in columns.items()},
                       "wide_top": wide, "wide_middle": wide + ROW / 2, "wide_bottom": wide + wide_height,
                       "narrow_top": narrow, "narrow_middle": narrow + ROW / 2, "narrow_bottom": narrow + height})
        wide, narrow = wide + wide_height, narrow + height
    look_by_label = {label: looks[word] for word, label in labels.items()}
    hints = [(field if field != "verdict" else "meaning", word) for field, word in words.items()]

    def build(form: str = "wide", height: int = wide) -> Any:
        from figures.plots import statement_rows  # imports altair

        return statement_rows(look_by_label, words, hints, height, form, theme)

    counted = [message("{verdict}: {count}", verdict=word, count=count) for word, count in counts.items() if count]
    return Parts(("statements", tuple(look_by_label.items()), tuple(words.items()), wide, narrow, theme), build,
                 {"rows0": placed, "heads0": heads},
                 [Column("short", message("claim")), *(Column(field, word) for field, word in words.items())], title,
                 sentence(title, "", counted), theme, {"picks": "key", "width": 1080},
                 Narrow(NARROW, lambda: build("narrow", narrow)))


def _lines(text: str, most: int = CHARACTERS) -> list[str]:
    """Returns the lines of a text; between Chinese characters a line can end anywhere, at a no-break space nowhere."""
    lines, room = [""], most
    for word in re.findall(r"(?:[^\s\u2e80-\uffee]|\u00a0)+[ \n]*|[\u2e80-\uffee]\s*", text):
        width = sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in word.rstrip())
        # no line begins with a punctuation mark
        if width > room and lines[-1] and unicodedata.category(word[0])[0] != "P":
            lines[-1], room = lines[-1].rstrip(), most
            lines.append("")
        lines[-1] += word
        room -= width + len(word) - len(word.rstrip())
    return lines


@charted
def dots(points: Sequence[Mapping[str, Any]], title: str, rule: tuple[float, str] | None = None,
         percent: bool = False, names: Mapping[str, str] | None = None, theme: Theme = "light") -> Parts:
    """Returns a dot plot with one row per name: the paper's number and our numbers, with intervals over several values.

    A bar joins the values of one name and one origin from the smallest to the largest value; each value is a dot.

    Args:
        points: name (row), value, which (`source`, or one of our series); several values of a row are seeds.
        title: title of the values, with the unit.
        rule: a value that a vertical line marks, and its label.
        percent: True for fractions, which are shown in percent.
        names: name or which -> text in the reader's language.
        theme: see figures.theme.
    """
    word = dict(names or {})
    rows = [{"name": word.get(p["name"], p["name"]), "which": word.get(p["which"], p["which"]), "value": p["value"],
             "shown": format_value(p["value"], percent)} for p in points]
    whiches = list(dict.fromkeys(p["which"] for p in points))
    ours = [which for which in whiches if which != SOURCE]
    styles = {word.get(which, which): _SOURCE if which == SOURCE else _OURS[min(ours.index(which), len(_OURS) - 1)]
              for which in whiches}
    order = tuple(dict.fromkeys(row["name"] for row in rows))
    marked = None if rule is None else (rule[0], word.get(rule[1], rule[1]))
    key = ("dots", order, tuple(styles.items()), title, marked, percent, theme)

    def build() -> Any:
        from figures.plots import dot_plot  # imports altair

        return dot_plot(order, styles, title, marked, percent, theme)

    parts = [message("{name}, {which}: {value}", name=row["name"], which=row["which"], value=row["shown"])
             for row in rows]
    return Parts(key, build, {"rows0": rows}, [Column("name", message("name")), Column("which", message("origin")),
                                               Column("value", title)],
                 title, sentence(title, "", parts), theme, {"columns": 1, "least": 300})


@charted
def seed_lines(points: Sequence[Mapping[str, Any]], title: str, across: str, styles: Mapping[str, Mapping[str, Any]],
               rule: tuple[float, str] | None = None, percent: bool = False, scattered: bool = False,
               names: Mapping[str, str] | None = None, theme: Theme = "light") -> Parts:
    """Returns one line per name, the mean over seeds, with a small mark for each seed.

    Args:
        points: name, x, value, seed.
        title, across: titles of the vertical and the horizontal axis, with units.
        styles: name -> colour and dash (studies.series.style).
        rule: a value that a horizontal line marks, and its label.
        percent: True for fractions, which are shown in percent.
        scattered: True to place x values to scale; False for equal distances between the values.
        names: name -> text in the reader's language.
        theme: see figures.theme.
    """
    word = dict(names or {})
    order = list(dict.fromkeys(p["name"] for p in points))
    lines, seeds = [], []
    for index, name in enumerate(order):
        at: dict[float, list[Mapping[str, Any]]] = {}
        for point in points:
            if point["name"] == name:
                at.setdefault(point["x"], []).append(point)
        for x, seed_values in sorted(at.items()):
            values = [p["value"] for p in seed_values]
            lines.append(Point(index, x, fmean(values), stdev(values) if len(values) > 1 else None))
            seeds += [Point(index, x, p["value"], note=message("seed {seed}", seed=p["seed"])) for p in seed_values
                      if len(seed_values) > 1]
    rules = [] if rule is None else [Rule(word.get(rule[1], rule[1]), y=rule[0])]
    return line_parts([Series.of_style(word.get(name, name), styles[name]) for name in order],
                      [Panel(title, lines=lines, dots=seeds, rules=rules, percent=percent)],
                      Layout(across, "linear" if scattered else "band", height=280), title, theme)


@charted
def learning_curves(points: Sequence[Mapping[str, Any]], title: str, across: str,
                    styles: Mapping[str, Mapping[str, Any]], names: Mapping[str, str] | None = None,
                    theme: Theme = "light") -> Parts:
    """Returns the validation loss during training, one line per model, with training steps on a logarithmic axis.

    Args:
        points: name, x (training steps), value (nats), seed.
        title, across, styles, names, theme: see `seed_lines`.
    """
    word = dict(names or {})
    order = list(dict.fromkeys(p["name"] for p in points))
    lines = [Point(order.index(p["name"]), p["x"], p["value"]) for p in points]
    return line_parts([Series.of_style(word.get(name, name), styles[name]) for name in order],
                      [Panel(title, lines=sorted(lines, key=lambda point: (point.series, point.x)))],
                      Layout(across, "log2", height=300), title, theme)
