from models.analysis.answer.head_attribution import (
    HeadAttribution as HeadAttribution,
    head_attribution as head_attribution,
)
from models.analysis.answer.logit_lens import LogitLens as LogitLens, logit_lens as logit_lens
from models.catalogue import names as names
from models.extras import MissingExtraError as MissingExtraError
from models.kind import Kind as Kind
from models.lab import Lab as Lab, run as run
from models.labs.foreign import load_folder as load_folder
from models.labs.foreign.errors import ForeignError as ForeignError
from models.labs.foreign.running.constants import mean_weights as mean_weights
from models.labs.saving import SavedModel as SavedModel, save_pretrained as save_pretrained
from models.loading import cached as cached, held as held, in_memory as in_memory, load as load
from models.plan import HeadPlan as HeadPlan
from models.trace import Output as Output, Trace as Trace
