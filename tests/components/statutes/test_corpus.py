"""Reading corpora and questions: every fault is reported by file, line and field."""

import gzip
import io
import json
import pickle
from datetime import date
from functools import partial
from itertools import chain, repeat
from pathlib import Path

import pytest
from law_files import article, line, question, write
from statute_tables import TABLES

from components.statutes import (
    Article,
    CorpusError,
    Problem,
    Question,
    StatuteCorpus,
    iter_articles,
    read_questions,
)
from components.statutes.article import normalised
from components.statutes.corpus import with_languages
from components.statutes.sources.corpora import read_table
from components.statutes.sources.reading import LONGEST_LINE, Law, PublishedFormat, Unit

# The second of three lines, and the field that the report names.
BAD_ARTICLES = {
    "not JSON": (b'{"id": "a2",\n', None),
    "a list": (b"[1]\n", None),
    "nested too deep": (b"[" * 100_000 + b"\n", None),
    "a number too long": (b'{"id": ' + b"1" * 5000 + b"}\n", None),
    "a key twice": (b'{"id": "a2", "id": "a3"}\n', None),
    "half a surrogate pair": (b'{"id": "\\ud83d"}\n', None),
    "not UTF-8": (b'{"id": "caf\xe9"}\n', None),
    "id a number": (line(article(7)), "id"),
    "id with a newline": (line(article("a\n2", number="2")), "id"),
    "id repeated": (line(article("a1")), "id"),
    "law missing": (line(article("a2", law=...)), "law"),
    "number null": (line(article("a2", number=None)), "number"),
    "heading empty": (line(article("a2", headings=[""])), "headings"),
    "headings not a list": (line(article("a2", headings="Book I")), "headings"),
    "heading a number": (line(article("a2", headings=["Book I", 2])), "headings"),
    "text empty": (line(article("a2", text="")), "text"),
    "text invisible": (line(article("a2", text="\u200b\u2060\n")), "text"),
    "law with an escape": (line(article("a2", law="Rent\x1b[31m Act")), "law"),
    "number in two lines": (line(article("a2", number="1\n2")), "number"),
    "heading with an escape": (line(article("a2", headings=["Book\x9b I"])), "headings"),
    "address of a script": (line(article("a2", source_url="javascript:x")), "source_url"),
    "jurisdiction in capitals": (line(article("a2", jurisdiction="US/OR")), "jurisdiction"),
    "jurisdiction with a gap": (line(article("a2", jurisdiction="us//or")), "jurisdiction"),
    "jurisdiction a number": (line(article("a2", jurisdiction=7)), "jurisdiction"),
    "text with NUL": (line(article("a2", text="a\0b")), "text"),
    "language an object": (line(article("a2", language={})), "language"),
    "date in words": (line(article("a2", valid_from="1 May 2020")), "valid_from"),
    "date a number": (line(article("a2", valid_from=2020)), "valid_from"),
    "impossible date": (line(article("a2", valid_to="2023-02-29")), "valid_to"),
    "ends first": (line(article("a2", valid_from="2021-01-01", valid_to="2020-12-31")), "valid_to"),
}
BAD_QUESTIONS = {
    "text empty": (line(question("q2", text=" ")), "text"),
    "text invisible": (line(question("q2", text="\u200b")), "text"),
    "text too long": (line(question("q2", text="a" * 10_001)), "text"),
    "id repeated": (line(question("a1")), "id"),
    "relevant missing": (line(question("q2", relevant=...)), "relevant"),
    "relevant a text": (line(question("q2", relevant="a1")), "relevant"),
    "relevant empty": (line(question("q2", relevant=[])), "relevant"),
    "relevant unknown": (line(question("q2", relevant=["a1", "zz"])), "relevant"),
    "answerable a text": (line(question("q2", answerable="no")), "answerable"),
    "answerable denied": (line(question("q2", answerable=False)), "answerable"),
    "split unknown": (line(question("q2", split="validation")), "split"),
    "labels of another article": (line(question("q2", passages={"zz": ["1"]})), "passages"),
    "label of no paragraph": (line(question("q2", passages={"a1": ["1", "9"]})), "passages"),
}


