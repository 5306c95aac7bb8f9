"""Documents of StatuteConverter keep the order of the law, whatever part of it is written."""

from pathlib import Path

import pytest
from haystack import Document
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ByteStream
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import given
from hypothesis import strategies as st

from components.converters.statutes import StatuteConverter
from components.stores.publishing import Place, arrange
from components.stores.rows import NO_POSITION
from components.stores.sqlite import StatuteDocumentStore


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    return StatuteDocumentStore(tmp_path / "law.db")


def converted(*ids: str) -> list[Document]:
    """Articles from one source; the letters of an id are its law, its digits the number."""
    lines = (
        f'{{"id": "{id_}", "law": "{id_[0]}", "number": "{id_[1:]}", "headings": [], '
        f'"text": "Rule {id_}."}}\n'
        for id_ in ids
    )
    source = ByteStream("".join(lines).encode())
    return list(StatuteConverter().run([source])["documents"])


def write(
    store: StatuteDocumentStore, *ids: str, policy: DuplicatePolicy = DuplicatePolicy.OVERWRITE
) -> list[str]:
    DocumentWriter(store, policy).run(converted(*ids))
    return [each.id for each in store.filter_documents()]


def sizes(store: StatuteDocumentStore) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for each in store.filter_documents():
        found.setdefault(each.meta["law"], set()).add(each.meta["law_articles"])
    return found


def test_an_amended_article_keeps_its_place_and_the_law_its_size(
    store: StatuteDocumentStore,
) -> None:
    write(store, "A1", "A2", "A3", "B1", "B2")
    before = store.filter_documents()
    assert write(store, "A2") == ["A1", "A2", "A3", "B1", "B2"]
    assert store.filter_documents() == before


def test_laws_written_one_after_the_other_stand_one_after_the_other(
    store: StatuteDocumentStore,
) -> None:
    write(store, "B1", "B2")
    assert write(store, "A1", "A2") == ["B1", "B2", "A1", "A2"]
    assert [each.meta["position"] for each in store.filter_documents()] == [0, 1, 2, 3]
    assert sizes(store) == {"A": {2}, "B": {2}}


def test_new_articles_of_a_part_follow_the_known_one_before_them(
    store: StatuteDocumentStore,
) -> None:
    write(store, "A1", "A2", "A5", "B1")
    assert write(store, "A2", "A3", "A4") == ["A1", "A2", "A3", "A4", "A5", "B1"]
    assert write(store, "A0", "A1") == ["A0", "A1", "A2", "A3", "A4", "A5", "B1"]
    assert write(store, "A9") == ["A0", "A1", "A2", "A3", "A4", "A5", "A9", "B1"]
    assert sizes(store) == {"A": {7}, "B": {1}}


def test_a_whole_law_is_numbered_as_given_at_its_place(store: StatuteDocumentStore) -> None:
    write(store, "A1", "B1", "B2", "C1")
    assert write(store, "B2", "B3", "B1") == ["A1", "B2", "B3", "B1", "C1"]
    assert write(store, "C1", "B1", "B2", "B3", "A1") == ["C1", "B1", "B2", "B3", "A1"]


def test_a_law_written_in_part_never_passes_for_whole(store: StatuteDocumentStore) -> None:
    documents = converted("A1", "A2", "A3", "A4")
    store.write_documents(documents[:2])
    assert sizes(store) == {"A": {4}}
    write(store, "A1")
    assert sizes(store) == {"A": {4}}
    store.write_documents(documents[2:])
    assert [each.id for each in store.filter_documents()] == ["A1", "A2", "A3", "A4"]
    assert sizes(store) == {"A": {4}}
    store.delete_documents(["A4"])
    write(store, "A1", "A2", "A3")
    assert sizes(store) == {"A": {3}}


def test_articles_that_are_kept_keep_their_place_too(store: StatuteDocumentStore) -> None:
    write(store, "A1", "A2", "B1")
    assert write(store, "A2", "A3", "A1", policy=DuplicatePolicy.SKIP) == ["A1", "A2", "A3", "B1"]
    assert sizes(store) == {"A": {3}, "B": {1}}


def test_an_article_that_moves_to_another_law_leaves_its_own(store: StatuteDocumentStore) -> None:
    write(store, "A1", "A2", "B1")
    moved = Document(id="A2", content="x", meta={"law": "C", "position": 0, "law_articles": 1})
    store.write_documents([moved], DuplicatePolicy.OVERWRITE)
    assert [each.id for each in store.filter_documents()] == ["A1", "B1", "A2"]


def test_documents_of_others_stay_where_they_say(store: StatuteDocumentStore) -> None:
    own = Document(id="own", content="Mine.", meta={"law": "Z", "position": 7})
    last = Document(id="last", content="Mine too.", meta={"law": "Z"})
    store.write_documents([own, last, Document(id="note", meta={"position": 0})])
    assert write(store, "A1") == ["note", "own", "A1", "last"]
    assert store.filter_documents()[1] == own
    assert store.filter_documents()[3] == last


LAWS = "ABC"
ARTICLES = st.lists(
    st.tuples(st.sampled_from(LAWS), st.integers(0, 5)).map(lambda each: f"{each[0]}{each[1]}"),
    unique=True,
    max_size=12,
)


@given(ARTICLES, ARTICLES, st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_the_order_of_laws_holds(before: list[str], after: list[str], gaps: list[int]) -> None:
    position = 0
    stored = []
    for key, (id_, gap) in enumerate(zip(before, gaps, strict=False)):
        position += gap + 1
        stored.append(Place(key, id_, id_[0], position))
    laws = {id_[0] for id_ in after}
    positions = arrange(stored, {id_: id_[0] for id_ in after})
    order = list(positions)
    assert list(positions.values()) == sorted(set(positions.values()))
    assert set(order) == {id_ for id_ in before if id_[0] not in laws} | set(after)
    for law in LAWS:
        expected = after if law in laws else before
        assert [x for x in order if x[0] == law] == [x for x in expected if x[0] == law]
    # What is not given stays in its order, new laws come last, and once more changes nothing.
    assert [x for x in order if x[0] not in laws] == [x for x in before if x[0] not in laws]
    if before and not {id_[0] for id_ in before} <= laws:
        new = [id_ for id_ in after if id_[0] not in {each[0] for each in before}]
        assert order[len(order) - len(new) :] == new
    again = [Place(0, id_, id_[0], place) for id_, place in positions.items()]
    assert arrange(again, {id_: id_[0] for id_ in after}) == (
        positions if {id_[0] for id_ in order} - laws else {x: n for n, x in enumerate(after)}
    )


def test_articles_without_a_position_are_left_out_of_the_order() -> None:
    stored = [Place(1, "A1", "A", 4), Place(2, "B1", "B", NO_POSITION)]
    assert arrange(stored, {"C1": "C"}) == {"A1": 4, "C1": 5}
    assert arrange(stored, {"B1": "B", "B2": "B"}) == {"A1": 4, "B1": 5, "B2": 6}
