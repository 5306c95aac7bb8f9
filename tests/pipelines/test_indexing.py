"""Indexing encodes each text once, publishes whole laws, and continues after a kill."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graph_stores import Article, Index
from haystack import Document

from components.embedders.text import StatuteTextEmbedder
from components.models.biencoder import BiEncoder
from components.models.folder import ModelError
from components.retrievers.citation import citation_index
from components.retrievers.embedding import (
    StatuteEmbeddingRetriever,
    record_long_articles,
    recorded_weight,
)
from components.statutes.sources.reading import CorpusError
from components.stores.database import OpenFile, StoreError, open_store
from components.stores.sqlite import StatuteDocumentStore
from pipelines.checking import LoadingError
from pipelines.indexing import IndexReport, index_corpus, name_laws
from pipelines.loading import model_place


@pytest.fixture
def index(tmp_path, tiny_model, store, write_corpus) -> Index:
    """Indexes these articles into the test's store, with the tiny model unless told."""

    def run(articles: list[dict[str, Any]], **options: Any) -> IndexReport:
        source = write_corpus(tmp_path / "articles.jsonl", articles)
        return index_corpus(source, str(store.path), **{"model": str(tiny_model), **options})

    return run


def test_the_weight_that_training_chose_is_kept(index, store, tiny_model, articles, tmp_path):
    model = BiEncoder.load(tiny_model)
    model.dense_weight = 3.0
    model.save(tmp_path / "trained")
    index(articles, model=str(tmp_path / "trained"))
    assert store.model is not None
    assert recorded_weight(store, store.model.digest) == 3


def test_what_was_read_is_kept_and_strict_writes_nothing(store, articles, tmp_path, write_corpus):
    twice = [*articles, {**articles[0], "id": "again", "text": "Another wording."}]
    source = write_corpus(tmp_path / "articles.jsonl", twice)
    with pytest.raises(CorpusError) as error:
        index_corpus(source, store.path, model="none", strict=True)
    assert ["more than once" in each.message for each in error.value.problems] == [True]
    assert not Path(store.path).exists()
    index_corpus(source, store.path, model="none")
    kept = store.publisher.recorded_checks()["articles.jsonl"]
    assert f"Read {len(twice)} articles" in kept
    assert "more than once, without dates" in kept


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


def test_a_corpus_is_indexed_with_vectors_in_the_files_order_and_once(
    index, store, tiny_model, minilm, encoded, make_article, articles, monkeypatch
):
    report = index(articles)
    assert (report.articles, report.laws, report.encoded, report.changed) == (30, 3, 30, 30)
    assert_complete(store, articles, tiny_model)
    assert store.model is not None
    assert store.model.path == str(tiny_model)
    assert store.load_blob("bm25/1.5/0.75") is not None
    assert recorded_weight(store, store.model.digest) is not None
    # An unchanged corpus encodes and writes nothing.
    before = store.content_version()
    with monkeypatch.context() as closed:
        closed.setattr(BiEncoder, "load", None)  # not even the model is opened
        report = index(articles)
    assert (report.encoded, report.changed, store.content_version()) == (0, 0, before)
    # One changed article encodes one.
    encoded.clear()
    articles[9] = make_article(10, text="The rent is due on Mondays.")
    report = index(articles)
    assert [text[-27:] for text in encoded] == ["The rent is due on Mondays."]
    assert (report.encoded, report.changed) == (1, 1)
    assert_complete(store, articles, tiny_model)
    # Another model is refused before encoding; without one, the store's own is used.
    encoded.clear()
    with pytest.raises(StoreError, match=r"holds vectors of the model .*is another"):
        index([*articles, make_article(31)], model=minilm)
    assert encoded == []
    report = index([*articles, make_article(31)], model=None)
    assert (report.model, report.encoded) == (str(tiny_model), 1)


def test_texts_that_change_places_keep_their_vectors(index, store, tiny_model, make_article):
    # Each text is now the other law's: neither vector may be lost before both are published.
    first, second = make_article(1, headings=[]), make_article(2, headings=[])
    index([first, second])
    swapped = [{**first, "text": second["text"]}, {**second, "text": first["text"]}]
    assert index(swapped).encoded == 0
    assert_complete(store, swapped, tiny_model)


