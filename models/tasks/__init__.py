"""The tasks. A new one is one file here and one line in TASKS."""

from models.tasks.assignment import Assignment
from models.tasks.base import Task
from models.tasks.dialogue import Dialogue
from models.tasks.masked import Masked
from models.tasks.stories import Stories
from models.tasks.summary import Summary
from models.tasks.translation import Translation

TASKS: dict[str, type[Task]] = {task.name: task for task in (
    Assignment, Stories, Masked, Translation, Summary, Dialogue)}
