"""The BM25 retriever: kept with the store, following it, the same in every process."""

import gc
import json
import logging
import sqlite3
from contextlib import closing
from copy import deepcopy
from pathlib import Path

import pytest
from haystack import Document

from components.models.lexical_index import LexicalIndex
from components.retrievers.bm25 import StatuteBM25Retriever, keep_lay_words
from components.statutes import CorpusError
from components.statutes.lay_words import LayEntry
from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore

ARTICLES = [
    ("Housing Code", "1", ["Repairs"], "The landlord keeps the roof tight."),
    ("Housing Code", "2", ["Repairs"], "The tenant reports a leak at once."),
    ("Housing Code", "3", ["Rent"], "Rent is due on the first day."),
    ("Family Code", "1", ["Marriage"], "Spouses share the household."),
    ("Family Code", "2", ["Divorce"], "A divorce ends the marriage."),
]


def documents():
    made = []
    for position, (law, number, headings, text) in enumerate(ARTICLES):
        meta = {"law": law, "number": number, "headings": headings, "language": "en"}
        id_ = f"{law[0]}{number}"
        made.append(Document(id=id_, content=text, meta={**meta, "position": position}))
    return made[::-1]


@pytest.fixture
def filled(store):
    store.write_documents(documents())
    return store


def ids(found):
    return [document.id for document in found["documents"]]


@pytest.fixture
def builds(monkeypatch):
    """Grows by one with every index that is built from texts."""
    counted = []
    build = LexicalIndex.build

    def counting(*args, **kwargs):
        counted.append(1)
        return build(*args, **kwargs)

    monkeypatch.setattr(LexicalIndex, "build", counting)
    return counted


def test_headings_are_searched_and_any_store_gives_the_same(filled, in_memory):
    ours, theirs = StatuteBM25Retriever(filled), StatuteBM25Retriever(in_memory(documents()))
    assert ids(ours.run("Who repairs a leaking roof?")) == ["H1", "H2"]
    for question in ("marriage", "the household of spouses", "rent roof leak"):
        one, other = ours.run(question)["documents"], theirs.run(question)["documents"]
        found = [(d.id, d.score, d.meta) for d in one]
        assert found == [(d.id, d.score, d.meta) for d in other]
        scores = [document.score for document in one]
        assert scores == sorted(scores, reverse=True) and min(scores) > 0


def test_articles_are_found_by_the_words_of_synthetic_questions(filled, builds, tmp_path):
    def asked(name: str, text: str, synthetic: bool = True) -> str:
        row = {"id": "q", "text": text, "relevant": ["F2"], "synthetic": synthetic}
        (tmp_path / name).write_text(json.dumps(row) + "\n", encoding="utf-8")
        return str(tmp_path / name)

    expanded = StatuteBM25Retriever(filled, expansions=asked("one.jsonl", "Can we split up?"))
    assert ids(expanded.run("split up")) == ["F2"]
    assert ids(StatuteBM25Retriever(filled).run("split up")) == []
    other = StatuteBM25Retriever(filled, expansions=asked("two.jsonl", "Can we separate?"))
    assert ids(other.run("separate")) == ["F2"] and ids(other.run("split up")) == []
    assert len(builds) == 3
    # A question that is measured must not help.
    measured = asked("three.jsonl", "Can we split up?", synthetic=False)
    with pytest.raises(CorpusError, match="no synthetic question"):
        StatuteBM25Retriever(filled, expansions=measured).run("split up")


def test_the_index_is_kept_with_the_store_and_shared(filled, builds):
    first, other = StatuteBM25Retriever(filled), StatuteBM25Retriever(filled, top_k=3)
    found = first.run("marriage")["documents"]
    assert other.current_index() is first.current_index()
    del first, other
    gc.collect()
    again = StatuteBM25Retriever(StatuteDocumentStore(filled.path))
    assert again.run("marriage")["documents"] == found
    assert len(builds) == 1
    StatuteBM25Retriever(filled, k1=2.5, b=0.2).warm_up()
    assert len(builds) == 2
    StatuteDocumentStore(filled.path).write_documents([Document(id="H4", content="Pets.")])
    assert ids(again.run("pets")) == ["H4"]
    assert len(builds) == 3


def test_an_index_that_cannot_be_kept_is_used_from_memory(filled, monkeypatch, caplog):
    def full(*_):
        raise StoreError("the disk is full.")

    monkeypatch.setattr(filled, "save_blob", full)
    assert ids(StatuteBM25Retriever(filled).run("rent")) == ["H3"]
    assert "the disk is full." in caplog.text


