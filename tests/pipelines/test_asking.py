"""ask gives plain values, for every pipeline alike."""

import asyncio
import copy
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline, component
from haystack.errors import FilterError
from indexed import indexed

import pipelines
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.definitions import definitions_with
from components.retrievers.structure import StructureExpander
from components.statutes.question import QuestionError
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask, ask_async, found_article, stream
from pipelines.checking import LoadingError
from pipelines.loading import load_pipeline

ROOT = Path(pipelines.__file__).parent.parent
PIPELINES = ["lexical", "dense", "hybrid"]


@pytest.fixture(scope="module", params=PIPELINES)
def pipeline(request, law_store) -> Pipeline:
    return load_pipeline(request.param, store=law_store)


def test_the_answer_is_plain_and_complete(pipeline):
    answer = ask(pipeline, "Who decides on custody?", top_k=4)
    assert json.loads(json.dumps(answer)) == answer
    fields = ["question", "pipeline", "took_ms", "documents", "as_of"]
    # Dense finds no guides.
    assert [each for each in answer if each != "guide"] == fields
    assert ("guide" in answer) == (answer["pipeline"] != "dense")
    assert answer["as_of"] == date.today().isoformat()
    assert answer["pipeline"] == pipeline.metadata["name"]
    assert answer["took_ms"] > 0
    assert len(answer["documents"]) == 4
    best = answer["documents"][0]
    assert {"id", "law", "number", "headings", "content", "score", "ranks", "state"} <= set(best)
    assert "custody" in best["content"]
    assert best["headings"][0] == "Title I. General provisions"
    assert all(rank >= 1 for rank in best["ranks"].values())


@pytest.fixture
def defining_store(tmp_path, make_article) -> Path:
    """An article that defines "custody", one that uses it, and one that does not."""
    texts = ["“custody” means care.", "Custody is given.", "A cat may stay."]
    listed = enumerate(texts, start=1)
    return indexed(tmp_path, [make_article(n, law="Family Code", text=text) for n, text in listed])


def test_definitions_of_terms_go_with_an_answer(defining_store):
    loaded = load_pipeline("lexical", store=defining_store)
    given = ask(loaded, "given", top_k=1)
    (definition,) = given["definitions"]
    assert (definition["term"], definition["id"], definition["used_in"]) == ("custody", "a1", "a2")
    assert json.loads(json.dumps(given)) == given
    assert "definitions" not in ask(loaded, "cat", top_k=1)
    # The pipeline's filters and the question's hold for definitions, too.
    others = {"field": "meta.number", "operator": "!=", "value": "1"}
    assert "definitions" not in ask(loaded, "given", top_k=1, filters=others)
    # Of articles that are not in the question's language they would mislead.
    foreign = ask(loaded, "Qui a la garde, la custody des enfants ?", top_k=3)
    assert foreign["documents"] and "languages" in foreign and "definitions" not in foreign


@pytest.mark.parametrize("is_expanded", [False, True])
def test_definitions_are_looked_up_once(defining_store, monkeypatch, is_expanded):
    store = StatuteDocumentStore(defining_store)
    retriever = StatuteBM25Retriever(store, top_k=1)
    last = "expander" if is_expanded else "retriever"
    outputs = {"documents": [f"{last}.documents"]}
    pipeline = Pipeline(metadata={"inputs": {"query": ["retriever.query"]}, "outputs": outputs})
    pipeline.add_component("retriever", retriever)
    if is_expanded:
        pipeline.add_component("expander", StructureExpander(store))
        pipeline.connect("retriever.documents", "expander.documents")
    looked = []
    for module in ("pipelines.asking", "components.retrievers.structure"):
        monkeypatch.setattr(
            f"{module}.definitions_with",
            lambda *given, **named: looked.append(1) or definitions_with(*given, **named),
        )

    async def parts() -> list[Any]:
        return [content async for _, content in stream(pipeline, "given")]

    (given,) = asyncio.run(parts())
    assert [each["term"] for each in given["definitions"]] == ["custody"]
    assert "content" not in given["definitions"][0]
    assert looked == [1]


def test_a_question_in_another_language_than_the_law_is_noted(pipeline):
    assert ask(pipeline, "Qui a la garde, la custody des enfants ?")["languages"] == ["en"]
    assert "languages" not in ask(pipeline, "Who keeps the children, and for how long?")
    named = ask(pipeline, "Que dit l'art. 12 Housing Code de ma caution ?")
    assert named["documents"][0]["id"] == "a12"
    assert "languages" not in named


def test_words_are_searched_as_typed_where_that_is_asked(pipeline):
    corrections = ask(pipeline, "Who has custoddy?").get("corrections", {})
    hybrid = pipeline.metadata["name"] == "hybrid"
    assert corrections == ({"custoddy": "custody"} if hybrid else {})
    assert "corrections" not in ask(pipeline, "Who has custoddy?", correct=False)


