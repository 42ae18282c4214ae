from models.analysis.answer.head_attribution import (
    HeadAttribution as HeadAttribution,
)
from models.analysis.answer.head_attribution import (
    head_attribution as head_attribution,
)
from models.analysis.answer.logit_lens import LogitLens as LogitLens
from models.analysis.answer.logit_lens import logit_lens as logit_lens
from models.catalogue import names as names
from models.extras import MissingExtraError as MissingExtraError
from models.kind import Kind as Kind
from models.lab import Lab as Lab
from models.lab import run as run
from models.labs.foreign import load_folder as load_folder
from models.labs.foreign.refusals import ForeignError as ForeignError
from models.labs.foreign.running.constants import mean_weights as mean_weights
from models.labs.saving import SavedModel as SavedModel
from models.labs.saving import save_pretrained as save_pretrained
from models.loading import cached as cached
from models.loading import held as held
from models.loading import in_memory as in_memory
from models.loading import load as load
from models.plan import HeadPlan as HeadPlan
from models.trace import Output as Output
from models.trace import Trace as Trace
