"""StructureExpander: found articles with their neighbours in the law."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError

from components.retrievers.structure import StructureExpander
from components.stores.sqlite import StatuteDocumentStore

# Laws in turn, so that neighbours do not stand side by side in the file.
LAW = [
    ("h1", "Housing Code", "1", "See article 3 and article 1."),
    (
        "w1",
        "Work Code",
        "1",
        "As article 2 of the Housing Code says, articles 1 to 3 of the Housing Code, article 99.",
    ),
    ("h2", "Housing Code", "2", "Rent is due."),
    ("w2", "Work Code", "2", "Wages are due under articles 1 to 2."),
    ("h3", "Housing Code", "3", "Articles 1, 2 and 4 hold."),
    ("h4", "Housing Code", "4", "The deposit is returned."),
]


def documents() -> list[Document]:
    return [
        Document(
            id=id_,
            content=text,
            meta={
                "law": law,
                "number": number,
                "position": position,
                "valid_from": f"200{number}-01-01",
            },
        )
        for position, (id_, law, number, text) in enumerate(LAW)
    ]


@pytest.fixture(params=["sqlite", "in memory"])
def expander(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., StructureExpander]:
    store: Any = InMemoryDocumentStore()
    if request.param == "sqlite":
        store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents(documents())
    return lambda **parameters: StructureExpander(store, **parameters)


def neighbours(expander: StructureExpander, id_: str, **options: Any) -> list[tuple[str, str]]:
    (found,) = expander.run([each for each in documents() if each.id == id_], **options)[
        "documents"
    ]
    return [(each["relation"], each["id"]) for each in found.meta["neighbours"]]


def test_neighbours_are_of_the_same_law_or_cited(
    expander: Callable[..., StructureExpander],
) -> None:
    expand = expander()
    assert neighbours(expand, "h1") == [("next", "h2"), ("cited", "h3")]
    assert neighbours(expand, "h2") == [("previous", "h1"), ("next", "h3")]
    # What stands beside it is named as that, and not once more as cited.
    assert neighbours(expand, "h3") == [("previous", "h2"), ("next", "h4"), ("cited", "h1")]
    # A range is no neighbour.
    assert neighbours(expand, "w1") == [("next", "w2"), ("cited", "h2")]
    assert neighbours(expand, "w2") == [("previous", "w1")]


def test_how_many_is_settable(expander: Callable[..., StructureExpander]) -> None:
    assert neighbours(expander(adjacent=2, cited=0), "h3") == [
        ("previous", "h2"),
        ("previous", "h1"),
        ("next", "h4"),
    ]
    assert neighbours(expander(adjacent=0, cited=2), "h3") == [("cited", "h1"), ("cited", "h2")]


def test_a_neighbour_is_plain_and_whole(expander: Callable[..., StructureExpander]) -> None:
    (found,) = expander().run([documents()[5]])["documents"]
    assert found.meta["neighbours"] == [
        {
            "id": "h3",
            "relation": "previous",
            "content": "Articles 1, 2 and 4 hold.",
            "law": "Housing Code",
            "number": "3",
            "valid_from": "2003-01-01",
        }
    ]


def test_filters_hold_for_neighbours(expander: Callable[..., StructureExpander]) -> None:
    old = {"field": "meta.valid_from", "operator": "<=", "value": "2002-12-31"}
    assert neighbours(expander(), "h3", filters=old) == [("previous", "h2"), ("cited", "h1")]
    with pytest.raises(FilterError):
        expander().run(documents(), filters={"field": "meta.law"})


def test_what_the_store_does_not_know_has_none(
    expander: Callable[..., StructureExpander],
) -> None:
    stranger = Document(id="x", content="See article 1 of the Housing Code.", embedding=[1.0])
    (found,) = expander().run([stranger])["documents"]
    assert found.meta["neighbours"] == []
    assert found.embedding is None


def test_the_order_follows_the_store(tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents(documents()[:4])
    expand = StructureExpander(store)
    assert neighbours(expand, "h2") == [("previous", "h1")]
    store.write_documents(documents()[4:])
    assert neighbours(expand, "h2") == [("previous", "h1"), ("next", "h3")]


@pytest.mark.parametrize("parameters", [{"adjacent": -1}, {"cited": 1.5}, {"adjacent": True}])
def test_wrong_numbers_are_refused(tmp_path: Path, parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"StructureExpander\."):
        StructureExpander(StatuteDocumentStore(str(tmp_path / "law.db")), **parameters)


def test_metadata_that_are_no_texts_break_nothing(
    expander: Callable[..., StructureExpander],
) -> None:
    meta = {"law": "Housing Code", "number": 5, "language": 3}
    odd = Document(id="h5", content="See article 1.", meta=meta)
    expand = expander()
    expand.document_store.write_documents([odd])
    (found,) = expand.run([odd])["documents"]
    assert [each["id"] for each in found.meta["neighbours"]] == ["h4", "h1"]
