"""Files of law become documents: every format, in order, with nothing lost silently."""

import gzip
import json
import logging

import pytest
from haystack.dataclasses import ByteStream

from components.converters.articles import headings_of, language_of, law_of, number_of
from components.converters.statutes import StatuteConverter
from components.statutes.sources.reading import CorpusError

FIRST = {
    "id": "h1",
    "law": "Housing Code",
    "number": "1",
    "headings": ["Repairs", "Roofs"],
    "text": "The landlord keeps the roof tight.",
    "language": "en",
    "valid_from": "2001-02-03",
    "source_url": "https://example.org/h1",
    "jurisdiction": "us/or",
}
SECOND = {"id": "h2", "law": "Housing Code", "number": "2", "headings": [], "text": "Rent is due."}


def lines(*articles):
    return "".join(json.dumps(each) + "\n" for each in articles).encode()


@pytest.fixture
def native(tmp_path):
    path = tmp_path / "articles.jsonl"
    path.write_bytes(lines(FIRST, SECOND))
    return path


def convert(*sources, **options):
    return StatuteConverter().run(list(sources), **options)["documents"]


def test_an_article_becomes_a_document(native, tmp_path):
    first, second = convert(native)
    assert (first.id, first.content) == ("h1", FIRST["text"])
    own = {name: value for name, value in FIRST.items() if name not in ("id", "text")}
    assert first.meta == own | {"position": 0, "law_articles": 2}
    bare = {"law": "Housing Code", "number": "2", "headings": []}
    assert second.meta == bare | {"position": 1, "law_articles": 2}
    packed = tmp_path / "packed"
    packed.mkdir()
    content = gzip.compress(native.read_bytes())
    (packed / "articles.jsonl.gz").write_bytes(content)
    for source in (str(native), packed, ByteStream(native.read_bytes()), ByteStream(content)):
        assert convert(source) == [first, second]


def test_positions_and_counts_go_over_all_sources(native):
    other, third = {**SECOND, "id": "f1", "law": "Family Code"}, {**SECOND, "id": "h3"}
    documents = convert(native, ByteStream(lines(other, third)))
    found = [(each.id, each.meta["position"], each.meta["law_articles"]) for each in documents]
    assert found == [("h1", 0, 3), ("h2", 1, 3), ("f1", 2, 1), ("h3", 3, 3)]
    with pytest.raises(CorpusError, match=r"articles\.jsonl: field 'id': 'h1'"):
        convert(native, native)


def test_laws_of_one_title_in_two_sources_are_told_apart():
    acts = [{**SECOND, "id": f"a{n}", "law_id": f"gb/200{n}/1"} for n in (3, 4)]
    documents = convert(*(ByteStream(lines(each)) for each in acts))
    found = [(each.meta["law"], each.meta["law_articles"]) for each in documents]
    assert found == [("Housing Code", 1), ("Housing Code (2004)", 1)]


def test_meta_is_added_but_never_replaces_the_articles_own(native):
    stream = ByteStream(native.read_bytes(), meta={"file_path": "law.jsonl"})
    first, second = convert(stream, meta={"edition": ["2024"]})
    assert (first.meta["edition"], first.meta["file_path"]) == (["2024"], "law.jsonl")
    first.meta["edition"].append("the first alone")
    assert second.meta["edition"] == ["2024"]
    each = convert(native, meta=[{"edition": "2023"}])
    assert [document.meta["edition"] for document in each] == ["2023", "2023"]
    for meta in ({"valid_to": "1999-01-01"}, [{}, {}]):
        with pytest.raises(ValueError):
            convert(native, meta=meta)


def test_bad_lines_are_refused_by_place_or_skipped_by_name(tmp_path, caplog):
    content = lines(FIRST) + b'{"id": "h9", \n' + lines({**SECOND, "text": " "}, SECOND)
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    for source, name in ((path, str(path)), (ByteStream(content, {"file_path": "s"}), "s")):
        with pytest.raises(CorpusError) as refused:
            convert(source)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            documents = StatuteConverter(skip_bad=True).run([source])["documents"]
        assert [document.id for document in documents] == ["h1", "h2"]
        for report in (str(refused.value), caplog.text):
            assert f"{name}:2: " in report
            assert f"{name}:3: field 'text'" in report
    with pytest.raises(CorpusError):
        convert(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    ("headings", "read"),
    [
        (["Book I", "Repairs"], ("Book I", "Repairs")),
        ("Repairs", ("Repairs",)),
        ([1, None, " ", "x"], ("1", "x")),
        (" ", ()),
        (None, ()),
        (7, ()),
        ({"Repairs": 1}, ()),
    ],
)
def test_headings_of_other_writers(headings, read):
    assert headings_of({"headings": headings}) == read


def test_law_number_and_language_of_other_writers():
    numbers = {"law": 5, "number": 0, "language": 3}
    assert (law_of(numbers), number_of(numbers), language_of(numbers)) == ("5", "0", "3")
    for nothing in ({}, dict.fromkeys(numbers), dict.fromkeys(numbers, "")):
        assert (law_of(nothing), number_of(nothing), language_of(nothing)) == ("", "", None)


def test_published_law_and_its_format(tmp_path):
    law = '---\ntitle: "Boats"\nidentifier: "B1"\ncountry: "fr"\n---\n##### Article 1\n\nRow.\n'
    (tmp_path / "boats.md").write_text(law)
    (tmp_path / "README.md").write_text("# Boats")
    (document,) = convert(tmp_path)
    assert (document.id, document.content, document.meta["law"]) == ("fr/B1:1", "Row.", "Boats")
    named = StatuteConverter(format="legalize")
    assert StatuteConverter.from_dict(named.to_dict()).format == "legalize"
    assert named.run([tmp_path])["documents"] == [document]
    with pytest.raises(CorpusError, match="clml"):
        StatuteConverter(format="clml").run([tmp_path])
