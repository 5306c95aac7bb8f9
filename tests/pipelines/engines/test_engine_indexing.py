"""Indexing into an engine encodes each text once, goes on after a kill, removes what is gone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.statutes.problems import CorpusError
from components.stores.engines.engine import (
    LAW,
    RECORD,
    SHARD,
    ArticleEngine,
    is_complete,
    read_record,
)
from components.stores.engines.milvus import MilvusEngine
from components.stores.engines.qdrant import QdrantEngine
from components.stores.failures import StoreError
from pipelines.asking import ask
from pipelines.engines import writing
from pipelines.engines.indexing import EngineReport
from pipelines.engines.scan import Shard
from pipelines.loading import LoadingError, load_pipeline

Article = dict[str, Any]
Index = Callable[..., EngineReport]
Look = Callable[[], ArticleEngine]
CLASSES = {"qdrant": QdrantEngine, "milvus": MilvusEngine}


def assert_holds(engine: ArticleEngine, articles: list[Article], model: Path) -> None:
    """Exactly these articles, each with its text, metadata and the vector of its own text."""
    assert engine.count() == len(articles)
    found = {each.id: each for each in engine.fetch([each["id"] for each in articles])}
    vectors = engine.vectors(list(found))
    texts = [" ".join([*each["headings"], each["text"]]) for each in articles]
    expected = BiEncoder.load(model, dtype="float32").encode_articles(texts).numpy()
    for article, vector in zip(articles, expected, strict=True):
        document = found[article["id"]]
        given = {key: value for key, value in article.items() if key not in ("id", "text")}
        del document.meta["position"]
        assert (document.content, document.meta) == (article["text"], given)
        assert np.dot(vectors[document.id], vector) > 0.999


def test_a_corpus_is_indexed_whole(
    index: Index, look: Look, tiny_model: Path, articles: list[Article]
) -> None:
    articles[0] |= {"valid_from": "2020-01-01", "valid_to": "2021-12-31", "source_url": "https://l"}
    articles[1]["headings"] = []
    report = index(articles)
    assert (report.articles, report.laws, report.encoded, report.written) == (30, 3, 30, 30)
    assert report.complete
    assert "30 articles of 3 laws" in str(report)
    assert_holds(look(), articles, tiny_model)
    record = read_record(look())
    assert record is not None
    assert (record.model.path, record.model.dim) == (str(tiny_model), 16)
    assert record.languages == ("en",)


def test_an_unchanged_corpus_encodes_and_writes_nothing(
    index: Index, articles: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    index(articles)
    monkeypatch.setattr(BiEncoder, "load", None)  # not even the model is opened
    report = index(articles)
    assert (report.encoded, report.written, report.removed, report.complete) == (0, 0, 0, True)


def test_a_changed_article_alone_is_encoded(
    index: Index, look: Look, tiny_model: Path, articles: list[Article], encoded: list[str]
) -> None:
    index(articles)
    encoded.clear()
    articles[4]["text"] = "Another rule on taxes."
    report = index(articles)
    assert [each.endswith("Another rule on taxes.") for each in encoded] == [True]
    assert (report.encoded, report.written) == (1, 1)
    assert_holds(look(), articles, tiny_model)


def test_changed_metadata_is_written_with_the_vector_that_is_there(
    index: Index, look: Look, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles)
    articles[7]["valid_to"] = "2024-06-30"
    report = index(articles)
    assert (report.encoded, report.written) == (0, 1)
    assert_holds(look(), articles, tiny_model)


def test_what_the_corpus_no_longer_has_is_removed(
    index: Index, look: Look, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles)
    law = articles[0]["law"]
    kept = [each for each in articles if each["law"] != law][:-1]
    said: list[str] = []
    report = index(kept, prune=True, say=said.append)
    assert (report.removed, report.encoded) == (11, 0)
    assert any("Removing 1 law" in line and f"{law} (10 articles)" in line for line in said)
    assert law not in look().states(LAW)
    assert_holds(look(), kept, tiny_model)


def test_laws_are_added_and_amended_one_file_each(
    index: Index,
    look: Look,
    tiny_model: Path,
    articles: list[Article],
    make_article: Callable[..., Article],
) -> None:
    laws = ("Work Code", "Housing Code", "Family Code")
    by_law = {law: [each for each in articles if each["law"] == law] for law in laws}

    def places() -> list[str]:
        found = [(each.position, id_) for law in laws for id_, each in look().listed(law).items()]
        return [id_ for _, id_ in sorted(found)]

    for law in laws:
        report = index(by_law[law])
        assert (report.written, report.removed, report.complete) == (10, 0, True)
    together = [each for law in laws for each in by_law[law]]
    assert_holds(look(), together, tiny_model)
    assert places() == [each["id"] for each in together]
    assert index(by_law["Housing Code"]).written == 0
    by_law["Housing Code"][3]["text"] = "Amended."
    del by_law["Housing Code"][9]
    report = index(by_law["Housing Code"])
    assert (report.encoded, report.written, report.removed) == (1, 1, 1)
    together = [each for law in laws for each in by_law[law]]
    assert_holds(look(), together, tiny_model)
    assert places() == [each["id"] for each in together]


def test_a_part_of_a_law_is_refused_before_encoding(
    index: Index, look: Look, articles: list[Article], encoded: list[str]
) -> None:
    index(articles)
    encoded.clear()
    part = [{**each, "text": "Amended."} for each in articles if each["law"] == "Work Code"][:4]
    with pytest.raises(StoreError, match=r"4 of the 10 articles of Work Code.*--replace"):
        index(part)
    assert (encoded, look().count()) == ([], 30)
    assert index(part, replace=True).removed == 6
    assert look().count() == 24


def test_an_id_of_another_law_is_refused_unless_the_article_moved(
    index: Index, look: Look, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles)
    work = [each for each in articles if each["law"] == "Work Code"]
    with pytest.raises(StoreError, match=r"the id '.*' in Tax Code; .*Work Code"):
        index([{**work[0], "law": "Tax Code", "text": "Taxes are due."}])
    assert index([{**work[0], "law": "Tax Code"}]).encoded == 0
    assert look().states(LAW)["Work Code"] == {"digest": "", "articles": 9}
    index(work)  # and back
    assert "Tax Code" not in look().states(LAW)
    assert_holds(look(), articles, tiny_model)


def test_an_article_moves_between_laws_either_way(
    index: Index, look: Look, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles)
    articles[0]["law"], articles[1]["law"] = articles[1]["law"], articles[0]["law"]
    assert index(articles).encoded == 0
    assert_holds(look(), articles, tiny_model)


@pytest.mark.parametrize("block", [1, 100])
def test_a_law_that_is_renamed_keeps_its_vectors(
    block: int,
    index: Index,
    look: Look,
    tiny_model: Path,
    articles: list[Article],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "block_size", lambda model: block)
    index(articles)
    law = articles[0]["law"]
    for article in articles[3:]:  # the first of them stays, and leaves the others behind
        article["law"] = article["law"].replace(law, "Labour Code")
    assert index(articles).encoded == 0
    assert_holds(look(), articles, tiny_model)
    articles[0]["law"] = "Labour Code"
    assert index(articles).encoded == 0
    assert_holds(look(), articles, tiny_model)
    assert law not in look().states(LAW)


def test_quotes_and_backslashes_in_names_and_ids(
    engine: str,
    index: Index,
    look: Look,
    address: str,
    articles: list[Article],
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Every page of Milvus ends with one of them.
    monkeypatch.setattr("components.stores.engines.milvus._PAGE", 1)
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
    found = ask(load_pipeline(engine, store=address), cited, as_of="any")["documents"]
    assert ids[1] in [each["id"] for each in found]


def test_the_law_of_a_day_is_asked_and_a_cited_article_names_its_other_wordings(
    engine: str, index: Index, address: str, articles: list[Article]
) -> None:
    old, new, other = (dict(each) for each in articles[:3])
    old |= {"id": "old", "valid_from": "2001-01-01", "valid_to": "2019-12-31"}
    new |= {"id": "new", "law": old["law"], "number": old["number"], "valid_from": "2020-01-01"}
    index([old, new, other])
    pipeline = load_pipeline(engine, store=address)
    cited = f"art. {old['number']} {old['law']}"

    def found(**options: Any) -> tuple[list[str], set[str]]:
        documents = ask(pipeline, cited, **options)["documents"]
        ids = [each["id"] for each in documents]
        return [id_ for id_ in ids if id_ in ("old", "new")], set(ids)

    assert found() == (["new"], {"new", other["id"]})
    assert found(as_of="2010-01-01") == (["old"], {"old", other["id"]})
    assert found(as_of="any")[0] == ["new", "old"]
    documents = ask(pipeline, cited)["documents"]
    assert documents[0]["wordings"] == [
        {"id": "old", "valid_from": "2001-01-01", "valid_to": "2019-12-31"}
    ]
    (left_out,) = ask(pipeline, cited, as_of="2000-01-01")["left_out"]
    assert (left_out["id"], left_out["state"]) == ("new", "not yet in force")


def test_a_run_that_was_interrupted_goes_on(
    engine: str,
    index: Index,
    address: str,
    look: Look,
    tiny_model: Path,
    articles: list[Article],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "block_size", lambda model: 4)
    write = CLASSES[engine].write
    written: list[int] = []

    def dying(self: Any, documents: Any) -> None:
        if len(written) == 4:
            raise KeyboardInterrupt
        write(self, documents)
        written.append(len(documents))

    with monkeypatch.context() as patch:
        patch.setattr(CLASSES[engine], "write", dying)
        with pytest.raises(KeyboardInterrupt):
            index(articles)
    assert look().count() == sum(written) == 16
    with pytest.raises(LoadingError, match=r"not yet indexed to its end.*same command again"):
        load_pipeline(engine, store=address)
    report = index(articles)
    assert (report.encoded, report.written) == (14, 14)
    assert_holds(look(), articles, tiny_model)
    load_pipeline(engine, store=address)


def test_shards_are_together_the_whole(
    engine: str, index: Index, look: Look, address: str, tiny_model: Path, articles: list[Article]
) -> None:
    for number, article in enumerate(articles):
        article["law"] = f"Code {number % 7}"
    first = index(articles, shard=Shard(1, 2))
    assert not first.complete
    assert "Other shards" in str(first)
    with pytest.raises(LoadingError, match="not yet indexed to its end"):
        load_pipeline(engine, store=address)
    second = index(articles, shard=Shard(2, 2))
    assert second.complete
    assert first.articles + second.articles == 30
    assert min(first.laws, second.laws) > 0
    assert_holds(look(), articles, tiny_model)
    # One process alone brings it up to date later, and each shard leaves the other's laws alone.
    assert index(articles).written == 0
    assert (
        index(articles[:20], shard=Shard(1, 2), prune=True).removed
        + index(articles[:20], shard=Shard(2, 2), prune=True).removed
        == 10
    )
    assert is_complete(look())
    assert len(look().states(SHARD)) == 2  # the marks of earlier runs are gone


def test_a_corpus_stays_open_while_it_is_brought_up_to_date(
    engine: str, index: Index, address: str, articles: list[Article]
) -> None:
    index(articles)
    articles[0]["text"] = "A new rule."
    assert not index(articles, shard=Shard(1, 2)).complete
    load_pipeline(engine, store=address)
    assert index(articles, shard=Shard(2, 2)).complete


def test_another_model_is_refused(
    engine: str, index: Index, address: str, articles: list[Article], minilm: str
) -> None:
    index(articles)
    with pytest.raises(StoreError, match="Vectors of two models"):
        index(articles, model=minilm)
    with pytest.raises(LoadingError, match=r"is not the model that .* was indexed with"):
        load_pipeline(engine, store=address, model=minilm)


def test_the_model_on_record_is_taken_and_missed_when_it_is_gone(
    engine: str, index: Index, look: Look, address: str, articles: list[Article], tiny_model: Path
) -> None:
    index(articles)
    assert index(articles, model=None).model == str(tiny_model)
    value = look().states(RECORD)[RECORD]
    value["model"]["path"] = "/gone/model"
    look().put_state(RECORD, RECORD, value)
    with pytest.raises(LoadingError, match="/gone/model, which is not on this machine"):
        load_pipeline(engine, store=address)
    load_pipeline(engine, store=address, model=tiny_model)


def test_a_corpus_whose_laws_all_have_other_names_is_the_same_corpus(
    index: Index, look: Look, articles: list[Article], tiny_model: Path
) -> None:
    index(articles)
    for article in articles:
        article["law"] += " 2027"
    assert index(articles).complete
    assert_holds(look(), articles, tiny_model)


def test_records_that_this_version_cannot_read_are_refused(
    engine: str, index: Index, look: Look, address: str, articles: list[Article]
) -> None:
    index(articles)
    value = look().states(RECORD)[RECORD]
    for changed, message in (({"format": 9}, "format 9"), ({"analysis": "0"}, "word rules 0")):
        look().put_state(RECORD, RECORD, value | changed)
        with pytest.raises(StoreError, match=message):
            load_pipeline(engine, store=address)
        with pytest.raises(StoreError, match=message):
            index(articles)


def test_a_collection_that_is_not_ours_is_neither_asked_nor_written(
    engine: str, index: Index, look: Look, address: str, articles: list[Article]
) -> None:
    index(articles)
    look().drop_state(RECORD, RECORD)
    with pytest.raises(LoadingError, match="not made by Lexarbor"):
        load_pipeline(engine, store=address)
    with pytest.raises(StoreError, match="Lexarbor did not write"):
        index(articles)


def test_a_broken_corpus_or_model_leaves_no_collection(
    index: Index, look: Look, articles: list[Article]
) -> None:
    with pytest.raises(CorpusError):
        index([*articles, articles[0]])
    with pytest.raises(ModelError):
        index(articles, model="/nowhere/model")
    assert not look().exists()


def test_an_article_longer_than_a_field_of_the_engine_comes_back_whole(
    engine: str, index: Index, look: Look, articles: list[Article]
) -> None:
    articles[0]["text"] = "§ élan 漢字 " * 12_000 + "end"
    report = index(articles)
    assert look().fetch([articles[0]["id"]])[0].content == articles[0]["text"]
    assert report.words_cut == (1 if engine == "milvus" else 0)
    assert ("more words than the engine searches" in str(report)) == (engine == "milvus")


def test_a_vector_of_zeros_is_refused_by_the_articles_name(
    index: Index, look: Look, articles: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = BiEncoder.encode_articles_report

    def broken(self: BiEncoder, batch: list[str], **options: Any) -> Any:
        vectors, report = encode(self, batch, **options)
        vectors[4] = 0.0
        return vectors, report

    monkeypatch.setattr(BiEncoder, "encode_articles_report", broken)
    with pytest.raises(ModelError, match=r"tiny\S* gives NaN or zeros for article 'a\d+'\. Use an"):
        index(articles)
    assert look().count() == 0


def test_without_a_model_for_its_language_a_corpus_is_refused(
    index: Index, look: Look, articles: list[Article]
) -> None:
    with pytest.raises(ModelError, match=r"no model for this corpus is at hand\. Give --model"):
        index([{**each, "language": "fr"} for each in articles], model=None)
    assert not look().exists()