def problems_of(read, *arguments, **options):
    with pytest.raises(CorpusError) as raised:
        read(*arguments, **options)
    return raised.value.problems


of_a1 = partial(read_questions, corpus_ids=["a1"], text_of={"a1": "(1) Rent is due."}.get)


FAULTS = {
    **{f"article: {name}": (StatuteCorpus.read, article, *b) for name, b in BAD_ARTICLES.items()},
    **{f"question: {name}": (of_a1, question, *b) for name, b in BAD_QUESTIONS.items()},
}


@pytest.mark.parametrize(("read", "record", "bad", "field"), FAULTS.values(), ids=FAULTS)
def test_a_bad_line_is_named_and_can_be_skipped(tmp_path, read, record, bad, field):
    packed = ".gz" if field == "text" else ""
    path = write(tmp_path / f"a.jsonl{packed}", line(record("a1")), bad, line(record("a9")))
    (problem,) = problems_of(read, path)
    assert (problem.file, problem.line, problem.field) == (str(path), 2, field)
    assert problem.repair
    assert str(problem).startswith(f"{path}:2: " + (f"field '{field}': " if field else ""))
    found = read(path, skip_bad=True)
    assert [each.id for each in found] == ["a1", "a9"]
    assert (found.problems, found.left_out) == ([problem], 1)


def test_all_problems_are_reported_at_once_and_a_line_counts_once(tmp_path):
    lines = line({"id": "a1"}), b"not json\n", line(article("a2")), line(article("a2"))
    path = write(tmp_path / "articles.jsonl", *lines)
    found = [(each.line, each.field) for each in problems_of(StatuteCorpus.read, path)]
    missing = [(1, field) for field in ("law", "number", "headings", "text")]
    assert found == [*missing, (2, None), (4, "id")]
    corpus = StatuteCorpus.read(path, skip_bad=True)
    assert (corpus.left_out, len(corpus.problems)) == (3, 6)


def test_an_error_lists_twenty_problems_and_can_be_pickled():
    error = CorpusError([Problem("f", n, None, "is bad", "Fix it.") for n in range(1, 24)])
    assert "f:20:" in str(error)
    assert "f:21:" not in str(error)
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


# Files that are refused even when bad lines may be skipped, and the line of the only problem.
REFUSED = {
    "empty": (b"", None),
    "blank": (b"\n \n", None),
    "no readable article": (b"x\n", 1),
    "a list over several lines": (b"\n[" + line(article()).rstrip() + b",\n" + b"{}]\n", 2),
    "UTF-16": (line(article()).decode().encode("utf-16"), 1),
    "UTF-16-LE": (line(article()).decode().encode("utf-16-le"), 1),
    "a last line cut short": (line(article()) + b'{"id": "a3", "te', 2),
    "a last character cut short": (line(article()) + b'{"id": "caf\xc3', 2),
    "a damaged checksum": (gzip.compress(line(article()))[:-5] + b"\0" * 5, None),
    "text called gzip": (b"Art. 1 Words.\n", 1),
}


@pytest.mark.parametrize(("content", "place"), REFUSED.values(), ids=REFUSED)
def test_an_unusable_file_is_refused_even_when_skipping(tmp_path, content, place):
    path = tmp_path / "articles.jsonl.gz"
    path.write_bytes(content)
    for skip_bad in (False, True):
        (problem,) = problems_of(StatuteCorpus.read, path, skip_bad=skip_bad)
        assert place in (None, problem.line)


def test_a_truncated_gzip_file_is_refused_where_it_ends(tmp_path):
    # Text that does not compress well, so that half of the bytes hold about half of the lines.
    whole = gzip.compress(b"".join(line(article(f"a{n * 7919 % 100_003}")) for n in range(5_000)))
    path = tmp_path / "articles.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    (problem,) = problems_of(StatuteCorpus.read, path, skip_bad=True)
    assert 1 < problem.line < 5_000
    assert problem.breaks_off