def test_a_cited_article_that_a_filter_leaves_out_is_reported(pipeline):
    filters = {"field": "meta.law", "operator": "==", "value": "Work Code"}
    answer = ask(pipeline, "art. 12 Housing Code", filters=filters)
    assert answer["left_out"] == [
        {"id": "a12", "law": "Housing Code", "number": "12", "state": "unknown"}
    ]
    assert "a12" not in {each["id"] for each in answer["documents"]}
    assert json.loads(json.dumps(answer)) == answer
    assert "left_out" not in ask(pipeline, "art. 12 Housing Code")
    # Filters reach every retriever.
    documents = ask(pipeline, "Who decides under art. 12?", top_k=30, filters=filters)["documents"]
    assert {each["law"] for each in documents} == {"Work Code"}


@pytest.mark.parametrize("question", ["", "  \n", "\x00\x07", "x" * 10_001, None, 7])
def test_what_is_not_a_question_is_refused(pipeline, question):
    with pytest.raises(QuestionError):
        ask(pipeline, question)


@pytest.fixture(scope="module")
def dated_store(tmp_path_factory, make_article) -> Path:
    """Four articles on rent: without dates, from 2020, until 2019, from 2010 until 2030."""
    dates: list[dict[str, str]] = [
        {},
        {"valid_from": "2020-01-01"},
        {"valid_to": "2019-12-31"},
        {"valid_from": "2010-01-01", "valid_to": "2030-12-31"},
    ]
    articles = [make_article(8 * n, **fields) for n, fields in enumerate(dates, start=1)]
    return indexed(tmp_path_factory.mktemp("dated"), articles)


@pytest.fixture(scope="module")
def placed_store(tmp_path_factory, make_article) -> Path:
    """Articles of a state, two of its cities, and one that may apply anywhere."""
    places = {8: "us/or", 16: "us/or/portland", 24: "us/or/eugene"}
    articles = [make_article(n, jurisdiction=place) for n, place in places.items()]
    return indexed(tmp_path_factory.mktemp("placed"), [*articles, make_article(32)])


def found(answer: Any) -> set[str]:
    return {each["id"] for each in answer["documents"]}


@pytest.mark.parametrize("name", ["lexical", "hybrid"])
def test_a_place_is_asked_with_what_stands_above_it(placed_store, name):
    pipeline = load_pipeline(name, store=placed_store)
    for place, applies in (
        (None, {"a8", "a16", "a24", "a32"}),
        ("us/or", {"a8", "a32"}),
        ("us/or/portland", {"a8", "a16", "a32"}),
    ):
        answer = ask(pipeline, "rent officer", jurisdiction=place)
        assert found(answer) == applies
    housing = {"field": "meta.law", "operator": "==", "value": answer["documents"][0]["law"]}
    narrowed = ask(pipeline, "rent officer", filters=housing, jurisdiction="us/or/eugene")
    places = {each.get("jurisdiction") for each in narrowed["documents"]}
    assert places <= {"us/or/eugene", "us/or", None}
    assert "us/or/portland" in {
        each.get("jurisdiction") for each in ask(pipeline, "rent officer")["documents"]
    }


@pytest.mark.parametrize("place", ["US/OR", "us//or", "/us", 7, "us/wa", "us", ""])
def test_a_place_without_law_is_refused_in_a_line(placed_store, place):
    pipeline = load_pipeline("lexical", store=placed_store)
    with pytest.raises(FilterError) as refused:
        ask(pipeline, "rent officer", jurisdiction=place)
    assert "\n" not in str(refused.value)
    if place in ("us", "us/wa"):
        assert "us/or, us/or/eugene, us/or/portland" in str(refused.value)


def test_law_without_places_is_asked_for_none(pipeline):
    with pytest.raises(FilterError, match="jurisdiction"):
        ask(pipeline, "Who decides on custody?", jurisdiction="us/or")


OF_2005, EVERYTHING = {"a8", "a24"}, {"a8", "a16", "a24", "a32"}


def test_the_law_of_today_is_asked_unless_the_question_says_otherwise(dated_store):
    pipeline = load_pipeline("lexical", store=dated_store)
    of_today = ask(pipeline, "rent officer", as_of=date.today())
    assert "a24" not in found(of_today)
    for as_of in (None, "today"):
        answer = ask(pipeline, "rent officer", as_of=as_of)
        assert found(answer) == found(of_today)
        assert answer["as_of"] == date.today().isoformat()
    of_2005 = ask(pipeline, "rent officer", as_of="2005-06-01")
    states = {each["id"]: each["state"] for each in of_2005["documents"]}
    assert states == {"a8": "unknown", "a24": "in force"}
    everything = ask(pipeline, "rent officer", as_of="any")
    assert found(everything) == EVERYTHING
    assert "as_of" not in everything


