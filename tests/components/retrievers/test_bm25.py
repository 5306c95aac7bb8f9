"""The BM25 retriever over stores: kept with them, following them, the same in every process."""

from __future__ import annotations

import gc
import logging
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.errors import FilterError

from components.converters.statutes import StatuteConverter
from components.evaluators.retrieval import RetrievalEvaluator
from components.models.lexical_index import LexicalIndex
from components.retrievers import bm25
from components.retrievers.bm25 import StatuteBM25Retriever
from components.statutes.corpus import read_questions
from components.statutes.question import QuestionError
from components.stores.failures import StoreError
from components.stores.sqlite import StatuteDocumentStore

REPOSITORY = Path(__file__).resolve().parents[3]

ARTICLES = [
    ("Housing Code", "1", ["Repairs"], "The landlord keeps the roof tight."),
    ("Housing Code", "2", ["Repairs"], "The tenant reports a leak at once."),
    ("Housing Code", "3", ["Rent"], "Rent is due on the first day."),
    ("Family Code", "1", ["Marriage"], "Spouses share the household."),
    ("Family Code", "2", ["Divorce"], "A divorce ends the marriage."),
]


def documents() -> list[Document]:
    return [
        Document(
            id=f"{law[0]}{number}",
            content=text,
            meta={
                "law": law,
                "number": number,
                "headings": headings,
                "position": position,
                "language": "en",
            },
        )
        for position, (law, number, headings, text) in enumerate(ARTICLES)
    ]


@pytest.fixture
def filled(store: StatuteDocumentStore) -> StatuteDocumentStore:
    store.write_documents(documents()[::-1])
    return store


