"""The citation of Attention Lab as BibTeX, from CITATION.cff."""

import re
from pathlib import Path

FILE = Path(__file__).parents[2] / "CITATION.cff"
LINK = "LINK"  # the browser replaces this word by the address of the state


def bibtex(text: str | None = None) -> str:
    """Returns a BibTeX entry of CITATION.cff whose url is LINK; empty without the file, as in some installations."""
    if text is None:
        text = FILE.read_text("utf-8") if FILE.exists() else ""
    fields = dict(re.findall(r'^(?:  - )?([\w-]+): "?(.+?)"?$', text, re.MULTILINE))
    if not {"title", "name", "version", "date-released"} <= fields.keys():
        return ""
    lines = {"title": fields["title"], "author": f"{{{fields['name']}}}", "year": fields["date-released"][:4],
             "version": fields["version"], "url": LINK}
    entry = ",\n".join(f"  {name} = {{{value}}}" for name, value in lines.items())
    return f"@software{{attention_lab,\n{entry}\n}}\n"