def test_gzip_byte_order_marks_and_line_ends_are_recognised_by_content(tmp_path):
    first, second = (line(article(id_)).replace(b"\n", b"\r\n") for id_ in ("a1", "a2"))
    content = b"\xef\xbb\xbf" + first + b"\r\n" + second.rstrip()
    for name, written in (("plain.gz", content), ("packed.jsonl", gzip.compress(content))):
        (tmp_path / name).write_bytes(written)
        assert [number for number, _ in iter_articles(tmp_path / name)] == [1, 3]


def test_every_field_of_an_article_is_read_and_written(tmp_path):
    fields = {
        "headings": ["Book I", "Title II"],
        "language": "fr",
        "valid_from": "2020-01-01",
        "valid_to": "2024-12-31",
        "source_url": "https://example.org/a1",
        "jurisdiction": "us/or/portland",
    }
    bare = line(article("a2", language=None, valid_to=None))
    path = write(tmp_path / "articles.jsonl", line(article("a1", **fields)), bare)
    full, plain = StatuteCorpus.read(path)
    days = date(2020, 1, 1), date(2024, 12, 31)
    assert (full.headings, full.language) == (("Book I", "Title II"), "fr")
    assert (full.valid_from, full.valid_to) == days
    assert full.to_json() == article("a1", **fields)
    assert plain == Article("a2", "Housing Code", "a2.", (), "Words.")
    assert plain.to_json() == article("a2")


@pytest.mark.parametrize(("start", "end", "day", "state"), TABLES["states"])
def test_the_first_and_the_last_day_count_as_in_force(start, end, day, state):
    dates = [each and date.fromisoformat(each) for each in (start, end)]
    dated = Article("1", "Code", "1", (), "Words.", None, *dates)
    assert dated.state(date.fromisoformat(day)) == state


@pytest.mark.parametrize(("start", "end", "state"), TABLES["states of stubs"])
def test_a_stub_without_a_last_day_is_repealed(start, end, state):
    dates = [each and date.fromisoformat(each) for each in (start, end)]
    stub = Article("1", "Code", "1", (), "(weggefallen)", None, *dates)
    assert stub.state(date(2022, 6, 1)) == state


def test_unknown_fields_and_repeated_numbers_are_noticed_once(tmp_path):
    lines = [line(article(f"a{n}", number="1", valid_form="2020-01-01")) for n in range(3)]
    other_law = line(article("b1", number="1", law="Work Code"))
    corpus = StatuteCorpus.read(write(tmp_path / "articles.jsonl", *lines, other_law))
    found = [(each.line, each.field, each.left_out, each.notice) for each in corpus.problems]
    assert found == [(1, "valid_form", 0, True), (2, None, 0, True)]
    assert corpus.left_out == 0


@pytest.mark.parametrize(("laws", "names"), TABLES["laws of one title"])
def test_laws_of_one_title_are_told_apart(tmp_path, laws, names):
    path = tmp_path / "articles.jsonl"
    pairs = [law.split("|") for law in laws]
    path.write_bytes(
        b"".join(
            line(article(f"a{n}", law=law, **({"law_id": id_} if id_ else {})))
            for n, (law, id_) in enumerate(pairs)
        )
    )
    corpus = StatuteCorpus.read(path)
    assert [each.law for each in corpus] == names
    assert [each.law for _, each in iter_articles(path)] == names
    renamed = not set(names) <= {law for law, _ in pairs}
    assert any(problem.field == "law" for problem in corpus.problems) == renamed


@pytest.mark.parametrize("version", ["", "@2004-05-06", "/enacted", "/enacted@2004-05-06"])
def test_versions_of_an_act_are_one_law(version):
    law, unit = Law(f"gb/2003/7{version}", "Fair Act"), Unit("s1", "1", 1)
    act = PublishedFormat("act", bool, lambda path, tally: (law, [(unit, "Words.")]))
    ((_, found),) = act.read(Path("act.xml"), [])
    assert found.law_id == "gb/2003/7"


