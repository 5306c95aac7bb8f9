"""Qdrant: indexing, asking, and one clear error when the engine fails."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from engine_cases import check_it_gets_places
from haystack import Document
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException
from serving import free_port

from components.models import difference
from components.models.biencoder import BiEncoder
from components.retrievers.engines import EngineCitationRetriever, EngineEmbeddingRetriever
from components.stores.database import StoreError
from components.stores.engines import LAW, RECORD, SHARD, Engine
from components.stores.qdrant import QdrantEngine
from pipelines.asking import ask
from pipelines.command_line import DONE, WRONG_USE
from pipelines.engines import Shard, index_into_engine
from pipelines.loading import LoadingError, load_pipeline

Article = dict[str, Any]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch) -> None:
    """Nobody waits for an engine that a test has broken."""
    monkeypatch.setattr("components.stores.engines._INDEXING", (0.01, 0.02))
    monkeypatch.setattr("components.stores.engines._ASKING", (0.01,))


@pytest.fixture
def address(tmp_path) -> str:
    """Where the engine keeps its files: within the process, so without a server."""
    return str(tmp_path / "qdrant")


def assert_holds(engine: Engine, articles: list[Article], model: Path) -> None:
    """Exactly these articles, each with its text, metadata and the vector of its own text."""
    assert engine.count() == len(articles)
    found = {each.id: each for each in engine.fetch([each["id"] for each in articles])}
    listed = [engine.listed(law) for law in {each["law"] for each in articles}]
    vectors = engine.vectors({id_: row.text_digest for law in listed for id_, row in law.items()})
    texts = [" ".join([*each["headings"], each["text"]]) for each in articles]
    expected = BiEncoder.load(model, dtype="float32").encode_articles(texts).numpy()
    for article, vector in zip(articles, expected, strict=True):
        document = found[article["id"]]
        given = {key: value for key, value in article.items() if key not in ("id", "text")}
        del document.meta["position"]
        assert (document.content, document.meta) == (article["text"], given)
        assert np.dot(vectors[document.id], vector) > 0.999


def test_a_corpus_is_indexed_whole_and_once(index, look, tiny_model, articles, monkeypatch):
    articles[0] |= {"valid_from": "2020-01-01", "valid_to": "2021-12-31", "source_url": "https://l"}
    articles[1]["headings"] = []
    articles[2]["jurisdiction"] = "us/or/portland"
    report = index(articles)
    assert (report.articles, report.laws, report.encoded, report.written) == (30, 3, 30, 30)
    assert report.complete
    assert_holds(look(), articles, tiny_model)
    record = look().record()
    assert record is not None
    assert (record.model.path, record.model.dim) == (str(tiny_model), 16)
    assert record.languages == ("en",)
    monkeypatch.setattr(BiEncoder, "load", None)  # not even the model is opened
    report = index(articles)
    assert (report.encoded, report.written, report.removed, report.complete) == (0, 0, 0, True)


def test_quotes_and_backslashes_in_names_and_ids(
    index, look, address, articles, tiny_model, monkeypatch
):
    monkeypatch.setattr("components.stores.qdrant._PAGE", 1)
    ids = ('a"1"', "a\\1", "a'1'", 'a\\"', "z")
    odd = [{**each, "id": id_, "law": 'Act "A"'} for each, id_ in zip(articles, ids, strict=False)]
    assert index(odd).complete
    assert index(odd).written == 0
    report = index(odd[1:])
    assert (report.encoded, report.removed) == (0, 1)
    odd[1]["valid_to"] = "2024-06-30"
    assert (index(odd[1:]).encoded, look().listed('Act "A"').keys()) == (0, set(ids[1:]))
    assert_holds(look(), odd[1:], tiny_model)
    cited = f"art. {odd[1]['number']} Act A"
    found = ask(load_pipeline("qdrant", store=address), cited, as_of="any")["documents"]
    assert ids[1] in [each["id"] for each in found]


def test_the_law_of_a_day_is_asked_and_a_cited_article_names_its_other_wordings(
    index, address, articles
):
    old, new, other = articles[:3]
    old |= {"id": "old", "valid_from": "2001-01-01", "valid_to": "2019-12-31"}
    new |= {"id": "new", "law": old["law"], "number": old["number"], "valid_from": "2020-01-01"}
    index([old, new, other])
    pipeline = load_pipeline("qdrant", store=address)
    cited = f"art. {old['number']} {old['law']}"

    def found(**options: Any) -> list[str]:
        return [each["id"] for each in ask(pipeline, cited, **options)["documents"]]

    assert found() == ["new", other["id"]]
    assert found(as_of="2010-01-01") == ["old", other["id"]]
    assert found(as_of="any")[:2] == ["new", "old"]
    documents = ask(pipeline, cited)["documents"]
    assert documents[0]["wordings"] == [
        {"id": "old", "valid_from": "2001-01-01", "valid_to": "2019-12-31"}
    ]
    (left_out,) = ask(pipeline, cited, as_of="2000-01-01")["left_out"]
    assert (left_out["id"], left_out["state"]) == ("new", "not yet in force")
    # A question of only citations is told apart.
    citation = pipeline.get_component("citation")
    assert citation.is_citation("art. 4 Work Code")
    assert not citation.is_citation("art. 4 Work Code: who decides on wages?")
    assert not citation.is_citation("Who decides?")


def test_a_collection_made_before_places_is_asked_and_gets_them(index, look, address, articles):
    old = [each for each in articles if each["law"] == "Housing Code"]
    index(old)
    engine = look()
    engine.count()  # opens it
    engine._client.delete_payload(engine.name, ["meta.jurisdiction"], models.Filter())
    engine.close()
    check_it_gets_places("qdrant", address, index, old)


def test_laws_of_one_title_are_told_apart(index, look, address, make_article):
    acts = [
        [{**make_article(n + i, law="Finance Act", law_id=id_), "number": str(i)} for i in (1, 2)]
        for n, id_ in [(0, "gb/2003/7"), (10, "gb/2004/9")]
    ]
    acts[1][1] |= {"text": acts[0][1]["text"], "headings": acts[0][1]["headings"]}
    index(acts[0])
    report = index(acts[1])
    assert (report.articles, report.removed, look().count()) == (2, 0, 4)
    ids = {law: state["law_id"] for law, state in look().states(LAW).items()}
    assert ids == {"Finance Act": "gb/2003/7", "Finance Act (2004)": "gb/2004/9"}
    assert index([*acts[1], *acts[0]]).written == 0
    citation = load_pipeline("qdrant", store=address).get_component("citation")
    found = citation.run("art. 1 Finance Act 2004")["pinned"]
    assert [each.id for each in found] == ["a11"]
    assert citation.run("Who decides on wages under art. 1 Finance Act?")["pinned"] == []
    # Article 2 has the same words in both, and stays where it is.
    with pytest.raises(StoreError, match="'a2'"):
        index([*acts[1], {**acts[0][1], "law_id": "gb/2004/9"}])
    assert index([{**each, "law": "Tax Act", "text": "Amended."} for each in acts[0]]).removed == 0
    assert set(look().states(LAW)) == {"Tax Act", "Finance Act (2004)"}


def test_a_run_that_was_interrupted_continues_and_a_foreign_collection_is_refused(
    index, address, look, tiny_model, articles, monkeypatch
):
    monkeypatch.setattr("pipelines.engines.block_size", lambda model: 4)
    write = QdrantEngine.write
    written: list[int] = []

    def dying(self: Any, documents: Any) -> None:
        if len(written) == 4:
            raise KeyboardInterrupt
        write(self, documents)
        written.append(len(documents))

    with monkeypatch.context() as patch:
        patch.setattr(QdrantEngine, "write", dying)
        with pytest.raises(KeyboardInterrupt):
            index(articles)
    assert look().count() == sum(written) == 16
    with pytest.raises(LoadingError, match=r"not yet indexed to its end.*same command again"):
        load_pipeline("qdrant", store=address)
    report = index(articles)
    assert (report.encoded, report.written) == (14, 14)
    assert_holds(look(), articles, tiny_model)
    load_pipeline("qdrant", store=address)
    look().drop_state(RECORD, RECORD)
    with pytest.raises(LoadingError, match="not made by Lexarbor"):
        load_pipeline("qdrant", store=address)
    with pytest.raises(StoreError, match="Lexarbor did not write"):
        index(articles)


def test_a_tower_over_the_collections_model_is_taken_over_and_another_model_is_refused(
    index, address, look, tiny_model, articles, tmp_path
):
    index(articles)
    base = BiEncoder.load(tiny_model, device="cpu")
    update = difference.updated(base.query, 2)
    names = {"model": str(tiny_model), "sha256": base.digest, "articles": base.digest}
    BiEncoder(update, base.passage).save(tmp_path / "tower", base=names)
    report = index(articles, model=str(tmp_path / "tower"))
    assert (report.encoded, report.written) == (0, 0)
    record = look().record()
    assert record.model.path == str(tmp_path / "tower")
    assert (record.model.digest, record.model.question_digest != base.digest) == (base.digest, True)
    BiEncoder.load(tiny_model, device="cpu").save(tmp_path / "whole")
    with pytest.raises(StoreError, match=r"holds vectors of the model .*tower; .*whole is another"):
        index(articles, model=str(tmp_path / "whole"))


def test_shards_are_together_the_whole(index, look, address, tiny_model, articles):
    for number, article in enumerate(articles):
        article["law"] = f"Code {number % 7}"
    first = index(articles, shard=Shard(1, 2))
    assert not first.complete
    with pytest.raises(LoadingError, match="not yet indexed to its end"):
        load_pipeline("qdrant", store=address)
    second = index(articles, shard=Shard(2, 2))
    assert second.complete
    assert first.articles + second.articles == 30
    assert min(first.laws, second.laws) > 0
    assert_holds(look(), articles, tiny_model)
    # One process alone brings it up to date later, and each shard leaves the other's laws alone.
    assert index(articles).written == 0
    pruned = [index(articles[:20], shard=Shard(n, 2), prune=True) for n in (1, 2)]
    assert sum(report.removed for report in pruned) == 10
    assert look().is_complete()
    assert len(look().states(SHARD)) == 2  # the marks of earlier runs are gone


def test_questions_go_to_the_old_collection_until_the_new_one_takes_its_name(
    index, look, address, articles, tiny_model, monkeypatch
):
    index(articles)
    pipeline = load_pipeline("qdrant", store=address)
    write = QdrantEngine.write
    seen: list[Any] = []

    def content() -> str:
        found = ask(pipeline, "art. 3 Housing Code", top_k=1)["documents"][0]
        return f"{found['id']}: {found['content']}"

    def asked_and_broken(self: Any, documents: Any) -> None:
        write(self, documents)
        seen.extend([content(), look().count()])
        raise KeyboardInterrupt

    old = content()
    articles[2]["text"] = "The second edition."
    with monkeypatch.context() as patch:
        patch.setattr(QdrantEngine, "write", asked_and_broken)
        with pytest.raises(KeyboardInterrupt):
            index(articles, rebuild=True)
    assert [*seen, content()] == [old, 30, old]
    report = index(articles, rebuild=True)
    assert (report.encoded, report.written, report.complete) == (0, 0, True)
    assert content() == "a3: The second edition."
    assert_holds(look(), articles, tiny_model)
    # An update goes on in place, and its name in the engine stays.
    assert index(articles).written == 0
    fewer = [each for each in articles if each["law"] != "Family Code"]
    with pytest.raises(StoreError, match=r"lacks laws of .* 1 in all: Family Code"):
        index(fewer, rebuild=True)
    assert index(fewer, rebuild=True, prune=True).written == 20
    assert_holds(look(), fewer, tiny_model)
    left = {each.name for each in look()._opened().get_collections().collections}
    assert left == {"lexarbor_2", "lexarbor_2_states"}


def test_a_closed_pipeline_releases_the_engine_and_opens_it_again(index, address, articles):
    index(articles)
    pipeline = load_pipeline("qdrant", store=address)
    question = "art. 3 Housing Code, on rent"
    found = ask(pipeline, question)["documents"]
    for close in (pipeline.close, lambda: asyncio.run(pipeline.close_async())):
        close()
        QdrantClient(path=address).close()  # refused while the folder is held
        again = ask(pipeline, question)["documents"]
        assert [each["id"] for each in again] == [each["id"] for each in found]


def test_a_corpus_is_indexed_and_asked(address, corpus, tiny_model, command):
    asked = f"{address}#eu"
    given = ("--corpus", corpus, "--engine", "qdrant", "--url", asked, "--collection", "eu")
    code, out, _ = command("index", *given, "--model", tiny_model, "--json")
    report = json.loads(out)
    assert (code, report["articles"], report["encoded"], report["complete"]) == (DONE, 30, 30, True)
    question = ("art. 3 Tax Code, on repairs", "--pipeline", "qdrant", "--store", asked)
    code, out, _ = command("ask", *question, "--json", "--top-k", 3)
    answer = json.loads(out)
    assert (code, len(answer["documents"]), answer["pipeline"]) == (DONE, 3, "qdrant")


def test_wrong_use_is_refused(command):
    for line in (
        "",
        "--store a.db --engine qdrant",
        "--engine qdrant",
        "--store a.db --shard 1/2",
        "--store a.db --rebuild",
        "--engine qdrant --url u --graph",
        "--engine qdrant --url u --model none",
        "--engine qdrant --url u --shard 3/2",
    ):
        assert command("index", "--corpus", "aldermere", *line.split())[0] == WRONG_USE, line


def test_an_engine_that_is_down_at_the_start_is_reported_at_once(corpus, tiny_model):
    url = f"http://127.0.0.1:{free_port()}"
    began = time.monotonic()
    for attempt in (
        lambda: index_into_engine(corpus, url, model=str(tiny_model)),
        lambda: load_pipeline("qdrant", store=url),
    ):
        with pytest.raises(StoreError, match=rf"{url}.* does not answer .*Check that it runs"):
            attempt()
    assert time.monotonic() - began < 30


def test_a_qdrant_that_is_cut_off_is_reported_and_used_again(
    corpus, tiny_model, monkeypatch, tmp_path
):
    address, question = str(tmp_path / "folder"), "Who decides on repairs?"

    def gone(*_: object, **options: object) -> None:
        raise ResponseHandlingException(httpx.ConnectError("connection reset"))

    with monkeypatch.context() as patch:
        patch.setattr(QdrantClient, "upsert", gone)
        with pytest.raises(StoreError, match=r"does not answer \(connection reset\), tried 3 time"):
            index_into_engine(corpus, address, model=str(tiny_model))
    assert index_into_engine(corpus, address, model=str(tiny_model)).complete
    pipeline = load_pipeline("qdrant", store=address)
    with monkeypatch.context() as patch:
        patch.setattr(QdrantClient, "query_points", gone)
        with pytest.raises(StoreError, match="does not answer"):
            ask(pipeline, question)
    assert ask(pipeline, question)["documents"]


def test_a_collection_of_ones_own_is_searched_by_meaning(tmp_path):
    def opened_mine():
        return QdrantDocumentStore(path=str(tmp_path / "mine"), index="mine", embedding_dim=2)

    mine = opened_mine()
    mine.write_documents(
        [Document(id="n1", content="A note.", meta={"by": "me"}, embedding=[1, 0])]
    )
    mine._client.close()
    retriever = EngineEmbeddingRetriever(opened_mine())
    (found,) = retriever.run([1.0, 0.0])["documents"]
    assert (found.content, found.meta) == ("A note.", {"by": "me"})
    with pytest.raises(StoreError, match="collection 'mine', has no laws on record"):
        EngineCitationRetriever(retriever.document_store).run("What does article 12 say?")
    retriever.close()
