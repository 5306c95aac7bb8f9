"""The law of a day: what retrievers leave out, what they pin, and the other wordings they name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore

from components.retrievers import validity
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.structure import StructureExpander
from components.retrievers.validity import Validity
from components.stores.sqlite import StatuteDocumentStore

NOTICE = [
    ("11", "11", {}),
    ("12-old", "12", {"valid_to": "2019-12-31"}),
    ("12-mid", "Art. 12", {"valid_from": "2020-01-01", "valid_to": "2021-12-31"}),
    ("12", "12", {"valid_from": "2022-01-01"}),
    ("13", "13", {"valid_from": "2010-01-01", "valid_to": "2015-06-30"}),
    ("14", "14", {"valid_from": "2999-01-01"}),
    ("15", "15", {}),
]
IN_FORCE = {"11", "12", "15"}
RETRIEVERS = [StatuteBM25Retriever, StatuteEmbeddingRetriever, CitationRetriever]


def law(articles: list[tuple[str, str, dict[str, Any]]] = NOTICE) -> list[Document]:
    return [
        Document(
            id=id_,
            content=f"The notice of a tenant, rule {number}.",
            meta={"law": "Housing Code", "number": number, "position": position, **days},
            embedding=[1.0, position / 10],
        )
        for position, (id_, number, days) in enumerate(articles)
    ]


@pytest.fixture(params=["ours", "haystack's"])
def make_store(
    request: pytest.FixtureRequest,
    store: StatuteDocumentStore,
    in_memory: Callable[[list[Document]], InMemoryDocumentStore],
) -> Callable[[list[Document]], Any]:
    def make(documents: list[Document]) -> Any:
        if request.param == "haystack's":
            return in_memory(documents)
        store.write_documents(documents)
        return store

    return make


@pytest.fixture
def filled(make_store: Callable[[list[Document]], Any]) -> Any:
    return make_store(law())


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def found(retriever: Any, **options: Any) -> set[str]:
    question: dict[str, Any] = {"query": "Which notice must a tenant give under articles 11 to 15?"}
    if isinstance(retriever, StatuteEmbeddingRetriever):
        question = {"query_embedding": [1.0, 0.2]}
    at_once = retriever.run(**question, **options)["documents"]
    awaited = asyncio.run(retriever.run_async(**question, **options))["documents"]
    assert ids(awaited) == ids(at_once)
    return set(ids(at_once))


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_the_law_of_today_is_found_unless_another_day_is_asked_for(filled: Any, kind: Any) -> None:
    retriever = kind(filled)
    assert found(retriever) == found(retriever, as_of="today") == IN_FORCE
    assert found(retriever, as_of="2014-01-01") == {"11", "12-old", "13", "15"}
    # The first and the last day count as in force.
    assert found(retriever, as_of="2019-12-31") == {"11", "12-old", "15"}
    assert found(retriever, as_of="2020-01-01") == {"11", "12-mid", "15"}
    everything = {id_ for id_, _, _ in NOTICE}
    assert found(retriever, as_of="any") == everything
    assert found(kind(filled, as_of="any")) == everything
    assert found(kind(filled, as_of="any"), as_of="today") == IN_FORCE
    assert found(kind(filled, as_of="2020-01-01")) == {"11", "12-mid", "15"}


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_filters_and_the_day_both_hold(filled: Any, kind: Any) -> None:
    only = {"field": "meta.number", "operator": "in", "value": ["11", "12", "13"]}
    assert found(kind(filled, filters=only)) == {"11", "12"}
    assert found(kind(filled), filters=only, as_of="2015-06-30") == {"11", "12-old", "13"}


@pytest.mark.parametrize("kind", [*RETRIEVERS, StructureExpander])
@pytest.mark.parametrize("wrong", ["tomorrow", "2020-1-1", "", date(2020, 1, 1), 2020, None])
def test_what_is_not_a_day_is_refused_by_name(filled: Any, kind: Any, wrong: Any) -> None:
    with pytest.raises(ValueError, match=rf"{kind.__name__}\.as_of"):
        kind(filled, as_of=wrong)
    if wrong is not None:
        asked = {"documents": []} if kind is StructureExpander else {"query": "notice"}
        if kind is StatuteEmbeddingRetriever:
            asked = {"query_embedding": [1.0, 0.0]}
        with pytest.raises(ValueError, match=rf"{kind.__name__}\.as_of"):
            kind(filled).run(**asked, as_of=wrong)


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_today_is_the_day_of_the_question(
    filled: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = kind(filled)
    assert "12-mid" not in found(retriever)

    class Earlier(date):
        @classmethod
        def today(cls) -> date:
            return date(2020, 6, 1)

    monkeypatch.setattr(validity, "date", Earlier)
    assert found(retriever) == {"11", "12-mid", "15"}


def test_the_content_of_the_moment_counts(store: StatuteDocumentStore) -> None:
    store.write_documents(law()[:1])
    retriever = StatuteBM25Retriever(store)
    assert found(retriever) == {"11"}
    store.write_documents(law()[1:])
    assert found(retriever) == IN_FORCE
    store.update_by_filter(
        {"field": "meta.number", "operator": "==", "value": "11"}, {"valid_to": "2020-01-01"}
    )
    assert found(retriever) == IN_FORCE - {"11"}


def test_nothing_is_masked_where_every_article_is_in_force() -> None:
    metas = [(key, each.id, each.meta) for key, each in enumerate(law())]
    today = date(2024, 1, 1)
    assert Validity(metas[:1]).on(today).keys is None
    assert Validity([metas[0], metas[3]]).on(today).keys is None
    assert Validity(metas).on(None).keys is None
    dated = Validity(metas)
    assert dated.on(today).keys.tolist() == [0, 3, 6]  # type: ignore[union-attr]
    assert dated.on(today) is dated.on(today)  # indexes know the mask of the same array


# Citations


@pytest.mark.parametrize(
    "question",
    ["art. 12 Housing Code", "May I sublet under article 12 of the Housing Code?"],
)
def test_a_number_with_several_wordings_pins_the_one_in_force(filled: Any, question: str) -> None:
    retriever = CitationRetriever(filled)
    for as_of, wording in (
        ("today", "12"),
        ("2021-12-31", "12-mid"),
        ("1990-01-01", "12-old"),
    ):
        given = retriever.run(question, as_of=as_of)
        assert ids(given["pinned"]) == ids(given["documents"]) == [wording]
        assert given["left_out"] == given["missing"] == []
    # The one in force first, then the latest.
    assert ids(retriever.run(question, as_of="any")["pinned"]) == ["12", "12-mid", "12-old"]


def test_a_cited_article_that_is_not_in_force_is_left_out_and_not_missing(filled: Any) -> None:
    given = CitationRetriever(filled).run("What do articles 12, 13 and 14 Housing Code say?")
    assert ids(given["pinned"]) == ["12"]
    assert ids(given["left_out"]) == ["13", "14"]
    assert given["missing"] == []


def test_of_several_wordings_that_are_left_out_the_latest_stands_for_all(
    make_store: Callable[[list[Document]], Any],
) -> None:
    given = CitationRetriever(make_store(law(NOTICE[:3]))).run("art. 12 Housing Code")
    assert given["pinned"] == []
    assert ids(given["left_out"]) == ["12-mid"]


ANNEX = [
    ("body", "1", {"valid_from": "2010-01-01"}),
    ("annex", "1", {"valid_from": "2015-01-01"}),
    ("2", "2", {"valid_to": "2012-01-01"}),
]


def test_two_articles_in_force_at_once_are_not_wordings_of_one(
    make_store: Callable[[list[Document]], Any],
) -> None:
    given = CitationRetriever(make_store(law(ANNEX))).run("Must I, under art. 1 Housing Code, pay?")
    assert given["pinned"] == []
    assert set(ids(given["documents"])) == {"body", "annex"}
    assert not any("wordings" in each.meta for each in given["documents"])


# Other wordings


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_an_article_knows_its_other_wordings(filled: Any, kind: Any) -> None:
    asked = {"query": "notice under articles 11 and 12 Housing Code"}
    if kind is StatuteEmbeddingRetriever:
        asked = {"query_embedding": [1.0, 0.2]}  # type: ignore[dict-item]
    old = {"id": "12-old", "valid_from": None, "valid_to": "2019-12-31"}
    mid = {"id": "12-mid", "valid_from": "2020-01-01", "valid_to": "2021-12-31"}
    new = {"id": "12", "valid_from": "2022-01-01", "valid_to": None}
    of = {
        document.id: document.meta.get("wordings")
        for as_of in ("today", "any")
        for document in kind(filled).run(**asked, as_of=as_of)["documents"]
    }
    assert of["12"] == [old, mid]
    assert of["12-mid"] == [old, new]
    assert of["11"] is None
    # What is kept of the store stays as it was written.
    assert all("wordings" not in each.meta for each in filled.filter_documents())


def test_an_undated_article_has_the_dated_one_of_its_number_for_another_wording() -> None:
    metas = [
        (0, "new", {"law": "A", "number": "1"}),
        (1, "old", {"law": "A", "number": "1", "valid_to": "2019-12-31"}),
        (2, "else", {"law": "B", "number": "1", "valid_to": "2019-12-31"}),
    ]
    known = Validity(metas)
    assert [each["id"] for each in known.others("new")] == ["old"]
    assert [each["id"] for each in known.others("old")] == ["new"]
    assert known.others("else") == []


def test_without_any_date_a_number_that_is_there_twice_is_no_wording() -> None:
    metas = [(key, str(key), {"law": "A", "number": "1"}) for key in range(2)]
    assert Validity(metas).others("0") == []


# Neighbours


def test_neighbours_are_of_the_day(filled: Any) -> None:
    expander = StructureExpander(filled)

    def near(id_: str, **options: Any) -> list[str]:
        given = [each for each in law() if each.id == id_]
        (expanded,) = expander.run(given, **options)["documents"]
        return [each["id"] for each in expanded.meta["neighbours"]]

    # What was not in force is passed over: what stands behind it is the neighbour.
    assert near("12") == ["11", "15"]
    assert near("12", as_of="2014-01-01") == ["12-old", "13"]
    assert near("12", as_of="any") == ["12-mid", "13"]


def test_a_cited_neighbour_is_the_wording_of_the_day(
    make_store: Callable[[list[Document]], Any],
) -> None:
    documents = law()
    documents[-1] = replace(documents[-1], content="Article 12 applies.")
    expander = StructureExpander(make_store(documents), adjacent=0)
    for as_of, wording in (("today", "12"), ("2020-05-05", "12-mid")):
        (expanded,) = expander.run(documents[-1:], as_of=as_of)["documents"]
        assert [each["id"] for each in expanded.meta["neighbours"]] == [wording]