def test_streaming_yields_articles_until_the_first_fault(tmp_path):
    lines = line(article("a1")), b"x\n", line(article("a2")), b"y\n"
    path = write(tmp_path / "articles.jsonl", *lines)
    problems = []
    stream = iter_articles(path, skip_bad=True, problems=problems)
    assert (next(stream)[0], problems) == (1, [])
    assert (next(stream)[0], [each.line for each in problems]) == (3, [2])
    strict = iter_articles(path)
    assert next(strict)[1].id == "a1"
    assert [each.line for each in problems_of(next, strict)] == [2, 4]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_an_open_file_is_read_by_its_name_and_left_open(pack):
    stream = io.BytesIO(pack(line(article("a1")) + b"x\n" + line(article("a2"))))
    stream.name = "upload.jsonl"
    for ids in (["a1"], ["a1", "a2"]):  # left in the middle, and read to the end
        stream.seek(0)
        problems = []
        reader = iter_articles(stream, skip_bad=True, problems=problems)
        assert [next(reader)[1].id for _ in ids] == ids
        reader.close()
        assert not stream.closed
    assert str(problems[0]).startswith("upload.jsonl:2:")
    with pytest.raises(CorpusError, match="'rb'"):
        list(iter_articles(io.StringIO("{}")))
    for read in (StatuteCorpus.read, read_questions):
        with pytest.raises(CorpusError, match="Give one file or folder"):
            read(["articles.jsonl"])


def test_a_corpus_finds_articles_by_position_id_and_law():
    laws = [("x", "Law B"), ("y", "Law A"), ("z", "Law B")]
    articles = [Article(id_, law, "1", (), "Words.") for id_, law in laws]
    corpus = StatuteCorpus(articles)
    assert (len(corpus), corpus[-1], corpus[1:]) == (3, articles[2], articles[1:])
    assert (corpus.ids, corpus.laws) == (["x", "y", "z"], ["Law B", "Law A"])
    assert corpus.positions_of("Law B").tolist() == [0, 2]
    assert corpus.position("z") == 2
    for lookup, unknown in ((corpus.position, "w"), (corpus.positions_of, "Law C")):
        with pytest.raises(KeyError, match=unknown):
            lookup(unknown)
    with pytest.raises(CorpusError, match="'x'"):
        StatuteCorpus([articles[0], articles[0]])


def test_the_digest_follows_content_and_order_not_format(tmp_path):
    spaced = json.dumps(article("é"), separators=(" ,  ", " :  ")).encode() + b"\n"
    plain = StatuteCorpus.read(write(tmp_path / "a.jsonl", line(article("é")), line(article("b"))))
    packed = StatuteCorpus.read(write(tmp_path / "b.jsonl.gz", spaced, line(article("b"))))
    assert plain.sha256 == packed.sha256 != StatuteCorpus(reversed(plain.articles)).sha256
    asked, other = line(question("q1")), line(question("q1", relevant=["a2"]))
    digests = [read_questions(write(tmp_path / "q", each)).sha256 for each in (asked, other, asked)]
    assert digests[0] == digests[2] != digests[1]


def test_questions_keep_unknown_fields_and_drop_repeated_ids(tmp_path):
    fields = {"split": ..., "splt": "dev"}
    path = write(
        tmp_path / "questions.jsonl",
        line(question("q1", relevant=["a2", "a1", "a2", "a2"])),
        line(question("q2", relevant=[], answerable=False, topic={"a": 1}, **fields)),
        line(question("q3", **fields)),
    )
    questions = read_questions(path)
    assert questions[0].relevant == ("a2", "a1")
    assert questions.repeated_relevant == 2
    extra = {"splt": "dev", "topic": {"a": 1}}
    assert questions[1] == Question("q2", "May I?", (), None, False, extra=extra)
    hash(questions[1])
    assert {(each.line, each.field) for each in questions.problems} == {(2, "splt"), (2, "topic")}
    assert questions.left_out == 0
    assert questions[:1] == [questions[0]]