def test_empty_stores_and_unusual_metadata(store, in_memory):
    assert store.count_documents() == 0  # which makes the file
    assert StatuteBM25Retriever(store).run("rent") == {"documents": [], "expansions": {}}
    metas = {"headings": "Repairs", "language": 3}, {"headings": [7, None, "Repairs"]}
    odd = [Document(id=str(n), content="x", meta=meta) for n, meta in enumerate(metas)]
    store.write_documents(odd)
    for filled in (store, in_memory(odd)):
        retriever = StatuteBM25Retriever(filled)
        assert ids(retriever.run("repairs")) == ["0", "1"]
        assert ids(retriever.run("none r")) == []


# A file that is replaced while it is open


def new_file(path, text):
    made = StatuteDocumentStore(path)
    made.write_documents([Document(id=text, content=f"{text} rent")])
    made.close()
    return path


def remove_log(path):
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def test_a_file_that_is_deleted_and_created_again_is_followed(filled):
    path = Path(filled.path)
    retriever = StatuteBM25Retriever(filled)
    assert ids(retriever.run("rent")) == ["H3"]
    path.unlink()
    assert ids(retriever.run("rent")) == ["H3"]  # what is open still answers
    assert not path.exists()
    new_file(path, "new")
    assert ids(retriever.run("rent")) == ["new"]
    # Copies of one store can have the same version.
    copies = [new_file(path.with_name(f"{name}.db"), name) for name in ("one", "two")]
    for copy in copies:
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("UPDATE facts SET value = 7 WHERE key = 'content_version'")
            connection.commit()
    for copy in copies:
        remove_log(path)
        copy.replace(path)
        assert ids(retriever.run("rent")) == [copy.stem]


def test_the_log_of_an_open_file_is_not_applied_to_another(filled, caplog):
    path = Path(filled.path)
    retriever = StatuteBM25Retriever(filled)
    retriever.warm_up()  # its index is in the log
    new_file(path.with_name("new.db"), "new").replace(path)
    with caplog.at_level(logging.WARNING):
        assert ids(retriever.run("rent")) == ids(retriever.run("rent")) == ["H3"]
    assert caplog.text.count("law.db-shm") == 1
    remove_log(path)
    assert ids(retriever.run("rent")) == ["new"]
    filled.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# Lay words


LIST = [LayEntry(["sublet"], ["roof tight", "mortgage"], [], "")]


def test_what_people_say_is_searched_in_the_laws_words(filled):
    retriever = StatuteBM25Retriever(filled)
    assert retriever.run("sublet the household") == {
        "documents": retriever.run("household")["documents"],
        "expansions": {},
    }
    assert keep_lay_words(filled, LIST).n_used == 1
    found = retriever.run("sublet the household")
    assert found["expansions"] == {"sublet": ["roof tight"]}
    # A term that was added counts .6 of one that was asked.
    own, added = (retriever.run(each)["documents"][0] for each in ("household", "roof tight"))
    assert {each.id: each.score for each in found["documents"]} == pytest.approx(
        {own.id: own.score, added.id: 0.6 * added.score}
    )
    left_out = retriever.run("sublet the household", expand=False)
    assert (ids(left_out), left_out["expansions"]) == ([own.id], {})


def test_a_list_is_followed_and_an_empty_one_removes_it(filled):
    retriever = StatuteBM25Retriever(filled)
    keep_lay_words(filled, LIST)
    assert ids(retriever.run("sublet")) == ["H1"]
    copied = deepcopy(retriever)
    assert ids(copied.run("sublet")) == ["H1"]
    other = [LayEntry(["sublet"], ["divorce", "lease"], [], "")]
    keep_lay_words(filled, other)
    assert ids(retriever.run("sublet")) == ids(copied.run("sublet")) == ["F2"]
    # A law that changes may have other words of the list.
    filled.write_documents([Document(id="H4", content="A lease of a roof.")])
    assert ids(retriever.run("sublet")) == ["F2", "H4"]
    keep_lay_words(filled, [])
    assert retriever.run("sublet") == {"documents": [], "expansions": {}}


def test_a_damaged_list_is_refused(filled):
    keep_lay_words(filled, LIST)
    filled.save_blob("lay-words", "1", b'[["x"]]')
    with pytest.raises(StoreError, match=filled.path):
        StatuteBM25Retriever(filled).run("sublet")
