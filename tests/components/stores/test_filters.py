"""SQL filters compared with Haystack's in-memory matcher, and the syntax of filters."""

import pytest
from filtering import FILTERS, METAS
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings
from hypothesis import strategies as st

from components.retrievers.bm25 import StatuteBM25Retriever
from components.stores.engines import engine_filters
from components.stores.filters import MAX_DEPTH, plain_filters
from components.stores.sqlite import StatuteDocumentStore


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return StatuteDocumentStore(str(tmp_path_factory.mktemp("filters") / "law.db"))


def matching(store, documents, filters):
    """Ids that the store finds among these documents alone."""
    store.delete_all_documents()
    store.write_documents(documents)
    return {each.id for each in store.filter_documents(filters)}


@settings(max_examples=200)
@given(metas=st.lists(METAS, min_size=1, max_size=6), filters=FILTERS)
def test_sql_equals_the_in_memory_matcher(shared, metas, filters):
    documents = [
        Document(id=str(index), content=None if index % 3 == 2 else "a", meta=meta)
        for index, meta in enumerate(metas)
    ]
    try:
        expected = {each.id for each in documents if document_matches_filter(filters, each)}
    except (FilterError, TypeError):
        return  # SQL may decide by another condition, which need not be refused
    assert matching(shared, documents, filters) == expected


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("meta.lwa", "'meta.lwa' .did you mean 'law'"),
        ("topci", "'topci' .did you mean 'topic'"),
        ("meta.editoin.year", "did you mean 'edition'"),
        ("meta.of_another_collection", "No document has the field 'meta.of_another_collection'."),
    ],
)
def test_a_field_that_no_document_has_is_refused(shared, field, message):
    asked = {"field": field, "operator": "==", "value": "a"}
    meta = {"law": "Housing Code", "topic": "rent", "edition": {"year": 2024}}
    assert (
        matching(shared, [Document(content="a"), Document(content="b", meta=meta)], asked) == set()
    )
    known = {"field": "meta.law", "operator": "==", "value": "Housing Code"}
    for operator, value in (("==", "a"), ("in", ["a"]), (">", 1)):
        missing = {**asked, "operator": operator, "value": value}
        for filters in (missing, {"operator": "OR", "conditions": [known, missing]}):
            with pytest.raises(FilterError, match=message):
                shared.keys_matching(filters)
        # What a document without the field meets is no mistake, nor what changes documents.
        assert len(shared.keys_matching({"operator": "NOT", "conditions": [missing]})) == 2
        assert shared.count_documents_by_filter(missing) == 0
        assert shared.update_by_filter(missing, {"n": 1}) == shared.delete_by_filter(missing) == 0
    for operator, value in (("!=", "a"), ("not in", ["a"]), ("==", None), ("in", ["a", None])):
        assert len(shared.keys_matching({**asked, "operator": operator, "value": value})) == 2
    for present in ("meta.topic", "meta.edition.year", "meta.edition.month", "meta.valid_to"):
        shared.keys_matching({**asked, "field": present})
    # Of an empty store no field is known.
    shared.delete_all_documents()
    assert shared.keys_matching(asked).tolist() == []


@pytest.mark.parametrize(
    ("field", "wrong", "right", "message"),
    [("number", 12, "12", 'write "12"'), ("headings", "Title I", ["Title I"], "'division'")],
)
def test_a_value_of_a_type_that_no_article_has_is_refused(shared, field, wrong, right, message):
    article = Document(content="a", meta={"number": "12", "headings": ["Title I"]})
    for operator, value in (("==", wrong), ("in", [right, wrong])):
        asked = {"field": f"meta.{field}", "operator": operator, "value": value}
        assert len(matching(shared, [article], asked)) == (operator == "in")
        for search in (shared.keys_matching, StatuteBM25Retriever(shared, filters=asked).run):
            with pytest.raises(FilterError, match=message):
                search("a" if search != shared.keys_matching else asked)
        with pytest.raises(FilterError, match=message if field == "number" else "engine"):
            engine_filters(asked)
    # A user's own documents may have it.
    asked = {"field": f"meta.{field}", "operator": "==", "value": wrong}
    own = Document(content="b", meta={field: wrong})
    assert matching(shared, [article, own], asked) == {own.id}
    assert len(shared.keys_matching(asked)) == 1


