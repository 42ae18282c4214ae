from figures.curves.claims import (
    dots as dots,
)
from figures.curves.claims import (
    learning_curves as learning_curves,
)
from figures.curves.claims import (
    seed_lines as seed_lines,
)
from figures.curves.constants import (
    drop_curves as drop_curves,
)
from figures.curves.constants import (
    task_curves as task_curves,
)
from figures.curves.lengths import (
    length_curves as length_curves,
)
from figures.export import save as save
from figures.line_charts import line_chart as line_chart
from figures.lines import (
    Layout as Layout,
)
from figures.lines import (
    Panel as Panel,
)
from figures.lines import (
    Point as Point,
)
from figures.lines import (
    Rule as Rule,
)
from figures.lines import (
    Series as Series,
)
from figures.pattern import (
    attention_pattern as attention_pattern,
)
from figures.pattern import (
    mask_surface as mask_surface,
)