def test_one_split_is_read_but_the_whole_file_checked(tmp_path):
    dev = line(question("q2", split="dev"))
    path = write(tmp_path / "questions.jsonl", line(question("q1")), dev)
    assert [q.id for q in read_questions(path, split="dev")] == ["q2"]
    with pytest.raises(CorpusError, match="'test'"):
        read_questions(path, split="test")
    write(path, line(question("q1", text="")), dev)
    assert problems_of(read_questions, path, split="dev")[0].field == "text"


class Endless(io.RawIOBase):
    """A file that begins with `start` and then repeats `rest` forever; counts what is read."""

    def __init__(self, start, rest):
        self.name = "endless"
        self.given = 0
        self._pieces = chain([start], repeat(rest * (2**16 // len(rest))))
        self._left = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        self._left = self._left or next(self._pieces)
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        self.given += len(part)
        return len(part)


def rows_of(file):
    problems = []
    return len(list(read_table(file, ("text", "cid"), problems))), problems[-1]


def test_an_endless_line_or_row_is_refused_after_16_mb():
    start = line(article("a1")) + b'{"id": "'
    file = Endless(start, b"x")
    *_, fault = problems_of(StatuteCorpus.read, file, skip_bad=True)
    assert (fault.file, fault.line, fault.breaks_off) == ("endless", 2, True)
    assert file.given < LONGEST_LINE + 2**20
    for rest in (b"x", b"x,", b"word " * 99 + b"\r\n", b"x" * 999 + b'\n","'):
        file = Endless(b'text,cid\nshort,1\n"', rest)
        number, fault = rows_of(file)
        assert (number, fault.line, fault.breaks_off) == (1, 3, True)
        assert file.given < LONGEST_LINE + 2**20


def test_a_gzip_bomb_is_not_unpacked_further():
    packed = gzip.compress(bytes(4 * LONGEST_LINE), compresslevel=1)
    file = io.BytesIO(packed)
    (fault,) = problems_of(StatuteCorpus.read, file)
    assert fault.line == 1
    assert file.tell() < len(packed) // 3


def test_a_line_or_row_of_exactly_the_limit_is_read(tmp_path, monkeypatch):
    def sized(length):
        empty = len(line(article("a1") | {"text": ""}))
        return io.BytesIO(line(article("a1") | {"text": "é" * ((length - empty) // 2)}))

    limit = len(sized(2_000).getvalue())
    monkeypatch.setattr("components.statutes.sources.corpora.LONGEST_LINE", limit)
    assert len(StatuteCorpus.read(sized(2_000))) == 1
    assert problems_of(StatuteCorpus.read, sized(2_002))[0].breaks_off

    def rows(length):
        words = "é\n" * (length // 3)
        return ("text,cid\n" + "".join(f'"{words}",{n}\n' for n in range(3))).encode()

    monkeypatch.setattr("components.statutes.sources.corpora.LONGEST_LINE", 50_000)
    write(tmp_path / "corpus.csv", rows(49_900))
    assert len(StatuteCorpus.read(tmp_path)) == 3
    write(tmp_path / "corpus.csv", rows(75_000))
    assert problems_of(StatuteCorpus.read, tmp_path)[0].line == 2


def test_reading_stops_after_too_many_bad_lines_or_rows(monkeypatch):
    monkeypatch.setattr("components.statutes.sources.corpora.MOST_UNREAD", 50)
    start = line(article("a1"))
    for bad in (b"\n", b" \r\n", b"x\n", b"\xff\n", start):
        *_, fault = problems_of(StatuteCorpus.read, Endless(start, bad), skip_bad=True)
        assert (fault.line, fault.breaks_off) == (53, True)
        assert len(StatuteCorpus.read(io.BytesIO(start + bad * 50), skip_bad=True)) == 1
    for bad in (b"\n", b"one column\n", b"\xff,1\n"):
        number, fault = rows_of(Endless(b"text,cid\nshort,1\n", bad))
        assert (number, fault.line, fault.breaks_off) == (1, 54, True)


def test_long_values_are_cut_in_messages_and_many_fields_checked_fast():
    bad = article("a1" + "x" * 100_000 + "\x07", number="1")
    (fault,) = problems_of(StatuteCorpus.read, io.BytesIO(line(bad)))
    assert len(str(fault)) < 600
    # Comparing each field with every other would take minutes here.
    fields = ", ".join(f'"{n}": 0' for n in [*range(100_000), 99_999])
    fault, *_ = problems_of(StatuteCorpus.read, io.BytesIO(f"{{{fields}}}\n".encode()))
    assert "'99999'" in fault.message


@pytest.mark.parametrize(("text", "same", "others"), TABLES["twins"])
def test_twins_differ_only_in_what_is_neither_letter_nor_digit(text, same, others):
    assert {normalised(each) for each in same} == {normalised(text)}
    assert normalised(text) not in map(normalised, others)


@pytest.mark.parametrize(
    ("name", "n_articles"),
    [
        ("pdpa_en", 315),
        ("bsard_livre1_fr", 536),
        pytest.param("obliqa_en", 13_012, marks=pytest.mark.slow),
        pytest.param("stard_zh", 57_755, marks=pytest.mark.slow),
        pytest.param("code_du_travail_fr", 10_686, marks=pytest.mark.slow),
    ],
)
def test_real_law_is_read_completely(real_data, name, n_articles):
    corpus = StatuteCorpus.read(real_data(name))
    assert (len(corpus), corpus.left_out) == (n_articles, 0)
    questions = read_questions(real_data(name), corpus_ids=corpus.ids)
    assert (questions.left_out, questions.repeated_relevant) == (0, 0)


# The language of a law

_ENGLISH = "The landlord shall return the deposit within thirty days after the tenant has left. "
_FRENCH = "Le bailleur restitue la garantie dans les trente jours du départ du preneur. "
_PORTUGUESE = "O senhorio devolve a caução no prazo de trinta dias após a saída do inquilino. "


def test_a_law_without_a_language_gets_the_one_it_is_written_in(tmp_path):
    path = write(
        tmp_path / "articles.jsonl",
        line(article("a1", law="Lease Act", text=_ENGLISH)),
        line(article("b1", law="Loi sur le bail", text=_FRENCH)),
        line(article("a2", law="Lease Act", text=_ENGLISH * 60)),
        line(article("b2", law="Loi sur le bail", text=_FRENCH * 3)),
        line(article("b3", law="Loi sur le bail", text=_ENGLISH, language="en")),
        line(article("c1", law="Lei do arrendamento", text=_PORTUGUESE * 3)),
        line(article("d1", law="Short Act", text="The tenant shall pay the rent to the landlord.")),
    )
    corpus = StatuteCorpus.read(path)
    assert corpus.ids == ["a1", "b1", "a2", "b2", "b3", "c1", "d1"]
    assert [each.language for each in corpus] == ["en", "fr", "en", "fr", "en", "pt", None]
    assert all(problem.notice for problem in corpus.problems)
    assert [problem.field for problem in corpus.problems] == ["language"] * 3


def test_articles_do_not_wait_for_ever_for_a_short_law(monkeypatch):
    monkeypatch.setattr("components.statutes.corpus._MOST_WAITING", 5)
    read = 0

    def articles():
        nonlocal read
        yield 1, Article(id="a", law="Short Act", number="1", headings=(), text="Repealed.")
        for number in range(2, 100):
            read = number
            text = _ENGLISH * 60
            yield number, Article(id=f"b{number}", law="Long", number="1", headings=(), text=text)

    found = with_languages(articles(), "law.jsonl", [])
    assert next(found)[1].language is None
    assert read < 10
    assert {each.language for _, each in found} == {"en"}
