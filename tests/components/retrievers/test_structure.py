"""StructureExpander: found articles with their neighbours in the law."""

import pytest
from haystack import Document
from haystack.errors import FilterError

from components.retrievers.structure import StructureExpander

# Laws in turn, so that neighbours are not adjacent in the file.
CITING = "As article 2 of the Housing Code says, articles 1 to 3 of the Housing Code, article 99."
LAW = [
    ("h1", "Housing Code", "1", "See article 3 and article 1."),
    ("w1", "Work Code", "1", CITING),
    ("h2", "Housing Code", "2", "Rent is due."),
    ("w2", "Work Code", "2", "Wages are due under articles 1 to 2."),
    ("h3", "Housing Code", "3", "Articles 1, 2 and 4 hold."),
    ("h4", "Housing Code", "4", "The deposit is returned."),
]


def documents():
    made = []
    for position, (id_, law, number, text) in enumerate(LAW):
        meta = {"law": law, "number": number, "position": position}
        meta["valid_from"] = f"200{number}-01-01"
        made.append(Document(id=id_, content=text, meta=meta))
    return made


def neighbours(expander, id_, **options):
    given = [each for each in documents() if each.id == id_]
    (found,) = expander.run(given, **options)["documents"]
    return [(each["relation"], each["id"]) for each in found.meta["neighbours"]]


def test_neighbours_are_of_the_same_law_or_cited(make_store):
    store = make_store(documents())
    expand = StructureExpander(store)
    assert neighbours(expand, "h1") == [("next", "h2"), ("cited", "h3")]
    assert neighbours(expand, "h2") == [("previous", "h1"), ("next", "h3")]
    # An adjacent article is not named once more as cited.
    assert neighbours(expand, "h3") == [("previous", "h2"), ("next", "h4"), ("cited", "h1")]
    # The articles of a range are not neighbours.
    assert neighbours(expand, "w1") == [("next", "w2"), ("cited", "h2")]
    assert neighbours(expand, "w2") == [("previous", "w1")]
    old = {"field": "meta.valid_from", "operator": "<=", "value": "2002-12-31"}
    assert neighbours(expand, "h3", filters=old) == [("previous", "h2"), ("cited", "h1")]
    adjacent = StructureExpander(store, adjacent=2, cited=0)
    expected = [("previous", "h2"), ("previous", "h1"), ("next", "h4")]
    assert neighbours(adjacent, "h3") == expected
    cited = StructureExpander(store, adjacent=0, cited=2)
    assert neighbours(cited, "h3") == [("cited", "h1"), ("cited", "h2")]
    with pytest.raises(FilterError):
        expand.run(documents(), filters={"field": "meta.law"})


def test_a_neighbour_is_a_plain_record_with_the_whole_text(make_store):
    (found,) = StructureExpander(make_store(documents())).run([documents()[5]])["documents"]
    (neighbour,) = found.meta["neighbours"]
    assert neighbour == {
        "id": "h3",
        "relation": "previous",
        "content": "Articles 1, 2 and 4 hold.",
        "law": "Housing Code",
        "number": "3",
        "valid_from": "2003-01-01",
    }


def test_unknown_documents_and_unusual_metadata(make_store):
    store = make_store(documents())
    expand = StructureExpander(store)
    text = "See article 1 of the Housing Code."
    (found,) = expand.run([Document(id="x", content=text, embedding=[1.0])])["documents"]
    assert (found.meta["neighbours"], found.embedding) == ([], None)
    meta = {"law": "Housing Code", "number": 5, "language": 3}
    odd = Document(id="h5", content="See article 1.", meta=meta)
    store.write_documents([odd])
    assert neighbours(expand, "h2") == [("previous", "h1"), ("next", "h3")]
    (found,) = expand.run([odd])["documents"]
    assert [each["id"] for each in found.meta["neighbours"]] == ["h4", "h1"]


@pytest.mark.parametrize("parameters", [{"adjacent": -1}, {"cited": 1.5}, {"adjacent": True}])
def test_wrong_numbers_are_refused(store, parameters):
    with pytest.raises(ValueError, match=rf"StructureExpander\.{next(iter(parameters))}"):
        StructureExpander(store, **parameters)
