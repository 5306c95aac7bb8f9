"""Documents of running text become one document an article, from the file to the store."""

import pytest
from haystack import Document

from components.preprocessors.splitter import StatuteSplitter
from components.statutes.sources.reading import CorpusError

TEXT = """\
Boats Act

PART I
General

Section 1 Scope
This Act applies to boats on the water.

Section 2 Oars
A boat has two oars.
"""


def test_a_text_becomes_articles_with_their_places_and_a_report():
    given = Document(content=TEXT, meta={"file_path": "acts/boats.txt", "edition": {"year": 2024}})
    result = StatuteSplitter(language="en").run([given, Document(content=TEXT, id="other")])
    first, second, third, _ = result["documents"]
    assert (first.id, first.content) == (
        "boats:Section 1",
        "Scope\nThis Act applies to boats on the water.",
    )
    assert first.meta == {
        "law": "Boats Act",
        "number": "Section 1",
        "headings": ["PART I. General"],
        "language": "en",
        "law_id": "boats",
        "position": 0,
        "law_articles": 4,
        "file_path": "acts/boats.txt",
        "edition": {"year": 2024},
    }
    assert second.meta["position"] == 1
    assert third.id == "other:Section 1"
    assert given.meta["edition"] is not first.meta["edition"]
    assert "2 articles; numbered Section 1 to Section 2; no missing numbers" in result["report"][0]


def test_what_a_document_says_of_its_law_goes_before_the_parameters():
    meta = {"law": "Boats Act 2024", "language": "en-GB", "source_url": "https://example.org/boats"}
    splitter = StatuteSplitter(law="Act", language="en")
    named, unnamed = Document(content=TEXT, meta=meta), Document(content=TEXT, id="x")
    documents = splitter.run([named, unnamed])["documents"]
    assert {name: documents[0].meta[name] for name in meta} == meta
    assert (documents[2].meta["law"], documents[2].meta["language"]) == ("Act", "en")


def test_text_without_articles_is_refused_or_read_by_paragraphs():
    tale = Document(content="A Tale\n\nThe old man rowed.\n\nIt rained.", id="tale")
    with pytest.raises(CorpusError, match="holds no articles"):
        StatuteSplitter().run([tale])
    documents = StatuteSplitter(as_paragraphs=True).run([tale])["documents"]
    assert [each.meta["number"] for each in documents] == ["1", "2", "3"]
    with pytest.raises(CorpusError, match="already the id"):
        StatuteSplitter(as_paragraphs=True).run([tale, tale])
