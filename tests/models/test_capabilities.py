"""A Lab with the required members alone runs, and lacks every capability."""

import pytest

import models
from models import HeadPlan, capabilities
from models.lab import Lab, run
from models.messages import Message
from tests.models.tiny import make_lab, prompt_of, random_ids


class Plain(Lab):
    """Passes the abstract members of Lab, and nothing else, on to a model."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.name, self.task, self.constant, self.card = lab, lab.name, lab.task, lab.constant, lab.card


for member in Lab.__abstractmethods__:
    setattr(Plain, member, property(lambda self, member=member: getattr(self.lab, member)))
Plain.__abstractmethods__ = frozenset()


def test_a_lab_needs_no_more_than_its_abstract_members():
    lab = Plain(make_lab("softmax"))
    prompt = prompt_of(random_ids(1, 8)[0])
    trace = lab.run(prompt, [HeadPlan()])[0]
    assert (lab.layer(prompt, HeadPlan(), "self", 1).weights == trace.weights["self"][1]).all()
    assert lab.sketch(prompt, [HeadPlan()])[0].thumbnails and not list(lab.generate(prompt))
    assert lab.anchored(prompt) is prompt and lab.rewrite(prompt, HeadPlan()) == "" and lab.in_chat is lab


@pytest.mark.parametrize("capability", capabilities.Capability.__subclasses__())
def test_a_missing_capability_is_an_error_with_a_message_for_visitors(capability):
    lab = make_lab("softmax")
    if issubclass(type(lab), capability):
        assert capability.of(lab) is lab
    with pytest.raises(ValueError) as caught:
        capability.of(Plain(lab))
    assert isinstance(caught.value.args[0], Message) and str(caught.value) == capability.missing


def test_the_lens_of_a_plain_lab_says_what_it_lacks():
    stories = models.load("stories-softmax")
    lab = Plain(stories)
    assert run(lab, "The cat").outputs
    with pytest.raises(ValueError, match="predicts no tokens"):
        models.logit_lens(lab, "The cat")
