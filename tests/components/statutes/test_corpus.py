"""Reading corpora and questions: everything wrong is named, nothing is lost silently."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import threading
from datetime import date

import pytest
from law_files import article, line, write

from components.statutes import (
    Article,
    CorpusError,
    Problem,
    StatuteCorpus,
    iter_articles,
    read_questions,
)

# Each: the second of three lines, the field it names, a part of the message, a part of the repair.
BAD_ARTICLES = {
    "no JSON": (b'{"id": "a2",\n', None, "is not JSON", "one JSON object a line"),
    "a list": (b"[1]\n", None, "is a list, not an object", "one JSON object a line"),
    "nested too deep": (b"[" * 100_000 + b"\n", None, "is not JSON", "one JSON object a line"),
    "a number too long": (b'{"id": ' + b"1" * 5000 + b"}\n", None, "is not JSON", "one JSON"),
    "a key twice": (b'{"id": "a2", "id": "a3"}\n', None, "the field 'id' twice", "Keep one"),
    "half a character": (b'{"id": "\\ud83d"}\n', None, "surrogate", "Write the character"),
    "not UTF-8": (b'{"id": "caf\xe9"}\n', None, "is not UTF-8 text (it holds the byte 0xe9)", "Sa"),
    "id missing": (line(article(id_=...)), "id", "is missing", "an id of its own"),
    "id empty": (line(article("")), "id", "is empty", "an id of its own"),
    "id a number": (line(article(7)), "id", "is a number, not text", "in quotes"),
    "id with a newline": (line(article("a\n2")), "id", "control character", "Take it out"),
    "id repeated": (line(article("a1")), "id", "'a1' is already the id of line 1", "its own id"),
    "law missing": (line(article("a2", law=...)), "law", "is missing", "Name the code or act"),
    "law only spaces": (line(article("a2", law="  ")), "law", "is empty", "Name the code or act"),
    "number null": (line(article("a2", number=None)), "number", "is null, not text", "in quotes"),
    "headings missing": (
        line(article("a2", headings=...)),
        "headings",
        "is missing",
        "or write []",
    ),
    "headings no list": (
        line(article("a2", headings="Book I")),
        "headings",
        "is text, not a list of texts",
        "or write []",
    ),
    "heading a number": (
        line(article("a2", headings=["Book I", 2])),
        "headings",
        "entry 2 is a number, not text",
        "or write []",
    ),
    "heading empty": (line(article("a2", headings=[""])), "headings", "entry 1 is empty", "Fill"),
    "text empty": (line(article("a2", text="")), "text", "is empty", "Give the article its words"),
    "text with NUL": (line(article("a2", text="a\0b")), "text", "U+0000", "Take it out"),
    "language an object": (line(article("a2", language={})), "language", "is an object", "quotes"),
    "date in words": (
        line(article("a2", valid_from="1 May 2020")),
        "valid_from",
        "'1 May 2020' is no date",
        "YYYY-MM-DD",
    ),
    "date that never was": (
        line(article("a2", valid_to="2023-02-29")),
        "valid_to",
        "'2023-02-29' is no date",
        "YYYY-MM-DD",
    ),
    "date as a week": (line(article("a2", valid_to="2023-W05")), "valid_to", "is no date", "YYYY"),
    "date a number": (line(article("a2", valid_from=2020)), "valid_from", "is a number", "YYYY"),
    "ends before it starts": (
        line(article("a2", valid_from="2021-01-01", valid_to="2020-12-31")),
        "valid_to",
        "2020-12-31 is before valid_from, 2021-01-01",
        "last day in force",
    ),
}


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("bad", "field", "message", "repair"), BAD_ARTICLES.values(), ids=BAD_ARTICLES
)
def test_a_bad_line_is_named_with_file_line_field_and_repair(
    tmp_path, bad, field, message, repair, suffix
):
    path = write(
        tmp_path / f"articles.jsonl{suffix}", line(article("a1")), bad, line(article("a9"))
    )
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(path)
    (problem,) = raised.value.problems
    assert (problem.file, problem.line, problem.field) == (str(path), 2, field)
    assert message in problem.message
    assert repair in problem.repair
    named = f"{path}:2: " + (f"field '{field}': " if field else "")
    assert str(raised.value) == str(problem)
    assert str(problem).startswith(named)

    corpus = StatuteCorpus.read(path, skip_bad=True)
    assert corpus.ids == ["a1", "a9"]
    assert corpus.problems == [problem]
    assert corpus.left_out == 1


def test_everything_wrong_is_said_at_once_and_a_line_counts_once(tmp_path):
    path = write(
        tmp_path / "articles.jsonl",
        line({"id": "a1"}),
        b"not json\n",
        line(article("a2")),
        line(article("a2")),
    )
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(path)
    places = [(problem.line, problem.field) for problem in raised.value.problems]
    assert places == [
        (1, "law"),
        (1, "number"),
        (1, "headings"),
        (1, "text"),
        (2, None),
        (4, "id"),
    ]
    assert "6 problems" in str(raised.value)
    corpus = StatuteCorpus.read(path, skip_bad=True)
    assert corpus.left_out == 3
    assert len(corpus.problems) == 6


@pytest.mark.parametrize("end", ["]\n", "]", ""])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_list_over_several_lines_is_one_fault(tmp_path, end, skip_bad):
    articles = [json.dumps(article(id_)) for id_ in ("a1", "a2")]
    content = "\n[" + ",\n".join(articles) + "\n" + end
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(write(tmp_path / "a.jsonl", content.encode()), skip_bad=skip_bad)
    (problem,) = raised.value.problems
    assert problem.line == 2
    assert "starts a list that is not closed on this line" in problem.message
    assert "one JSON object a line, without the list" in problem.repair


def test_a_long_list_of_problems_is_cut_and_counted():
    problems = [Problem("f", n, None, "is bad", "Mend it.") for n in range(1, 24)]
    text = str(CorpusError(problems))
    assert "f:20: is bad. Mend it." in text
    assert "f:21:" not in text
    assert "... and 3 more" in text


def test_a_corpus_error_survives_pickling():
    error = CorpusError([Problem("f", 1, "id", "is bad", "Mend it.")])
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_an_empty_file_is_an_error_even_when_skipping(tmp_path, content, skip_bad):
    path = write(tmp_path / "articles.jsonl", content)
    with pytest.raises(CorpusError, match="holds no article"):
        StatuteCorpus.read(path, skip_bad=skip_bad)


def test_a_file_with_no_readable_article_is_an_error_even_when_skipping(tmp_path):
    path = write(tmp_path / "articles.jsonl", b"x\n")
    with pytest.raises(CorpusError, match="is not JSON"):
        StatuteCorpus.read(path, skip_bad=True)


@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_gz_cut_short_is_refused_even_when_skipping(tmp_path, skip_bad):
    path = tmp_path / "articles.jsonl.gz"
    # Text that does not compress, so that half of the bytes hold about half of the lines.
    whole = gzip.compress(b"".join(line(article(f"a{n * 7919 % 100_003}")) for n in range(20_000)))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match="the gzip data breaks off here") as raised:
        StatuteCorpus.read(path, skip_bad=skip_bad)
    (problem,) = raised.value.problems
    assert 1 < problem.line < 20_000


@pytest.mark.parametrize("rest", [b'{"id": "a3", "te', b'{"id": "caf\xc3'])
def test_a_last_line_cut_short_is_refused_even_when_skipping(tmp_path, rest):
    path = write(tmp_path / "articles.jsonl", line(article("a1")), b"not json\n", rest)
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(path, skip_bad=True)
    assert [problem.line for problem in raised.value.problems] == [3]
    with pytest.raises(CorpusError, match=r"articles\.jsonl:2"):
        StatuteCorpus.read(path)


def test_a_gz_with_damaged_bytes_is_named(tmp_path):
    path = write(tmp_path / "articles.jsonl.gz", line(article("a1")))
    damaged = bytearray(path.read_bytes())
    damaged[-5] ^= 0xFF  # the checksum
    path.write_bytes(damaged)
    with pytest.raises(CorpusError, match="the gzip data breaks off here"):
        StatuteCorpus.read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=write, args=(pipe, line(article("a1"))))
    writing.start()
    assert StatuteCorpus.read(pipe).ids == ["a1"]
    writing.join()


def test_gzip_is_told_by_its_bytes_not_its_name(tmp_path):
    packed = tmp_path / "articles.jsonl"
    packed.write_bytes(gzip.compress(line(article("a1"))))
    plain = tmp_path / "plain.gz"
    plain.write_bytes(line(article("a1")))
    assert StatuteCorpus.read(packed).ids == StatuteCorpus.read(plain).ids == ["a1"]


def test_a_byte_order_mark_windows_lines_and_blank_lines_are_read(tmp_path):
    first, second = (line(article(id_)).replace(b"\n", b"\r\n") for id_ in ("a1", "a2"))
    path = write(tmp_path / "articles.jsonl", b"\xef\xbb\xbf", first, b"\r\n", second.rstrip())
    assert [number for number, _ in iter_articles(path)] == [1, 3]


def test_every_field_of_an_article_is_read(tmp_path):
    fields = {
        "headings": ["Book I", "Title II"],
        "language": "fr",
        "valid_from": "2020-01-01",
        "valid_to": "2024-12-31",
        "source_url": "https://example.org/a1",
    }
    path = write(tmp_path / "articles.jsonl", line(article("a1", **fields)))
    (read,) = StatuteCorpus.read(path)
    assert read == Article(
        id="a1",
        law="Housing Code",
        number="a1.",
        headings=("Book I", "Title II"),
        text="Words.",
        language="fr",
        valid_from=date(2020, 1, 1),
        valid_to=date(2024, 12, 31),
        source_url="https://example.org/a1",
    )
    assert read.to_json() == article("a1", **fields)


def test_null_in_an_optional_field_is_absence(tmp_path):
    path = write(tmp_path / "articles.jsonl", line(article("a1", language=None, valid_to=None)))
    (read,) = StatuteCorpus.read(path)
    assert (read.language, read.valid_to) == (None, None)


def test_an_unknown_field_is_noticed_once_with_a_suggestion(tmp_path):
    lines = [line(article(f"a{n}", valid_form="2020-01-01")) for n in range(3)]
    corpus = StatuteCorpus.read(write(tmp_path / "articles.jsonl", *lines))
    (notice,) = corpus.problems
    assert notice.notice
    assert (notice.line, notice.field, notice.left_out) == (1, "valid_form", 0)
    assert "Did you mean 'valid_from'?" in str(notice)
    assert corpus.left_out == 0


def test_numbers_repeated_in_a_law_are_noticed_at_the_first_repeat(tmp_path):
    path = write(
        tmp_path / "articles.jsonl",
        line(article("a1", number="1")),
        line(article("b1", number="1", law="Work Code")),
        line(article("a2", number="1")),
        line(article("a3", number="1")),
    )
    (notice,) = StatuteCorpus.read(path).problems
    assert notice.notice
    assert (notice.line, notice.field) == (3, "number")
    assert "1 number stands more than once" in notice.message
    assert "'1' of 'Housing Code'" in notice.message


def test_streaming_yields_lines_and_collects_problems_as_it_goes(tmp_path):
    path = write(tmp_path / "articles.jsonl", line(article("a1")), b"x\n", line(article("a2")))
    problems: list[Problem] = []
    stream = iter_articles(path, skip_bad=True, problems=problems)
    assert next(stream)[0] == 1
    assert problems == []
    assert next(stream)[0] == 3
    assert [problem.line for problem in problems] == [2]


def test_streaming_stops_yielding_at_the_first_fault_and_raises_at_the_end(tmp_path):
    path = write(
        tmp_path / "articles.jsonl", line(article("a1")), b"x\n", line(article("a2")), b"y\n"
    )
    stream = iter_articles(path)
    assert next(stream)[1].id == "a1"
    with pytest.raises(CorpusError) as raised:
        next(stream)
    assert [problem.line for problem in raised.value.problems] == [2, 4]


def test_an_open_file_is_read_like_a_path():
    stream = io.BytesIO(gzip.compress(line(article("a1")) + b"x\n"))
    stream.name = "upload.jsonl.gz"  # type: ignore[attr-defined]
    problems: list[Problem] = []
    assert [a.id for _, a in iter_articles(stream, skip_bad=True, problems=problems)] == ["a1"]
    assert str(problems[0]).startswith("upload.jsonl.gz:2: is not JSON")


def test_a_corpus_finds_articles_by_position_id_and_law():
    articles = [
        Article(id_, law, "1", (), "Words.")
        for id_, law in [("x", "Law B"), ("y", "Law A"), ("z", "Law B")]
    ]
    corpus = StatuteCorpus(articles)
    assert (len(corpus), corpus[1], corpus[-1], corpus[1:]) == (
        3,
        articles[1],
        articles[2],
        articles[1:],
    )
    assert corpus.ids == ["x", "y", "z"]
    assert corpus.laws == ["Law B", "Law A"]
    assert corpus.positions_of("Law B").tolist() == [0, 2]
    assert corpus.position("z") == 2
    with pytest.raises(KeyError, match="no article of the corpus has the id 'w'"):
        corpus.position("w")
    with pytest.raises(KeyError, match="no article of the corpus stands in the law 'Law C'"):
        corpus.positions_of("Law C")


def test_a_corpus_refuses_two_articles_with_one_id():
    twin = Article("x", "Law", "1", (), "Words.")
    with pytest.raises(CorpusError, match="'x' is already the id of line 1"):
        StatuteCorpus([twin, twin])


def test_the_digest_follows_content_and_order_not_format(tmp_path):
    spaced = json.dumps(article("é"), indent=None, separators=(" ,  ", " :  ")).encode() + b"\n"
    plain = StatuteCorpus.read(write(tmp_path / "a.jsonl", line(article("é")), line(article("b"))))
    packed = StatuteCorpus.read(write(tmp_path / "b.jsonl.gz", spaced, line(article("b"))))
    swapped = StatuteCorpus(reversed(plain.articles))
    assert plain.sha256 == packed.sha256
    assert plain.sha256 != swapped.sha256


@pytest.mark.parametrize(
    ("name", "n_articles"),
    [
        ("pdpa_en", 315),
        ("obliqa_en", 13_012),
        ("stard_zh", 57_755),
        ("code_du_travail_fr", 10_686),
        ("bsard_livre1_fr", 536),
    ],
)
def test_real_law_is_read_whole(real_data, name, n_articles):
    corpus = StatuteCorpus.read(real_data(name))
    assert (len(corpus), corpus.left_out) == (n_articles, 0)
    questions = read_questions(real_data(name), corpus_ids=corpus.ids)
    assert (questions.left_out, questions.repeated_relevant) == (0, 0)
