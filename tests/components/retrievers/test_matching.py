"""Filters over days and `as_of`, where another writer's date is not a day."""

import logging
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError

from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.structure import StructureExpander
from components.retrievers.validity import in_force_on, not_in_force_on
from components.stores.sqlite import StatuteDocumentStore

DAY = date(2020, 6, 1)
UNREADABLE: Sequence[Any] = (
    "",
    "9" * 30,
    "since the reform",
    2019,
    ["2019-01-01"],
    {"day": 1},
    True,
)


def article(number: int, **days: Any) -> Document:
    meta = {"law": "Housing Code", "number": str(number), "position": number, **days}
    return Document(id=f"a{number}", content=f"Rent, rule {number}.", meta=meta)


@pytest.fixture(params=["ours", "in memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return (
        StatuteDocumentStore(tmp_path / "law.db")
        if request.param == "ours"
        else InMemoryDocumentStore()
    )


def found(store: Any, filters: dict[str, Any]) -> set[str]:
    retriever = StatuteBM25Retriever(store, as_of="any")
    documents = retriever.run("rent", filters=filters)["documents"]
    return {document.id for document in documents}


@pytest.mark.parametrize("day", UNREADABLE, ids=repr)
@pytest.mark.parametrize("field", ["valid_from", "valid_to"])
def test_a_day_that_cannot_be_read_is_unknown(store: Any, field: str, day: Any) -> None:
    store.write_documents(
        [
            article(1, **{field: day}),
            article(2, valid_from="2019-01-01", valid_to="2021-01-01"),
            article(3, valid_from="2021-01-01"),
            article(4, valid_to="2019-01-01"),
            article(5),
        ]
    )
    assert found(store, in_force_on(DAY)) == {"a1", "a2", "a5"}
    as_of = StatuteBM25Retriever(store).run("rent", as_of=DAY.isoformat())["documents"]
    assert {document.id for document in as_of} == {"a1", "a2", "a5"}
    only = {"field": "meta.number", "operator": "!=", "value": "5"}
    assert found(store, in_force_on(DAY, only)) == {"a1", "a2"}
    assert found(store, not_in_force_on(DAY)) == {"a3", "a4"}
    from_2020 = {"field": "valid_from", "operator": ">=", "value": "2020-01-01"}
    assert found(store, from_2020) == {"a3"}


def test_the_other_day_of_the_article_holds(store: Any) -> None:
    store.write_documents(
        [
            article(1, valid_from="2021-01-01", valid_to="to this day"),
            article(2, valid_from="?", valid_to="2021-01-01"),
        ]
    )
    assert found(store, in_force_on(DAY)) == {"a2"}


@pytest.mark.parametrize(
    "narrowed", [{"filters": in_force_on(DAY)}, {"as_of": DAY.isoformat()}], ids=["filters", "day"]
)
def test_every_retriever_takes_it_so(store: Any, narrowed: dict[str, Any]) -> None:
    store.write_documents([article(1, valid_from="?"), article(2, valid_from="2021-01-01")])
    cited = CitationRetriever(store).run("art. 1 Housing Code", **narrowed)
    assert [document.id for document in cited["pinned"]] == ["a1"]
    expander = StructureExpander(store, adjacent=1)
    (middle,) = expander.run([article(2)], **narrowed)["documents"]
    assert [each["id"] for each in middle.meta["neighbours"]] == ["a1"]


def test_it_is_said_once_for_a_content_of_the_store(
    store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    store.write_documents([article(1, valid_from="?"), article(2, valid_to=""), article(3)])
    retrievers = StatuteBM25Retriever(store), CitationRetriever(store)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            for retriever in retrievers:
                retriever.run("rent, art. 1 Housing Code", filters=in_force_on(DAY))
    (record,) = (each for each in caplog.records if "not a day" in each.getMessage())
    assert "2 articles have a date that is not a day (a1: valid_from '?')" in record.getMessage()


def test_filters_that_are_at_fault_themselves_are_refused(store: Any) -> None:
    store.write_documents([article(1, valid_from="2019-01-01"), article(2, valid_from="?")])
    for filters in (
        {"field": "meta.valid_from", "operator": ">", "value": "?"},
        {"field": "meta.valid_from", "operator": "=", "value": "2019-01-01"},
    ):
        with pytest.raises(FilterError):
            found(store, filters)


@pytest.mark.parametrize(
    "malformed",
    [
        {"operator": "AND"},
        {"field": "meta.valid_from", "value": "2020-01-01"},
        {"field": "meta.valid_from", "operator": ">"},
        {"operator": "AND", "conditions": [None]},
    ],
)
def test_malformed_filters_are_refused_as_such_beside_an_unreadable_day(
    store: Any, malformed: dict[str, Any]
) -> None:
    store.write_documents([article(1, valid_from="since the reform")])
    with pytest.raises(FilterError):
        StatuteBM25Retriever(store).run("rent", filters=malformed)
