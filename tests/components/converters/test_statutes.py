"""Files of law become documents: every format, in order, with nothing lost silently."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import ByteStream

from components.converters.statutes import StatuteConverter
from components.statutes.problems import CorpusError

FIRST = {
    "id": "h1",
    "law": "Housing Code",
    "number": "1",
    "headings": ["Repairs", "Roofs"],
    "text": "The landlord keeps the roof tight.",
    "language": "en",
    "valid_from": "2001-02-03",
    "source_url": "https://example.org/h1",
}
SECOND = {"id": "h2", "law": "Housing Code", "number": "2", "headings": [], "text": "Rent is due."}


def lines(*articles: dict[str, Any]) -> bytes:
    return "".join(json.dumps(each) + "\n" for each in articles).encode()


@pytest.fixture
def native(tmp_path: Path) -> Path:
    path = tmp_path / "articles.jsonl"
    path.write_bytes(lines(FIRST, SECOND))
    return path


def test_an_article_becomes_a_document(native: Path) -> None:
    first, second = StatuteConverter().run([native])["documents"]
    assert (first.id, first.content) == ("h1", FIRST["text"])
    assert first.meta == {
        "law": "Housing Code",
        "number": "1",
        "headings": ["Repairs", "Roofs"],
        "language": "en",
        "valid_from": "2001-02-03",
        "source_url": "https://example.org/h1",
        "position": 0,
        "law_articles": 2,
    }
    assert second.meta == {
        "law": "Housing Code",
        "number": "2",
        "headings": [],
        "position": 1,
        "law_articles": 2,
    }


def test_folders_gzip_and_byte_streams_read_alike(native: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    (packed / "articles.jsonl.gz").write_bytes(gzip.compress(native.read_bytes()))
    converter = StatuteConverter()
    expected = converter.run([native])["documents"]
    for source in (
        str(native),
        packed,
        ByteStream(native.read_bytes()),
        ByteStream(gzip.compress(native.read_bytes())),
    ):
        assert converter.run([source])["documents"] == expected


def test_tables_of_bsard_and_soict(tmp_path: Path) -> None:
    bsard, soict = tmp_path / "bsard", tmp_path / "soict"
    bsard.mkdir()
    soict.mkdir()
    (bsard / "articles_fr.csv").write_text(
        "id,reference,article,law_type,code,book,part,act,chapter,section,subsection,description\n"
        '7,"Art. 12, Code Civil (Livre I)",Le bail est un contrat.,national,Code Civil,'
        "Livre I,,,Chapitre 2,,,\n"
    )
    (soict / "corpus.csv").write_text("text,cid\nNgười thuê nhà trả tiền.,5\n,6\n")
    first, second = StatuteConverter().run([bsard, soict])["documents"]
    assert (first.id, first.meta["number"], first.meta["headings"]) == (
        "7",
        "12",
        ["Livre I", "Chapitre 2"],
    )
    assert (second.id, second.meta["language"], second.meta["position"]) == ("5", "vi", 1)


def test_the_demo_law_comes_by_name(aldermere_articles: Path) -> None:
    if not aldermere_articles.is_file():
        pytest.fail(f"the demo law is not at {aldermere_articles}")
    documents = StatuteConverter().run(["aldermere"])["documents"]
    assert len(documents) >= 260
    assert [document.meta["position"] for document in documents] == list(range(len(documents)))


def test_positions_go_on_over_sources_and_their_ids_must_differ(
    native: Path, tmp_path: Path
) -> None:
    more = ByteStream(lines({**SECOND, "id": "h3"}), meta={"file_path": "more.jsonl"})
    documents = StatuteConverter().run([native, more])["documents"]
    assert [(each.id, each.meta["position"]) for each in documents] == [
        ("h1", 0),
        ("h2", 1),
        ("h3", 2),
    ]
    with pytest.raises(CorpusError, match=r"'h1' is already the id.*earlier source"):
        StatuteConverter().run([native, native])


def test_each_article_says_how_many_its_law_has_in_all_sources(native: Path) -> None:
    other = {**SECOND, "id": "f1", "law": "Family Code"}
    third = {**SECOND, "id": "h3"}
    documents = StatuteConverter().run([native, ByteStream(lines(other, third))])["documents"]
    assert {each.id: each.meta["law_articles"] for each in documents} == {
        "h1": 3,
        "h2": 3,
        "f1": 1,
        "h3": 3,
    }


def test_meta_is_added_but_never_in_place_of_the_articles_own(native: Path) -> None:
    stream = ByteStream(native.read_bytes(), meta={"file_path": "law.jsonl"})
    converter = StatuteConverter()
    first = converter.run([stream], meta={"edition": "2024"})["documents"][0]
    assert (first.meta["edition"], first.meta["file_path"]) == ("2024", "law.jsonl")
    each = converter.run([native], meta=[{"edition": "2023"}])["documents"]
    assert [document.meta["edition"] for document in each] == ["2023", "2023"]
    with pytest.raises(ValueError, match=r"holds 'valid_to', which the articles say themselves"):
        converter.run([native], meta={"valid_to": "1999-01-01"})
    with pytest.raises(ValueError, match="length of the metadata list"):
        converter.run([native], meta=[{}, {}])


def test_bad_input_is_refused_by_place_or_left_out_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = lines(FIRST) + b'{"id": "h9", \n' + lines({**SECOND, "text": " "}, SECOND)
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    for source, name in ((path, str(path)), (ByteStream(content, {"file_path": "s"}), "s")):
        with pytest.raises(CorpusError) as refused:
            StatuteConverter().run([source])
        assert f"{name}:2: " in str(refused.value)
        assert f"{name}:3: field 'text': is empty" in str(refused.value)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            documents = StatuteConverter(skip_bad=True).run([source])["documents"]
        assert [document.id for document in documents] == ["h1", "h2"]
        assert f"{name}:2: " in caplog.text and f"{name}:3: " in caplog.text


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        StatuteConverter().run([tmp_path / "nowhere.jsonl"])


@pytest.mark.parametrize("sources", ["aldermere", Path("law.jsonl"), ByteStream(b"{}"), None])
def test_one_source_in_place_of_a_list_is_refused(sources: Any) -> None:
    with pytest.raises(TypeError, match=r"sources must be a list .* got .*Put brackets around"):
        StatuteConverter().run(sources)


def test_no_two_documents_share_what_is_added(native: Path) -> None:
    documents = StatuteConverter().run([native], meta={"tags": ["x"]})["documents"]
    documents[0].meta["tags"].append("the first alone")
    assert documents[1].meta["tags"] == ["x"]
