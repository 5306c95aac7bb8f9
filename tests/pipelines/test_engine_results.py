"""The same questions and filters over the embedded store and engines: the same articles."""

import json
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from haystack import Document, Pipeline
from law_files import line, write

from components.models.biencoder import BiEncoder
from components.retrievers.embedding import record_long_articles, record_weight
from components.retrievers.validity import in_force_on
from components.statutes.corpus import StatuteCorpus
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import ask, run
from pipelines.engines import index_into_engine
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

pytestmark = [pytest.mark.slow, pytest.mark.integration]
ENGINES = ("qdrant", "postgres")
STAGES = ("citation", "bm25", "dense", "fuser")
OF_STAGES = Path(__file__).resolve().parents[2] / "examples" / "stages.yaml"


# How far scores of one article may lie apart: float32 in other orders of summing.
CLOSE = 2e-5
QUESTIONS = [
    "My landlord will not mend the boiler. What can I do?",
    "What does section 5 say on deposits?",
    "art. 12 Housing Code",
    "articles 3 to 7 of the Housing Code",
    "Does Article 14(2) of the Housing Code apply to my contract?",
    "What does Article 5 of the GDPR say?",
    "Section 900 of the Housing Code",
    "arts. 12-14 Housing Code",
    "zzzz qqqq",
    " ".join([*(f"zq{n}" for n in range(1_000)), "Who may keep a deposit?"]),
]
HOUSING = {"field": "meta.law", "operator": "==", "value": "Housing Code of Aldermere (invented)"}
FROM_2015 = {"field": "meta.valid_from", "operator": ">=", "value": "2015-01-01"}
REPEALED = {"field": "meta.valid_to", "operator": "<", "value": "2024-01-01"}
NUMBERS = {"field": "meta.number", "operator": "in", "value": ["3", "5", "12", "14"]}
FILTERS: list[dict[str, Any] | None] = [
    None,
    HOUSING,
    {"field": "meta.law", "operator": "!=", "value": HOUSING["value"]},
    NUMBERS,
    {**NUMBERS, "operator": "not in"},
    {"field": "meta.language", "operator": "==", "value": None},
    {"field": "meta.language", "operator": "!=", "value": "fr"},
    FROM_2015,
    {**FROM_2015, "operator": "<"},
    {**FROM_2015, "operator": "<=", "value": "2009-01-01"},
    {"field": "meta.valid_to", "operator": "!=", "value": None},
    REPEALED,
    {"operator": "NOT", "conditions": [HOUSING, NUMBERS]},
    {"operator": "OR", "conditions": [REPEALED, NUMBERS]},
    {"operator": "AND", "conditions": [HOUSING, {"operator": "NOT", "conditions": [FROM_2015]}]},
    in_force_on(date(2012, 6, 1)),
    {"field": "meta.law", "operator": "in", "value": []},
]
DAYS = ("any", "today", "any", "2015-01-01")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Three demo laws; a tenth without a language, another without dates, another repealed."""
    articles = []
    for position, article in enumerate(StatuteCorpus.read("aldermere")):
        record = article.to_json()
        if position % 10 == 0:
            record.pop("language", None)
        if position % 10 == 1:
            record.pop("valid_from", None)
        if position % 10 == 2:
            record |= {"valid_from": "2009-01-01", "valid_to": "2019-12-31"}
        if record["law"].startswith(("Housing", "Work", "Family")):
            articles.append(line(record))
    return write(tmp_path_factory.mktemp("corpus") / "articles.jsonl", *articles)


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory, corpus, minilm, postgres) -> dict[str, Pipeline]:
    """The corpus in all, each asked for 250 articles a list; every text is encoded once."""
    folder = tmp_path_factory.mktemp("all")
    places = {"qdrant": str(folder / "qdrant"), "postgres": f"{postgres.url()}#results"}
    kept: dict[str, Any] = {}
    encode = BiEncoder.encode_articles_report

    def once(self: BiEncoder, texts: list[str], **options: Any) -> Any:
        key = json.dumps(texts)
        if key not in kept:
            kept[key] = encode(self, texts, **options)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BiEncoder, "encode_articles_report", once)
        index_corpus(corpus, folder / "stages.db", model=minilm)
        with closing(StatuteDocumentStore(folder / "stages.db")) as store:
            record_weight(store, 1.0)  # engines have no other
            record_long_articles(store, {})  # nor vectors of provisions
        for place in places.values():
            index_into_engine(corpus, place, model=minilm)
    loaded = {name: load_pipeline(name, place) for name, place in places.items()}
    return {"stages": load_pipeline(OF_STAGES, folder / "stages.db"), **loaded}


def lists(
    pipeline: Pipeline, question: str, filters: dict[str, Any] | None, as_of: str
) -> dict[str, list[Document]]:
    """What each stage hands out."""
    outputs = run(pipeline, question, set(STAGES), 50, filters, as_of)
    found = {stage: outputs[stage]["documents"] for stage in STAGES}
    return {**found, **{name: outputs["citation"][name] for name in ("pinned", "left_out")}}


def assert_same(ours: list[Document], theirs: list[Document], label: str) -> None:
    """The same articles with the same scores, in one order but for ties."""
    cut = min((each.score or 0.0 for each in ours), default=0.0)
    expected = {each.id: each for each in ours}
    assert len(theirs) == len(ours), label
    for place, (own, found) in enumerate(zip(ours, theirs, strict=True)):
        score = found.score or 0.0
        assert score == pytest.approx(own.score, abs=CLOSE), f"{label}, rank {place + 1}"
        if same := expected.get(found.id):
            assert score == pytest.approx(same.score, abs=CLOSE), label
            assert found.content == same.content
            assert {**found.meta, "ranks": None} == {**same.meta, "ranks": None}
        else:  # tied with the last, and another one was taken
            assert score == pytest.approx(cut, abs=CLOSE), label
        assert found.embedding is None
        assert found.sparse_embedding is None


@pytest.mark.parametrize("engine", ENGINES)
def test_every_stage_finds_the_same_articles_with_every_filter(pipelines, engine):
    empty = left_out = 0
    for number, filters in enumerate(FILTERS):
        # All questions without filters, then some of them in turn with each.
        asked = QUESTIONS if filters is None else [QUESTIONS[number % 7]]
        for question in asked:
            label = f"{question!r} with {filters}"
            as_of = DAYS[number % len(DAYS)]
            ours = lists(pipelines["stages"], question, filters, as_of)
            theirs = lists(pipelines[engine], question, filters, as_of)
            for stage in ("citation", "pinned", "left_out", "bm25", "dense"):
                assert_same(ours[stage], theirs[stage], f"{label}: {stage}")
            assert {each.id for each in ours["fuser"][:5]} == {
                each.id for each in theirs["fuser"][:5]
            } or _tied(ours["fuser"]), label
            empty += not ours["dense"]
            left_out += bool(ours["left_out"])
    assert empty < len(FILTERS)  # the filters let something through
    assert left_out  # and keep back what is cited


def _tied(documents: list[Document]) -> bool:
    """Whether the fifth and the sixth place may change."""
    scores = [each.score or 0.0 for each in documents[:8]]
    return len(scores) > 5 and scores[4] - scores[-1] < 0.01


def test_what_is_named_and_not_there_is_told_alike(pipelines):
    for question, missing in (
        ("Section 900 of the Housing Code", [f"Section 900, {HOUSING['value']}"]),
        ("May I rely on Article 5 of the GDPR?", ["Article 5, GDPR"]),
        ("arts. 12-14 Housing Code", None),
    ):
        for name in ("stages", *ENGINES):
            assert ask(pipelines[name], question, top_k=1).get("missing") == missing
