import figures as figures
from attention_lab import study as study
from learning.loop import learn as learn
from models import *  # noqa: F403
from widget import compare as compare
from widget import show as show

__version__: str