def ids(found: dict[str, list[Document]]) -> list[str]:
    return [document.id for document in found["documents"]]


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with every index that is built from texts."""
    counted: list[int] = []
    build = LexicalIndex.build

    def counting(*args: Any, **kwargs: Any) -> LexicalIndex:
        counted.append(1)
        return build(*args, **kwargs)

    monkeypatch.setattr(bm25.LexicalIndex, "build", counting)
    return counted


def test_headings_are_searched_with_the_text(filled: StatuteDocumentStore) -> None:
    found = StatuteBM25Retriever(filled).run("Who repairs a leaking roof?")
    assert ids(found) == ["H1", "H2"]
    assert all(document.embedding is None for document in found["documents"])
    scores = [document.score or 0 for document in found["documents"]]
    assert scores == sorted(scores, reverse=True) and min(scores) > 0


def test_haystacks_own_store_gives_the_same(
    filled: StatuteDocumentStore, in_memory: Callable[[list[Document]], InMemoryDocumentStore]
) -> None:
    ours = StatuteBM25Retriever(filled)
    theirs = StatuteBM25Retriever(in_memory(documents()[::-1]))
    for question in ("marriage", "the household of spouses", "rent roof leak"):
        one, other = ours.run(question)["documents"], theirs.run(question)["documents"]
        assert one and [(d.id, d.score, d.meta) for d in one] == [
            (d.id, d.score, d.meta) for d in other
        ]


def test_filters_and_top_k(filled: StatuteDocumentStore) -> None:
    family = {"field": "meta.law", "operator": "==", "value": "Family Code"}
    retriever = StatuteBM25Retriever(filled, filters=family, top_k=1)
    question = "marriage, rent, roof"
    assert ids(retriever.run(question, top_k=5)) == ["F1", "F2"]
    assert len(ids(retriever.run(question))) == 1
    assert ids(retriever.run(question, top_k=0)) == []
    assert ids(retriever.run(question, {**family, "operator": "!="}, 5)) == ["H3", "H1"]
    assert len(ids(retriever.run(question, {}, 5))) == 4
    with pytest.raises(FilterError):
        retriever.run(question, {"field": "meta.law"})


def test_the_index_is_kept_with_the_store(filled: StatuteDocumentStore, builds: list[int]) -> None:
    first = StatuteBM25Retriever(filled)
    found = first.run("marriage")["documents"]
    first.warm_up()
    del first
    gc.collect()
    again = StatuteBM25Retriever(StatuteDocumentStore(filled.path)).run("marriage")["documents"]
    assert again == found
    assert len(builds) == 1


def test_retrievers_of_one_file_share_one_index(
    filled: StatuteDocumentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = StatuteBM25Retriever(filled), StatuteBM25Retriever(filled, top_k=3)
    one.warm_up()
    other.warm_up()
    assert one._index() is other._index()
    assert one._index() is not StatuteBM25Retriever(filled, k1=2.5, b=0.2)._index()


def test_a_changed_store_or_parameter_builds_anew(
    filled: StatuteDocumentStore, builds: list[int]
) -> None:
    retriever = StatuteBM25Retriever(filled)
    assert ids(retriever.run("pets")) == []
    other = StatuteDocumentStore(filled.path)
    other.write_documents([Document(id="H4", content="Pets are allowed.", meta={"position": 9})])
    assert ids(retriever.run("pets")) == ["H4"]
    assert len(builds) == 2
    StatuteBM25Retriever(filled, k1=2.5, b=0.2).warm_up()
    assert len(builds) == 3


def test_a_stored_index_that_makes_no_sense_is_built_anew(
    filled: StatuteDocumentStore, builds: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    retriever = StatuteBM25Retriever(filled)
    expected = retriever.run("marriage")["documents"]
    kept = filled.load_blob("bm25/1.5/0.75")
    assert kept is not None
    del retriever
    gc.collect()
    filled.save_blob("bm25/1.5/0.75", kept[0], kept[1][: len(kept[1]) // 2])
    assert StatuteBM25Retriever(filled).run("marriage")["documents"] == expected
    assert len(builds) == 2
    assert "It is built again" in caplog.text
    assert filled.load_blob("bm25/1.5/0.75") == kept


def test_an_index_that_cannot_be_kept_serves_from_memory(
    filled: StatuteDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_: Any) -> None:
        raise StoreError("the disk is full.")

    monkeypatch.setattr(filled, "save_blob", full)
    assert ids(StatuteBM25Retriever(filled).run("rent")) == ["H3"]
    assert "serves from memory only. the disk is full." in caplog.text


def test_processes_at_once_leave_one_sound_index(
    filled: StatuteDocumentStore, builds: list[int]
) -> None:
    script = (
        "import sys; from components.retrievers.bm25 import StatuteBM25Retriever as R;"
        "from components.stores.sqlite import StatuteDocumentStore as S;"
        "print([d.id for d in R(S(sys.argv[1])).run('marriage rent')['documents']])"
    )
    command = [sys.executable, "-c", script, str(filled.path)]
    running = [
        subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=120)[0] for process in running]
    found = ids(StatuteBM25Retriever(filled).run("marriage rent"))
    assert answers == [f"{found}\n"] * 2
    assert builds == []


@pytest.mark.parametrize("question", ["", "   ", "\x00\x07", "x" * 20_000_000, 7, None])
def test_what_is_no_question_is_refused(filled: StatuteDocumentStore, question: Any) -> None:
    with pytest.raises(QuestionError):
        StatuteBM25Retriever(filled).run(question)


def test_parameters_are_checked(store: StatuteDocumentStore) -> None:
    for bad in (
        *({"k1": k1} for k1 in (-1, float("nan"), "1.5", None)),
        *({"b": b} for b in (1.1, float("nan"), "0.75", True)),
        {"top_k": 0},
    ):
        with pytest.raises(ValueError, match=rf"StatuteBM25Retriever\.{next(iter(bad))} must be"):
            StatuteBM25Retriever(store, **bad)


def test_an_empty_store_finds_nothing(store: StatuteDocumentStore) -> None:
    assert StatuteBM25Retriever(store).run("rent") == {"documents": []}


def test_real_law_is_found_as_well_as_untuned_bm25_can(
    store: StatuteDocumentStore, real_data: Callable[[str], Path]
) -> None:
    law = real_data("obliqa_en")
    store.write_documents(StatuteConverter().run([law])["documents"])
    questions = read_questions(law, split="dev")
    retriever = StatuteBM25Retriever(store)
    found = [retriever.run(question.text)["documents"] for question in questions]
    relevant = [list(question.relevant) for question in questions]
    measured = RetrievalEvaluator(["R@10"], depth=10).run(relevant, found)
    assert measured["score"] >= 0.77


@pytest.mark.parametrize("ours", [True, False])
def test_headings_and_languages_of_any_kind_are_read(
    store: StatuteDocumentStore,
    in_memory: Callable[[list[Document]], InMemoryDocumentStore],
    ours: bool,
) -> None:
    metas: list[dict[str, Any]] = [
        {"headings": "Repairs", "language": 3},
        {"headings": [7, None, "Repairs"]},
        {"headings": 7},
    ]
    odd = [Document(id=str(n), content="x", meta=meta) for n, meta in enumerate(metas)]
    filled = store if ours else in_memory(odd)
    if ours:
        store.write_documents(odd)
    retriever = StatuteBM25Retriever(filled)
    assert ids(retriever.run("repairs")) == ["0", "1"]
    assert ids(retriever.run("none r")) == []


def new_file(path: Path, text: str) -> Path:
    """A store of one article, closed."""
    made = StatuteDocumentStore(path)
    made.write_documents([Document(id=text, content=f"{text} rent")])
    made.close()
    return path


def without_log(path: str | None) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def test_a_file_that_is_deleted_and_made_again_is_followed(
    filled: StatuteDocumentStore, tmp_path: Path
) -> None:
    retriever = StatuteBM25Retriever(filled)
    assert ids(retriever.run("rent")) == ["H3"]
    (tmp_path / "law.db").unlink()
    assert ids(retriever.run("rent")) == ["H3"]  # what is open goes on answering
    assert not (tmp_path / "law.db").exists()
    new_file(tmp_path / "law.db", "new")
    assert ids(retriever.run("rent")) == ["new"]
    assert retriever._index() is StatuteBM25Retriever(filled)._index()


def test_a_file_put_in_the_place_of_the_open_one_is_followed(
    filled: StatuteDocumentStore, tmp_path: Path
) -> None:
    retriever = StatuteBM25Retriever(filled)
    retriever.warm_up()
    copies = [new_file(tmp_path / f"{name}.db", name) for name in ("one", "two")]
    for copy in copies:  # as copies of one store can be
        with sqlite3.connect(copy) as connection:
            connection.execute("UPDATE facts SET value = 7 WHERE key = 'content_version'")
        connection.close()
    for copy in copies:
        without_log(filled.path)
        copy.replace(tmp_path / "law.db")
        assert ids(retriever.run("rent")) == [copy.stem]
        assert StatuteDocumentStore(filled.path).count_documents() == 1


def test_an_open_files_log_is_not_taken_for_that_of_another(
    filled: StatuteDocumentStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = StatuteBM25Retriever(filled)
    retriever.warm_up()  # its index stands in the log
    new_file(tmp_path / "new.db", "new").replace(tmp_path / "law.db")
    with caplog.at_level(logging.WARNING):
        assert ids(retriever.run("rent")) == ids(retriever.run("rent")) == ["H3"]
    assert caplog.text.count("Delete law.db-wal and law.db-shm") == 1
    without_log(filled.path)
    assert ids(retriever.run("rent")) == ["new"]
    filled.close()
    with sqlite3.connect(tmp_path / "law.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
