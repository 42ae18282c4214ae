"""Trains the released tokenizers again and compares them with the stored ones.

    pytest tests/models/test_tokenizers.py -m verify
"""

import pytest

from models.storage.datasets import DATA
from models.tasks.tokenizers import trained


@pytest.mark.verify
def test_tokenizers_are_those_trained_on_the_data():
    assert [text == path.read_text("utf-8") for path, text in trained(DATA).items()] == [True, True]
