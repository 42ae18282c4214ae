"""The citation that visitors copy in the browser agrees with CITATION.cff."""

from components.library.citation import FILE, LINK, bibtex


def test_the_citation_has_the_files_title_author_version_and_year():
    entry, text = bibtex(), FILE.read_text("utf-8")
    for field, value in (("title", "Attention Lab: interventions"), ("author", "{Attention Lab contributors}"),
                         ("year", "2026"), ("version", "1."), ("url", LINK)):
        assert f"  {field} = {{{value}" in entry
    assert "Attention Lab: interventions" in text and "\nversion: 1." in text
    assert bibtex("") == ""