def of_law(articles: list[Article], *laws: str) -> list[Article]:
    return [each for each in articles if each["law"] in laws]


def test_laws_are_added_one_file_each(index, store, tiny_model, articles):
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
    index, store, tiny_model, make_article, articles
):
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


def test_other_writers_documents_keep_what_they_have(index, store, make_article):
    first, second = ({**make_article(n), "law": f"Act {n}"} for n in (1, 2))
    index([first])
    meta, vector = {"law": "Act 3", "position": 7, "seen": [1]}, [1.0] + [0.0] * 15
    rows = [
        Document(id="mine", content="A rule.", meta=meta, embedding=vector),
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


def test_a_part_of_a_law_is_refused_before_encoding(index, store, encoded, articles):
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


def test_prune_lists_what_it_removes_before_it_does(index, store, tiny_model, articles):
    index(articles)
    listed: list[tuple[str, int]] = []

    def say(line: str) -> None:
        listed.append((line, store.count_documents()))

    report = index(of_law(articles, "Work Code"), prune=True, say=say)
    assert (report.removed, report.removed_laws) == (20, ["Family Code", "Housing Code"])
    (line,) = [line for line, held in listed if "Removing" in line and held == 30]
    assert "2 laws" in line
    assert "Family Code (10 articles), Housing Code (10 articles)" in line
    assert_complete(store, of_law(articles, "Work Code"), tiny_model)


def test_an_id_of_another_law_is_refused_unless_the_article_moved(index, store, articles):
    index(articles)
    moved = {**of_law(articles, "Work Code")[0], "law": "Tax Code"}
    with pytest.raises(StoreError, match=f"the id '{moved['id']}' in Tax Code; .*Work Code"):
        index([{**moved, "text": "Taxes are due."}])
    assert store.count_documents() == 30
    said: list[str] = []
    report = index([moved], say=said.append)
    assert (report.encoded, report.articles, report.laws, report.removed) == (0, 30, 4, 0)
    assert index([{**moved, "text": "Taxes are due."}]).articles == 30
    whole = [{**each, "law": "Labour Code"} for each in of_law(articles, "Work Code")[1:]]
    assert index(whole).removed_laws == ["Work Code"]


def act_of(make_article, law_id: str, first: int) -> list[Article]:
    """An act of three articles, which closes with the words of every other one."""
    act = [make_article(first + n, law="Finance Act", law_id=law_id) for n in range(3)]
    act[2] |= {"headings": [], "text": "Let it be published."}
    return [{**each, "number": str(n)} for n, each in enumerate(act, start=1)]


def test_two_acts_of_one_title_are_two_laws_in_whatever_order_they_come(index, store, make_article):
    acts = [act_of(make_article, f"gb/{year}/{n}", 10 * n) for year, n in [(2003, 7), (2004, 9)]]
    for act, laws in zip(acts, (1, 2), strict=True):
        report = index(act)
        assert (report.laws, report.articles, report.removed) == (laws, 3 * laws, 0)
    names = {each.law: each.law_id for each in store.laws()}
    assert names == {"Finance Act": "gb/2003/7", "Finance Act (2004)": "gb/2004/9"}
    before = store.content_version()
    for act in (acts[1], acts[0], [*acts[0], *acts[1]], acts[0]):
        assert index(act).changed == 0
    assert store.content_version() == before
    resolver = citation_index(store).current(store)
    for cited, ids in {
        "art. 1 Finance Act": ["a70", "a90"],
        "art. 1 Finance Act 2003": ["a70"],
        "art. 1 Finance Act 2004": ["a90"],
    }.items():
        (found,) = resolver.resolve(cited)
        assert (sorted(found.ids), found.certain) == (ids, len(ids) == 1)
    # The same id and words do not make it an article of the other law.
    with pytest.raises(StoreError, match="'a72'"):
        index([*acts[1], {**acts[0][2], "number": "4", "law_id": "gb/2004/9"}])
    assert index(acts[1], prune=True).removed_laws == ["Finance Act"]
    assert [each.law for each in store.laws()] == ["Finance Act (2004)"]


def test_users_name_laws_without_indexing_again(index, store, make_article):
    index([make_article(1, law="Ferries Act"), make_article(2, law="Rafts Act")])
    before, resident = store.content_version(), citation_index(store)

    def cited(text):
        return [each.laws for each in resident.current(store).resolve(text)]

    assert cited("art. 1 FäA") == [()]
    name_laws(store.path, {"FäA": "Ferries Act", "Floats": "rafts act"})
    assert cited("art. 1 FäA, art. 1 Floats") == [("Ferries Act",), ("Rafts Act",)]
    name_laws(store.path, {"Floats": "", "FäA": "Rafts Act"})
    assert cited("art. 1 FäA, art. 1 of the Floats") == [("Rafts Act",), ()]
    assert store.content_version() == before
    for aliases, path in ({"FäA": "Boats Act"}, store.path), ({"X": "Rafts Act"}, "no.db"):
        with pytest.raises(LoadingError, match=r"^alias .*Boats Act|no\.db"):
            name_laws(path, aliases)
    assert store.publisher.aliases() == {"FäA": "Rafts Act"}
    index([make_article(1, law="Ferries Act")], prune=True)
    assert cited("art. 1 FäA") == [()]  # of a law that is gone


def test_a_law_yaml_names_laws_with_each_indexing(tmp_path, make_article, command):
    corpus, store = tmp_path / "articles.jsonl", tmp_path / "law.db"
    corpus.write_text(json.dumps(make_article(1, law="Ferries Act")), encoding="utf-8")
    names = tmp_path / "law.yaml"
    given = ("index", "--corpus", corpus, "--store", store, "--model", "none")
    names.write_text("aliases:\n  FäA: Ferries Act\n  Boats: Ferries Act\n", encoding="utf-8")
    assert command(*given, "--alias", "Boats=")[0] == 0
    assert StatuteDocumentStore(store).publisher.aliases() == {"FäA": "Ferries Act"}
    names.write_text("aliases: [FäA]\n", encoding="utf-8")
    assert command(*given)[0] != 0


def test_a_law_gets_its_identifier_without_being_encoded_again(index, store, make_article):
    act = act_of(make_article, "gb/2003/7", 1)
    bare = [{name: each[name] for name in each if name != "law_id"} for each in act]
    index(bare)
    report = index([*act, *act_of(make_article, "gb/2004/9", 11)])
    assert (report.encoded, report.laws, report.removed) == (2, 2, 0)
    assert {"Finance Act": "gb/2003/7"}.items() <= {e.law: e.law_id for e in store.laws()}.items()
    assert index(bare).laws == 2


def test_a_law_under_a_new_title_leaves_nothing_under_the_old(index, make_article):
    act = act_of(make_article, "gb/2003/7", 1)
    index(act)
    renamed = [{**each, "law": "Revenue Act"} for each in act[:2]]
    renamed[0]["text"] = "Amended."
    report = index(renamed)
    assert (report.encoded, report.articles, report.removed_laws) == (1, 2, ["Finance Act"])


def test_room_for_a_longer_law_is_made_in_one_step(
    index, store, monkeypatch, make_article, articles
):
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


def test_everything_wrong_with_the_corpus_is_reported_before_work_starts(
    tmp_path, store, tiny_model, articles
):
    lines = [json.dumps(each) for each in articles]
    lines[3] = "{"
    lines[7] = json.dumps({**articles[7], "text": ""})
    source = tmp_path / "bad.jsonl"
    source.write_text("\n".join(lines))
    with pytest.raises(CorpusError, match=r"(?s)bad.jsonl:4: .*bad.jsonl:8: field 'text'"):
        index_corpus(source, str(store.path), model=str(tiny_model))
    assert not (tmp_path / "law.db").exists()
    said: list[str] = []
    report = index_corpus(source, store.path, model=str(tiny_model), skip_bad=True, say=said.append)
    assert (report.articles, report.left_out) == (28, 2)
    assert any("bad.jsonl:4" in line for line in said)


def test_a_vector_of_nan_is_refused_by_the_articles_name(index, store, monkeypatch, articles):
    encode = BiEncoder.encode_articles_report

    def broken(self: BiEncoder, batch: list[str], **options: Any) -> Any:
        vectors, report = encode(self, batch, **options)
        vectors[4, 2] = torch.nan
        return vectors, report

    monkeypatch.setattr(BiEncoder, "encode_articles_report", broken)
    with pytest.raises(ModelError, match="NaN or zeros for article 'a5' of Family Code"):
        index(articles)
    assert store.count_documents() == 0


def test_a_full_disk_leaves_whole_laws_and_the_next_run_continues(
    index, store, encoded, tiny_model, monkeypatch, make_article
):
    monkeypatch.setattr("pipelines.indexing._BLOCK", {"cpu": 8})
    text = "The officer decides. " * 400
    long = [make_article(n, text=f"Rule {n}. {text}") for n in range(1, 31)]

    def small_disk(path: Path) -> OpenFile:
        opened = open_store(path)
        opened.connection.execute("PRAGMA max_page_count = 60")
        return opened

    with monkeypatch.context() as full:
        full.setattr("components.stores.database.open_store", small_disk)
        with pytest.raises(StoreError, match="disk is full"):
            index(long)
    done = len(encoded)
    laws = Counter(document.meta["law"] for document in store.filter_documents())
    assert all(count == 10 for count in laws.values())
    index(long)
    articles = [text for text in encoded if text.startswith("Title")]  # else provisions
    assert len(articles) <= 30 + 8
    assert done > 0
    assert_complete(store, long, tiny_model)


def test_a_long_article_is_found_by_a_provision_that_its_vector_does_not_show(
    index, store, tiny_model, make_article
):
    rules = [f"({n}) The officer keeps the register number {n} open. " * 5 for n in range(1, 8)]
    hidden = "A tenant may keep a dog where the garden is fenced."
    long = make_article(1, text="\n".join([*rules, f"(8) {hidden}"]))
    short = make_article(2, text="The officer keeps the register open on Mondays.")
    assert index([long, short]).long_articles == 1

    vector = StatuteTextEmbedder(str(tiny_model)).run(hidden)["embedding"]
    retriever = StatuteEmbeddingRetriever(store)
    scores = {each.id: each.score for each in retriever.run(vector)["documents"]}
    version = store.content_version()
    assert index([long, short]).long_articles == 1
    assert store.content_version() == version

    record_long_articles(store, {})  # an index in memory follows
    alone = {each.id: each.score for each in retriever.run(vector)["documents"]}
    assert scores[long["id"]] > alone[long["id"]]
    assert scores[short["id"]] == alone[short["id"]]

    record_long_articles(store, [])  # damaged
    with pytest.raises(StoreError, match="long articles"):
        retriever.run(vector)


def test_english_law_gets_the_bundled_model_and_other_law_the_multilingual(
    minilm, monkeypatch, tmp_path
):
    def chosen(languages: dict[str | None, int]) -> str | None:
        return model_place(None, None, "collection", languages, print)

    english: dict[str | None, int] = {"en-GB": 1, None: 1}
    mostly_english: dict[str | None, int] = {"en-GB": 1, "en_US": 1, None: 1, "fr": 2}
    french: dict[str | None, int] = {"en": 1, "fr": 1}
    at_hand = [True]
    monkeypatch.setattr("components.models.folder.multilingual_at_hand", lambda: at_hand[0])
    monkeypatch.setattr("components.models.folder.multilingual_folder", lambda: tmp_path)
    assert chosen(english) == minilm
    assert chosen(mostly_english) == chosen(french) == str(tmp_path)
    at_hand[0] = False
    assert chosen(mostly_english) == minilm
    assert chosen(french) is None
    monkeypatch.setattr("pipelines.loading.bundled_model", lambda: None)
    assert chosen(english) is None
