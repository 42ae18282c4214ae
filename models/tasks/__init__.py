"""The tasks. A new task is one file here, with three classes, and one line in TASKS."""

from models.tasks.assignment import AssignmentCorpus, AssignmentMetric, AssignmentReader
from models.tasks.base import TaskParts
from models.tasks.dialogue import DialogueCorpus, DialogueMetric, DialogueReader
from models.tasks.masked import MaskedCorpus, MaskedMetric, MaskedReader
from models.tasks.stories import StoriesCorpus, StoriesMetric, StoriesReader
from models.tasks.summary import SummaryCorpus, SummaryMetric, SummaryReader
from models.tasks.translation import TranslationCorpus, TranslationMetric, TranslationReader

TASKS = {parts.reader.name: parts for parts in (
    TaskParts(AssignmentReader, AssignmentCorpus, AssignmentMetric),
    TaskParts(StoriesReader, StoriesCorpus, StoriesMetric),
    TaskParts(MaskedReader, MaskedCorpus, MaskedMetric),
    TaskParts(TranslationReader, TranslationCorpus, TranslationMetric),
    TaskParts(SummaryReader, SummaryCorpus, SummaryMetric),
    TaskParts(DialogueReader, DialogueCorpus, DialogueMetric))}
