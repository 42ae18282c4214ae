from figures.curves import (
    dots as dots,
)
from figures.curves import (
    drop_curves as drop_curves,
)
from figures.curves import (
    learning_curves as learning_curves,
)
from figures.curves import (
    length_curves as length_curves,
)
from figures.curves import line_chart as line_chart
from figures.curves import (
    seed_lines as seed_lines,
)
from figures.curves import (
    task_curves as task_curves,
)
from figures.export import save as save
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
