from figures.curves.claims import (
    dots as dots,
    learning_curves as learning_curves,
    seed_lines as seed_lines,
    statements as statements,
)
from figures.curves.constants import (
    drop_curves as drop_curves,
    loss_by_score as loss_by_score,
    task_curves as task_curves,
)
from figures.curves.lengths import (
    entropy_of_heads as entropy_of_heads,
    entropy_of_queries as entropy_of_queries,
    length_curves as length_curves,
)
from figures.curves.pruning import (
    memory_curves as memory_curves,
    minimal_heads_curve as minimal_heads_curve,
    pruning_curves as pruning_curves,
)
from figures.export import save as save
from figures.head_scatter import HeadPoint as HeadPoint, head_points as head_points, head_scatter as head_scatter
from figures.line_charts import line_chart as line_chart
from figures.lines import (
    Layout as Layout,
    Panel as Panel,
    Point as Point,
    Rule as Rule,
    Series as Series,
    of_model as of_model,
)
from figures.pattern import (
    attention_pattern as attention_pattern,
    head_patterns as head_patterns,
    mask_surface as mask_surface,
    pattern_squares as pattern_squares,
)
from figures.squares import (
    Field as Field,
    correlations as correlations,
    gate_squares as gate_squares,
    group_squares as group_squares,
    head_squares as head_squares,
    pair_squares as pair_squares,
)
