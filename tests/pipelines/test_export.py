"""python -m pipelines.export: what a store holds, as a corpus."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from haystack import Document

from components.statutes.corpus import StatuteCorpus
from components.stores.sqlite import StatuteDocumentStore
from pipelines.command_line import DONE, FAILED, WRONG_USE
from pipelines.export import main
from pipelines.indexing import index_corpus


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "exported.jsonl"


def export(store: Path, output: Path) -> int:
    return main(["--store", str(store), "--output", str(output)])


@pytest.fixture
def written(tmp_path: Path):
    """Writes documents into a store of their own, as another program would."""

    def write(*documents: Document) -> Path:
        store = StatuteDocumentStore(tmp_path / "written.db")
        store.write_documents(list(documents))
        store.close()
        return tmp_path / "written.db"

    return write


def law(id_: str, content: str | None = "A rule.", **meta) -> Document:
    return Document(id=id_, content=content, meta={"law": "Code", "number": id_, **meta})


def test_laws_that_stand_mixed_in_their_file_come_out_as_they_went_in(
    tmp_path: Path, corpus: Path, output: Path, capsys: pytest.CaptureFixture[str]
):
    index_corpus(corpus, tmp_path / "law.db", model="none")
    assert export(tmp_path / "law.db", output) == DONE
    assert StatuteCorpus.read(output).articles == StatuteCorpus.read(corpus).articles
    assert capsys.readouterr().out == (
        f"{output}: 30 articles of 3 laws, the corpus that was indexed, unchanged\n"
    )


def test_a_name_that_ends_in_gz_is_written_gzipped(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
):
    index_corpus(corpus, tmp_path / "law.db", model="none")
    packed, again = tmp_path / "law.jsonl.gz", tmp_path / "again.jsonl.gz"
    assert export(tmp_path / "law.db", packed) == export(tmp_path / "law.db", again) == DONE
    assert gzip.decompress(packed.read_bytes()).count(b"\n") == 30
    assert packed.read_bytes() == again.read_bytes()
    assert StatuteCorpus.read(packed).sha256 == StatuteCorpus.read(corpus).sha256
    assert capsys.readouterr().out.count("unchanged") == 2


def test_every_field_of_the_demo_law_comes_out_as_it_went_in(tmp_path: Path, output: Path):
    index_corpus("aldermere", tmp_path / "law.db", model="none")
    assert export(tmp_path / "law.db", output) == DONE
    assert StatuteCorpus.read(output).sha256 == StatuteCorpus.read("aldermere").sha256


def test_days_languages_and_sources_are_kept(
    tmp_path: Path, write_corpus, make_article, output: Path
):
    fields = {
        "language": "fr",
        "valid_from": "1999-01-31",
        "valid_to": "2020-12-31",
        "source_url": "https://example.org/é",
        "headings": [],
        "text": "L’article dit\u2028ceci :\n\n« oui ».",
    }
    source = write_corpus(tmp_path / "law.jsonl", [make_article(1, **fields)])
    index_corpus(source, tmp_path / "law.db", model="none")
    assert export(tmp_path / "law.db", output) == DONE
    assert json.loads(output.read_text("utf-8")) == make_article(1, **fields)


def test_what_was_added_since_comes_out_too_and_is_not_called_the_corpus_of_before(
    tmp_path: Path, corpus: Path, output: Path, capsys: pytest.CaptureFixture[str]
):
    index_corpus(corpus, tmp_path / "law.db", model="none")
    store = StatuteDocumentStore(tmp_path / "law.db")
    store.write_documents([law("new")])
    store.close()
    assert export(tmp_path / "law.db", output) == DONE
    assert StatuteCorpus.read(output).ids[-1] == "new"
    assert capsys.readouterr().out == f"{output}: 31 articles of 4 laws\n"


def test_documents_without_text_are_left_out_and_counted(
    written, output: Path, capsys: pytest.CaptureFixture[str]
):
    assert export(written(law("a"), law("b", None)), output) == DONE
    assert StatuteCorpus.read(output).ids == ["a"]
    assert "1 documents without text are left out" in capsys.readouterr().err


def test_documents_that_are_no_articles_are_named_and_nothing_is_written(
    written, output: Path, capsys: pytest.CaptureFixture[str]
):
    days = {"valid_from": "2020-01-31", "valid_to": "1999-12-31"}
    store = written(law("a"), Document(id="b", content="Of no law."), law("c", **days))
    assert export(store, output) == FAILED
    error = capsys.readouterr().err
    assert f"{store}, document 'b': field 'law'" in error
    assert f"{store}, document 'c': field 'valid_to'" in error
    assert "document 'a'" not in error
    assert [each.name for each in output.parent.iterdir() if "exported" in each.name] == []


def test_a_file_that_is_there_is_left_as_it_is(
    written, output: Path, capsys: pytest.CaptureFixture[str]
):
    output.write_text("mine")
    assert export(written(law("a")), output) == WRONG_USE
    assert output.read_text() == "mine"
    assert f"{output} is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("store", "place", "says"),
    [
        ("none.db", "out.jsonl", "There is no store"),
        ("written.db", "none/out.jsonl", "there is no folder"),
        ("empty.db", "out.jsonl", "holds no article"),
    ],
)
def test_what_is_not_there_is_one_line(
    store: str, place: str, says: str, written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    written(law("a"))
    StatuteDocumentStore(tmp_path / "empty.db").count_documents()
    assert export(tmp_path / store, tmp_path / place) != DONE
    assert says in capsys.readouterr().err
    assert not (tmp_path / place).exists()
