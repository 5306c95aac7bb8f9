"""The law of a day: what is left out, what is pinned, and other wordings; unreadable days."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime

import pytest
from haystack import Document
from haystack.errors import FilterError

from components.converters.articles import as_document
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.structure import StructureExpander
from components.retrievers.validity import (
    Validity,
    earlier_text,
    in_force_on,
    is_earlier,
    law_of_place,
    not_in_force_on,
    state_on,
)
from components.statutes.article import Article

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
DAY = date(2020, 6, 1)


def law(articles=NOTICE):
    made = []
    for position, (id_, number, days) in enumerate(articles):
        meta = {"law": "Housing Code", "number": number, "position": position, **days}
        text = f"The notice of a tenant, rule {number}."
        made.append(Document(id=id_, content=text, meta=meta, embedding=[1.0, position / 10]))
    return made


@pytest.fixture
def filled(make_store):
    return make_store(law())


def ids(documents):
    return [document.id for document in documents]


def ask(retriever, **options):
    if isinstance(retriever, StatuteEmbeddingRetriever):
        return retriever.run([1.0, 0.2], **options)
    return retriever.run("Which notice must a tenant give under articles 11 to 15?", **options)


def found(retriever, **options):
    return set(ids(ask(retriever, **options)["documents"]))


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_the_law_of_today_is_found_unless_another_day_is_requested(filled, kind, monkeypatch):
    retriever = kind(filled)
    assert found(retriever) == found(retriever, as_of="today") == IN_FORCE
    # The first and the last day count as in force.
    assert found(retriever, as_of="2019-12-31") == {"11", "12-old", "15"}
    assert found(retriever, as_of="2020-01-01") == {"11", "12-mid", "15"}
    assert found(retriever, as_of="any") == {id_ for id_, _, _ in NOTICE}
    always = kind(filled, as_of="any")
    assert found(always) == {id_ for id_, _, _ in NOTICE}
    assert found(always, as_of="today") == IN_FORCE
    only = {"field": "meta.number", "operator": "in", "value": ["11", "12", "13"]}
    assert found(retriever, filters=only) == {"11", "12"}
    assert found(kind(filled, filters=only), as_of="2015-06-30") == {"11", "12-old", "13"}

    class Earlier(date):
        @classmethod
        def today(cls):
            return DAY

    monkeypatch.setattr("components.retrievers.validity.date", Earlier)
    assert found(retriever) == {"11", "12-mid", "15"}, "today is the day of the question"


@pytest.mark.parametrize("kind", [*RETRIEVERS, StructureExpander])
def test_an_invalid_day_is_refused_by_name(store, kind):
    for wrong in ("tomorrow", "2020-1-1", "", date(2020, 1, 1), 2020, None):
        with pytest.raises(ValueError, match=rf"{kind.__name__}\.as_of"):
            kind(store, as_of=wrong)
    given = {StructureExpander: [], StatuteEmbeddingRetriever: [1.0, 0.0]}.get(kind, "notice")
    with pytest.raises(ValueError, match=rf"{kind.__name__}\.as_of"):
        kind(store).run(given, as_of="tomorrow")


def with_stub(days=()):
    """Three articles; the second is a stub."""
    texts = ("The notice of a tenant.", "Notice\n(repealed)", "The notice of a landlord.")
    articles = [
        Article(number, "Housing Code", number, ("Notice",), text, None, *(days if n == 1 else ()))
        for n, (number, text) in enumerate(zip(("20", "21", "22"), texts, strict=True))
    ]
    documents = [as_document(each, position) for position, each in enumerate(articles)]
    assert [each.meta.get("stub") for each in documents] == [None, True, None]
    return [replace(each, embedding=[1.0, 0.2]) for each in documents]


@pytest.mark.parametrize("days", [(), (date(2000, 1, 1),)], ids=["undated", "dated"])
@pytest.mark.parametrize("as_of", ["today", "2010-01-01", "any"])
def test_a_stub_stands_in_no_list_and_is_found_by_its_citation(make_store, days, as_of):
    documents = with_stub(days)
    store = make_store(documents)
    everything = {"field": "meta.law", "operator": "==", "value": "Housing Code"}
    for kind in (StatuteBM25Retriever, StatuteEmbeddingRetriever):
        for filters in (None, everything):
            assert found(kind(store), as_of=as_of, filters=filters) == {"20", "22"}
    (pinned,) = CitationRetriever(store).run("What is art. 21?", as_of=as_of)["pinned"]
    assert (pinned.id, state_on(DAY, pinned)) == ("21", "repealed")
    (expanded,) = StructureExpander(store).run(documents[:1], as_of=as_of)["documents"]
    assert [each["id"] for each in expanded.meta["neighbours"]] == ["22"]


def test_filters_know_the_state_of_a_stub(make_store):
    store = make_store(with_stub())
    for filters, known in (
        ({"field": "state", "operator": "==", "value": "repealed"}, {"21"}),
        ({"field": "state", "operator": "==", "value": "unknown"}, {"20", "22"}),
        ({"field": "in_force_on", "operator": "==", "value": "2020-06-01"}, {"20", "22"}),
        (in_force_on(DAY), {"20", "22"}),
        (in_force_on(None), {"20", "22"}),
        (not_in_force_on(DAY), {"21"}),
    ):
        given = CitationRetriever(store).run("art. 20, art. 21, art. 22", filters, as_of="any")
        assert set(ids(given["pinned"])) == known, filters


# Citations and wordings


@pytest.mark.parametrize(
    "question", ["art. 12 Housing Code", "May I, under article 12 Housing Code?"]
)
def test_a_number_with_several_wordings_pins_the_one_in_force(filled, question):
    retriever = CitationRetriever(filled)
    days = {"today": "12", "2021-12-31": "12-mid", "1990-01-01": "12-old"}
    for as_of, wording in days.items():
        given = retriever.run(question, as_of=as_of)
        assert ids(given["pinned"]) == ids(given["documents"]) == [wording]
        assert given["left_out"] == given["missing"] == []
    # The one in force first, then the latest.
    assert ids(retriever.run(question, as_of="any")["pinned"]) == ["12", "12-mid", "12-old"]


def test_cited_articles_that_are_not_in_force_are_left_out_and_not_missing(store, in_memory):
    store.write_documents(law())
    given = CitationRetriever(store).run("What do articles 12, 13 and 14 Housing Code say?")
    assert (ids(given["pinned"]), ids(given["left_out"])) == (["12"], ["13", "14"])
    assert given["missing"] == []
    # Of several wordings that are left out, the latest stands for all.
    given = CitationRetriever(in_memory(law(NOTICE[:3]))).run("art. 12 Housing Code")
    assert (given["pinned"], ids(given["left_out"])) == ([], ["12-mid"])


def test_two_articles_in_force_at_once_are_not_wordings_of_one(make_store):
    body, annex = ({"valid_from": day} for day in ("2010-01-01", "2015-01-01"))
    repealed = {"valid_to": "2012-01-01"}
    store = make_store(law([("body", "1", body), ("annex", "1", annex), ("2", "2", repealed)]))
    given = CitationRetriever(store).run("Must I, under art. 1 Housing Code, pay?")
    assert given["pinned"] == []
    assert set(ids(given["documents"])) == {"body", "annex"}
    assert not any("wordings" in each.meta for each in given["documents"])


@pytest.mark.parametrize("kind", RETRIEVERS)
def test_an_article_knows_its_other_wordings(filled, kind):
    old = {"id": "12-old", "valid_from": None, "valid_to": "2019-12-31"}
    mid = {"id": "12-mid", "valid_from": "2020-01-01", "valid_to": "2021-12-31"}
    new = {"id": "12", "valid_from": "2022-01-01", "valid_to": None}
    retriever = kind(filled)
    documents = [*ask(retriever)["documents"], *ask(retriever, as_of="any")["documents"]]
    of = {document.id: document.meta.get("wordings") for document in documents}
    assert (of["12"], of["12-mid"], of["11"]) == ([old, mid], [old, new], None)
    assert all("wordings" not in each.meta for each in filled.filter_documents())


def test_an_undated_article_is_another_wording_of_a_dated_one_of_its_number():
    metas = [
        (0, "new", {"law": "A", "number": "1"}),
        (1, "old", {"law": "A", "number": "1", "valid_to": "2019-12-31"}),
        (2, "else", {"law": "B", "number": "1", "valid_to": "2019-12-31"}),
    ]
    known = Validity(metas)
    assert [each["id"] for each in known.others("new")] == ["old"]
    assert known.others("else") == []
    undated = [(key, str(key), {"law": "A", "number": "1"}) for key in range(2)]
    assert Validity(undated).others("0") == []


def test_neighbours_are_of_the_day(make_store):
    documents = law()
    documents[-1] = replace(documents[-1], content="Article 12 applies.")
    store = make_store(documents)

    def near(id_, as_of, **parameters):
        given = [each for each in documents if each.id == id_]
        (expanded,) = StructureExpander(store, **parameters).run(given, as_of=as_of)["documents"]
        return [each["id"] for each in expanded.meta["neighbours"]]

    assert near("12", "today") == ["11", "15"]
    assert near("12", "2014-01-01") == ["12-old", "13"]
    assert near("12", "any") == ["12-mid", "13"]
    assert near("15", "today", adjacent=0) == ["12"]
    assert near("15", "2020-05-05", adjacent=0) == ["12-mid"]


# Days of other writers


def numbered(days):
    """A law with an article for each of these days: a0, a1, ..."""
    return law([(f"a{number}", str(number), each) for number, each in enumerate(days)])


@pytest.mark.parametrize(
    ("end", "state"),
    [
        *((end, "repealed") for end in ("2020-05-31", "2020-05-31T23:59:59+01:00")),
        *((end, "repealed") for end in (date(2020, 5, 31), datetime(2020, 5, 31, 8))),
        *((end, "in force") for end in ("2020-06-01T00:00:00", date(2020, 6, 1))),
        *((end, "unknown") for end in ("in spring", 2020, None)),
    ],
)
def test_a_day_may_come_with_a_time_or_as_a_date(end, state):
    meta = {"law": "Code", "number": "1", "valid_to": end}
    assert state_on(DAY, Document(content="x", meta=meta)) == state


UNREADABLE = ["", "9" * 30, "since the reform", 2019, ["2019-01-01"], {"day": 1}, True]


@pytest.mark.parametrize("day", UNREADABLE, ids=repr)
def test_an_unreadable_day_is_unknown(make_store, day):
    days = [
        {"valid_to": day},
        {"valid_from": day},
        {"valid_from": "2019-01-01", "valid_to": "2021-01-01"},
        {"valid_from": "2021-01-01", "valid_to": day},
        {"valid_to": "2019-01-01"},
        {},
    ]
    retriever = StatuteBM25Retriever(make_store(numbered(days)), as_of="any")
    known = {"a0", "a1", "a2", "a5"}
    assert found(retriever, as_of=DAY.isoformat()) == known


@pytest.mark.parametrize(
    ("one", "other", "earlier"),
    [
        ((None, "2000-12-31"), ("2001-01-01", None), True),
        (("2001-01-01", None), (None, "2000-12-31"), False),
        (("2000-01-01", "2000-12-31"), ("2000-01-01", "2001-12-31"), True),
        (("2000-01-01", None), ("2000-01-01", None), False),
    ],
)
def test_a_wording_is_earlier_by_its_first_day_then_by_its_last(one, other, earlier):
    days = [dict(zip(("valid_from", "valid_to"), each, strict=True)) for each in (one, other)]
    assert is_earlier(*days) is earlier


@pytest.mark.parametrize(
    ("note", "known"),
    [
        ("(Inserted with effect from 1 May 2019.)", "none"),
        ("[Added by Act 9 of 2018]", "none"),
        (
            "(Inserted with effect from 1 May 2016; amended with effect from 1 May 2019.)",
            "not held",
        ),
        ("(As amended with effect from 1 May 2019.)", "not held"),
        ("(Paragraph 2 inserted with effect from 1 May 2019.)", "not held"),
        ("(Ajouté par la loi du 3 mars 2018)", "none"),
        ("(Modifié par la loi du 3 mars 2018)", "not held"),
        ("[1973 c.559 Section 8; 1995 c.559 Section 12]", "not held"),
        ("[1973 c.559 Section 8]", "unknown"),
        ("A word (inserted by the parties) counts.", "unknown"),
        ("", "unknown"),
    ],
)
def test_what_is_known_of_the_text_before_a_wording(note, known):
    meta = {"law": "Road Act", "number": "4", "valid_from": "2019-05-01"}
    assert earlier_text(Document(content=f"Drive on the left.\n{note}", meta=meta)) == known
    before = {"id": "old", "valid_from": None, "valid_to": "2019-04-30"}
    after = {"id": "new", "valid_from": "2024-01-01", "valid_to": None}
    for others, expected in (([after], known), ([before, after], "held")):
        changed = {**meta, "wordings": others}
        assert earlier_text(Document(content=f"Left.\n{note}", meta=changed)) == expected


HOUSING = {"field": "meta.law", "operator": "==", "value": "Housing Code"}


@pytest.mark.parametrize("retriever", [StatuteBM25Retriever, StatuteEmbeddingRetriever])
def test_filters_over_metadata_read_no_document(filled, retriever, monkeypatch):
    """A filter once read every document of the store, at 20 times the cost of the search."""

    def refused(self, filters):
        raise AssertionError(f"every document is read for {filters}")

    asked = retriever(filled)
    asked.warm_up()
    monkeypatch.setattr(type(asked._store), "keys_matching", refused)
    for filters, expected in (
        (HOUSING, IN_FORCE),
        ({"field": "meta.position", "operator": ">", "value": 2}, {"12", "15"}),
        ({"field": "meta.valid_from", "operator": ">=", "value": "2021-01-01"}, {"12"}),
        ({"operator": "NOT", "conditions": [HOUSING]}, set()),
    ):
        assert set(ids(ask(asked, filters=filters)["documents"])) == expected
    with pytest.raises(AssertionError):
        ask(asked, filters={"field": "content", "operator": "==", "value": "x"})


def test_filters_follow_the_store(store):
    store.write_documents(law())
    retriever = StatuteBM25Retriever(store)
    newer = {"field": "meta.edition", "operator": "==", "value": 2}
    with pytest.raises(FilterError, match=r"meta\.edition"):  # no document has it
        ask(retriever, filters=newer)
    store.update_by_filter({"field": "id", "operator": "==", "value": "11"}, {"edition": 2})
    assert ids(ask(retriever, filters=newer)["documents"]) == ["11"]
    store.delete_documents(["11"])
    with pytest.raises(FilterError, match=r"meta\.edition"):
        ask(retriever, filters=newer)


def test_threads_with_many_filters_get_their_own_articles(filled):
    retriever = StatuteBM25Retriever(filled)
    retriever.warm_up()

    def found(position):
        filters = {"field": "meta.position", "operator": "<=", "value": position % 50}
        return ids(ask(retriever, filters=filters, as_of="any", top_k=50)["documents"])

    expected = [found(position) for position in range(50)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(found, range(400))) == expected * 8


def test_an_article_that_began_later_than_others_of_its_law_is_known():
    days = {"1": "2010-01-01", "2": "2012-01-01", "3": None, "4": "not a day"}
    other = {"law": "Sea Act", "number": "1", "valid_from": "2015-01-01"}
    metas = {n: {"law": "Road Act", "number": n, "valid_from": day} for n, day in days.items()}
    validity = Validity([(1, "s1", other), *((int(n) + 1, n, meta) for n, meta in metas.items())])
    assert [n for n, meta in metas.items() if validity.began_later(meta)] == ["2"]
    assert not validity.began_later(other)
    assert not validity.began_later({"law": "New Act", "valid_from": "2020-01-01"})


PLACES = {"c": "us/or/portland", "e": "us/or/eugene", "s": "us/or", "f": "us", "x": "ca", "n": None}


@pytest.mark.parametrize(
    ("place", "applies"),
    [("us/or/portland", "cfns"), ("us/or/eugene", "efns"), ("us/or", "fns"), ("us/wa", "fn")],
)
def test_the_law_of_a_place_is_that_of_the_places_above_it_too(make_store, place, applies):
    documents = law([(id_, id_, {"jurisdiction": each}) for id_, each in PLACES.items()])
    del documents[-1].meta["jurisdiction"]
    store = make_store(documents)
    assert "".join(sorted(ids(store.filter_documents(law_of_place(place))))) == applies
    found = StatuteBM25Retriever(store).run("notice", filters=law_of_place(place))["documents"]
    assert "".join(sorted(ids(found))) == applies
    tenth = {"field": "meta.number", "operator": "!=", "value": "s"}
    assert set(ids(store.filter_documents(law_of_place(place, tenth)))) == {*applies} - {"s"}
    assert StatuteBM25Retriever(store).places() == {*PLACES.values()} - {None}


@pytest.mark.parametrize("place", ["US/OR", "us//or", "/us", 7])
def test_what_is_not_a_place_is_refused(place):
    with pytest.raises(FilterError, match="us/or/portland"):
        law_of_place(place)