@pytest.mark.parametrize(
    ("meta", "field", "operator", "value"),
    [
        ({"a'b": "'; DROP TABLE documents"}, "meta.a'b", "==", "'; DROP TABLE documents"),
        ({}, 'meta.a"b', "==", None),
        ({"day": "2020-05-01"}, "meta.day", ">", "2020-05-01"),
        ({"day": "2020-05-01T10:00:00"}, "meta.day", ">", "2020-05-01"),
        ({"law": ["a"]}, "meta.law", "==", '["a"]'),  # a list is not its JSON
        ({"law": ["a"]}, "meta.law", "in", ['["a"]']),
        ({"k": "a\0b"}, "meta.k", "==", "a"),  # nor a text what stands before its NUL
        ({"k": "a\0b"}, "meta.k", "in", ["a", "a\0b"]),
        ({"k": "a\0b"}, "meta.k", "not in", ["a"]),
        ({"day": "2020-01-01\0"}, "meta.day", "==", "2020-01-01"),
    ],
)
def test_awkward_texts_match_as_in_haystack(shared, meta, field, operator, value):
    document = Document(id="1", content="x", meta=meta)
    filters = {"field": field, "operator": operator, "value": value}
    found = bool(matching(shared, [document], filters))
    assert found == document_matches_filter(filters, document)


def test_long_lists_and_many_conditions(shared):
    documents = [Document(id=f"a{n}", content="x", meta={"n": n}) for n in range(3)]
    lists = {"id": [f"a{n}" for n in range(1, 50_000)], "meta.n": [*range(1, 50_000)]}
    for field, values in lists.items():
        for operator, expected in (("in", {"a1", "a2"}), ("not in", {"a0"})):
            filters = {"field": field, "operator": operator, "value": values}
            assert matching(shared, documents, filters) == expected
    many = [{"field": "meta.n", "operator": "==", "value": n} for n in range(1, 3_000)]
    either = {"operator": "OR", "conditions": many}
    assert matching(shared, documents, either) == {"a1", "a2"}
    assert matching(shared, documents, {"operator": "NOT", "conditions": [either]}) == {"a0"}


LAW = {"field": "meta.law", "operator": "==", "value": "a"}
MALFORMED = [
    ["law"],
    {"field": "meta.law"},
    {"field": "meta.law", "operator": "=="},
    {"operator": "==", "value": 1},
    {**LAW, "operator": "~"},
    {**LAW, "operator": ["=="]},
    {**LAW, "operator": "in"},
    {"field": "division", "operator": "starts with", "value": ["Part 1"]},
    {**LAW, "operator": "not in", "value": None},
    {**LAW, "value": "a\ud800"},
    {**LAW, "operator": "in", "value": ["a", "\udfff"]},
    {"operator": "XOR", "conditions": []},
    {"operator": ["AND"], "conditions": []},
    {"operator": {}, "conditions": []},
    {"operator": "AND"},
    {"operator": "AND", "conditions": 5},
    {"operator": "AND", "conditions": None},
    {"operator": "OR", "conditions": LAW},
    {"operator": "NOT", "conditions": ["law"]},
]
TRANSLATIONS = pytest.mark.parametrize("translate", [plain_filters, engine_filters])


@TRANSLATIONS
@pytest.mark.parametrize("filters", MALFORMED, ids=repr)
def test_malformed_filters_are_refused(translate, filters):
    nested = {"operator": "AND", "conditions": [LAW, {"operator": "OR", "conditions": [filters]}]}
    for each in (filters, nested):
        with pytest.raises(FilterError):
            translate(each)


@TRANSLATIONS
def test_filters_may_be_nested_up_to_a_limit(translate):
    filters = LAW
    for _ in range(MAX_DEPTH):
        filters = {"operator": "NOT", "conditions": [filters]}
    translate(filters)
    with pytest.raises(FilterError, match=str(MAX_DEPTH)):
        translate({"operator": "NOT", "conditions": [filters]})
    for wrap in (lambda inner: [inner], lambda inner: {"a": inner}):
        value = 1
        for _ in range(100_000):
            value = wrap(value)
        for place in (LAW, {"operator": "AND"}):
            with pytest.raises(FilterError):
                translate({**place, "value": value})


@pytest.mark.parametrize(
    "filters",
    [
        {"field": "embedding", "operator": "==", "value": None},
        {"field": "meta.n", "operator": ">", "value": "later"},
        {"field": "meta.n", "operator": "<", "value": [1]},
    ],
)
def test_what_sql_cannot_compare_is_refused(shared, filters):
    with pytest.raises(FilterError):
        shared.filter_documents(filters)
