"""The link of each statement into the Lab; a statement's file names the model, the tool, and models beside it."""

from urllib.parse import urlencode

from app import texts
from app.state.lab_state import CLAIMS, LAB
from studies import claims


def place(key: str) -> list[str]:
    """Returns the model, the tool, and the models beside it of a statement; empty without a place in the Lab."""
    return (claims.entry(key).get("lab", "") if key in CLAIMS and "-" in key else "").split()


def query(key: str) -> str:
    """Returns the query of a statement's state in the Lab, in the visitor's language; empty without one."""
    if not place(key):
        return ""
    model, tool, *beside = place(key)
    language = "" if texts.language() == texts.ENGLISH else texts.language()
    fields = {"page": LAB, "model": model, "with": " ".join(beside), "lab": tool, "lang": language}
    return urlencode({name: value for name, value in fields.items() if value})