@component
class Everything:
    """Another writer's retriever: it takes filters and no day."""

    def __init__(self, document_store: StatuteDocumentStore) -> None:
        self.document_store = document_store

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"documents": self.document_store.filter_documents(filters)}


def test_a_retriever_without_the_parameter_is_given_the_day_as_filters(dated_store):
    sockets = {"inputs": {"query": ["all.query"], "filters": ["all.filters"]}}
    outputs = {"outputs": {"documents": ["all.documents"]}}
    pipeline = Pipeline(metadata={"name": "own", **sockets, **outputs})
    pipeline.add_component("all", Everything(StatuteDocumentStore(str(dated_store))))
    assert found(ask(pipeline, "rent", as_of=date(2005, 6, 1))) == OF_2005
    assert "a24" not in found(ask(pipeline, "rent"))
    only = {"field": "meta.number", "operator": "in", "value": ["8", "16"]}
    assert found(ask(pipeline, "rent", filters=only, as_of="2005-06-01")) == {"a8"}
    assert found(ask(pipeline, "rent", as_of="any")) == EVERYTHING
    # Without a place for either, a day is refused, and everything is found.
    del pipeline.metadata["inputs"]["filters"]
    with pytest.raises(LoadingError, match=r"inputs\.as_of"):
        ask(pipeline, "rent", as_of=date(2005, 6, 1))
    everything = ask(pipeline, "rent")
    assert found(everything) == EVERYTHING
    assert "as_of" not in everything


def test_an_article_names_its_other_wordings(tmp_path, make_article):
    articles = [
        {**make_article(8, valid_to="2019-12-31"), "id": "old"},
        {**make_article(8, valid_from="2020-01-01"), "id": "new"},
        make_article(16),
    ]
    pipeline = load_pipeline("lexical", indexed(tmp_path, articles))
    answer = ask(pipeline, "art. 8 Housing Code, rent officer")
    wordings = {each["id"]: each.get("wordings") for each in answer["documents"]}
    assert wordings["new"] == [{"id": "old", "valid_from": None, "valid_to": "2019-12-31"}]
    assert {id_ for id_, each in wordings.items() if each is not None} == {"new"}
    assert json.loads(json.dumps(answer)) == answer


NOT_HOUSING = {"field": "meta.law", "operator": "!=", "value": "Housing Code"}


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({}, {"a8", "a16", "a32"}),
        ({"filters": {}}, {"a8", "a16", "a32"}),
        ({"as_of": date(2005, 6, 1)}, {"a8"}),
        ({"filters": {"field": "meta.number", "operator": "!=", "value": "8"}}, {"a16", "a32"}),
        ({"filters": {"field": "meta.law", "operator": "==", "value": "Housing Code"}}, set()),
    ],
)
def test_a_question_narrows_what_the_file_lets_through(dated_store, asked, left):
    of_each = {f"{name}.filters": copy.deepcopy(NOT_HOUSING) for name in ("citation", "bm25")}
    pipeline = load_pipeline("lexical", store=dated_store, overrides=of_each)
    question = "rent officer, art. 24 Housing Code"
    at_once = ask(pipeline, question, **asked)
    awaited = asyncio.run(ask_async(pipeline, question, **asked))
    for answer in (at_once, awaited):
        assert found(answer) == left


@pytest.mark.parametrize("foreign", [["Leeds", "York"], [{"id": "q"}], {"start": None}, "x", 5])
def test_what_another_writer_keeps_under_our_names_is_not_part_of_the_answer(foreign):
    meta = {"neighbours": foreign, "passage": foreign, "passages_read": foreign}
    found = found_article(Document(id="x", content="Words.", meta=meta), date(2020, 1, 1))
    assert found["neighbours"] == []
    assert not {"passage", "passages_read"} & found.keys()


def test_a_warm_question_passes_at_most_29_of_our_files(law_store):
    """A reader can follow a question from `run` to the documents and their passages."""
    pipeline = load_pipeline("hybrid", law_store)
    pipeline.run({"retriever": {"query": "Which officer decides on wages?"}})
    passed = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            passed.add(str(path.relative_to(ROOT)))

    sys.setprofile(note)
    try:
        pipeline.run({"retriever": {"query": "Who decides on the rent of a house?"}})
    finally:
        sys.setprofile(None)
    ours = [each for each in passed if each.startswith(("components/", "pipelines/"))]
    assert "components/retrievers/hybrid.py" in ours
    assert len(ours) <= 29, sorted(ours)


def test_a_pipeline_without_inputs_is_told_what_to_add():
    for pipeline in (Pipeline(metadata={"name": "mine"}), Pipeline()):
        with pytest.raises(LoadingError, match=r"add 'inputs: \{query: .*'outputs: \{documents"):
            ask(pipeline, "Who decides?")
