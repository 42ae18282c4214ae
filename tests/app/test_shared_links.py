"""Links pasted into chat programs and e-mails open the same state: no program's link detection cuts them off."""

import re
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linkify_it import LinkifyIt

from app.state.lab_state import LabState
from app.state.link import query_of, read_query
from models import HeadPlan
from tests.app.test_state import states

ADDRESS = "https://lab.example.org/?"


def _linkify_it(text: str) -> str:
    """Finds a link by the rules of markdown-it, which Discourse, Mattermost, Joplin and others use."""
    return LinkifyIt().match(text)[0].url


def _github(text: str) -> str:
    """Finds a link by GitHub Flavored Markdown 0.29, section 6.9: no white space, no <, no trailing punctuation."""
    link = re.search(r"https://[^\s<]+", text)[0]
    while True:
        shorter = re.sub(r"[?!.,:*_~'\"]+$|&[A-Za-z0-9]+;$", "", link)
        if shorter.endswith(")") and shorter.count(")") > shorter.count("("):
            shorter = shorter[:-1]
        if shorter == link:
            return link
        link = shorter


def _android(text: str) -> str:
    """Finds a link by android.util.Patterns.WEB_URL: characters of path and query, a word boundary at the end."""
    return re.search(r"https://[\w.-]+(?:[/?#](?:[\w;/?:@&=#~.+!*'(),$-]|%[a-fA-F0-9]{2})*)?(?:\b|$|^)", text)[0]


def _gruber(text: str) -> str:
    """Finds a link by Gruber's pattern of 2010, which many programs have copied. Such a link does not end in
    punctuation."""
    last = r"[^\s`!()\[\]{};:'\".,<>?«»“”‘’]"
    return re.search(rf"https://(?:[^\s()<>]+|\([^\s()<>]*\))+(?:\([^\s()<>]*\)|{last})", text)[0]


def _slack(text: str) -> str:
    """Finds a link as Slack does: the characters of bold, italic and struck-through text end a link."""
    return re.search(r"https://[^\s<>|*_~]+", text)[0].rstrip(".,;:!?)\"'”-")


FINDERS = (_linkify_it, _github, _android, _gruber, _slack)
AROUND = ("{}", "See {} now", "({}) is it", "{}. Yes", "it is {}, and", "*see* {} _now_", "“{}” is it",
          "{}\n- next")
ODD = st.text(st.sampled_from(".-_~*+=&;:!?()'\"[]{}<>|%#/\\ \t\naZ7é中🙂"), max_size=20)


def _survives(state: LabState) -> None:
    query = query_of(state)
    assert read_query(dict(parse_qsl(query, keep_blank_values=True)))[0].text == state.text
    for around in AROUND if query else ():
        for find in FINDERS:
            # some rules add a quotation mark that follows the link; the test only checks that nothing is cut off
            assert find(around.format(ADDRESS + query)).startswith(ADDRESS + query), (find.__name__, around)


@given(states())
def test_no_state_is_cut(state: LabState):
    _survives(state)


@given(ODD)
def test_no_text_is_cut(text: str):
    _survives(LabState("stories-selective", text))


@pytest.mark.parametrize("text", ["He.", "Wait...", "a---", "x_", "~", "", "- ", "a_b and ~c~ or *d*", "a&copy;"])
def test_ends_that_programs_cut(text: str):
    state = LabState("stories-selective", text)
    _survives(state)
    _survives(replace(state, plan=HeadPlan.parse("self-0.0~3g0-1.2c_scale-logn64"), source="matrix"))


def test_the_finders_cut_what_is_not_safe():
    """Every rule cuts off the end of a link in the format of earlier versions, so the test above can fail."""
    cut = {"github": "text=He.", "android": "text=a-", "gruber": "text=He.", "slack": "text=a_b",
           "linkify_it": "text=He."}
    for find in FINDERS:
        link = ADDRESS + cut[find.__name__.strip("_")]
        assert not find(f"{link} now").startswith(link)
