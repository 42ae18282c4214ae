"""Charts over text length: loss, accuracy, entropy, normaliser."""

from collections.abc import Sequence

from figures.line_charts import line_parts
from figures.lines import Layout, Panel, Rule, Series
from figures.tables import Charted, Parts
from figures.theme import Theme
from models.messages import message


@Charted
def length_curves(series: Sequence[Series], panels: Sequence[Panel], length: int, trained: Sequence[int],
                  theme: Theme = "light") -> Parts:
    """Returns measured quantities against the number of tokens on a logarithmic axis, one panel per quantity.

    Args:
        series: one per model and inference setting.
        panels: panels with title and unit, and lines.
        length: number of tokens that a line marks; the parameter `at` moves this line.
        trained: text lengths of the models' training in tokens, which dashed lines mark.
        theme: see figures.theme.
    """
    rules = [Rule(message("trained"), x=tokens) for tokens in trained]
    lengths = sorted({point.x for panel in panels for point in panel.lines})
    ruled = [Panel(panel.title, panel.lines, rules=rules, percent=panel.percent) for panel in panels]
    return line_parts(series, ruled, Layout(message("tokens"), "log2", columns=2, width=420, height=190, least=360,
                                            chooses=True, at=length, fits_lines=True, values=lengths),
                      message("Effect of text length"), theme)
