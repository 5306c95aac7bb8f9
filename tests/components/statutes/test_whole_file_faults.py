"""One cause is one fault; what has no end is not read to its end."""

from __future__ import annotations

import gzip
import io
import json
from itertools import chain, repeat

import pytest
from law_files import article, line, write

from components.statutes import CorpusError, StatuteCorpus, read_questions
from components.statutes.sources import lines, tables
from components.statutes.sources.lines import LONGEST_LINE


class Endless(io.RawIOBase):
    """A file that begins with `start` and then repeats `rest` for ever; counts what is read."""

    def __init__(self, start: bytes, rest: bytes) -> None:
        self.name = "endless"
        self.given = 0
        self._pieces = chain([start], repeat(rest * (2**16 // len(rest))))
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self._left = self._left or next(self._pieces)
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        self.given += len(part)
        return len(part)


def faults_of(read, *arguments, **options):
    with pytest.raises(CorpusError) as raised:
        read(*arguments, **options)
    return raised.value.problems


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("read", [StatuteCorpus.read, read_questions])
def test_a_line_without_end_is_refused_after_16_mb(read, skip_bad):
    one = line(article("a1") if read is StatuteCorpus.read else {"id": "q", "text": "Who pays?"})
    file = Endless(one + b'{"id": "', b"x")
    *_, fault = faults_of(read, file, skip_bad=skip_bad)
    assert (fault.file, fault.line, fault.breaks_off) == ("endless", 2, True)
    assert file.given < LONGEST_LINE + 2**20


def test_a_gzip_bomb_is_not_unpacked_further():
    packed = gzip.compress(bytes(4 * LONGEST_LINE), compresslevel=1)
    file = io.BytesIO(packed)
    (fault,) = faults_of(StatuteCorpus.read, file)
    assert fault.line == 1
    assert file.tell() < len(packed) // 3


@pytest.mark.parametrize("rest", [b"x", b"x,", b"word " * 99 + b"\r\n", b"x" * 999 + b'\n","'])
def test_a_row_without_end_is_refused_after_16_mb(rest):
    file = Endless(b'text,cid\nshort,1\n"', rest)
    problems = []
    assert len(list(tables.read_table(file, ("text", "cid"), problems))) == 1
    (fault,) = problems
    assert (fault.line, fault.breaks_off) == (3, True)
    assert file.given < LONGEST_LINE + 2**20


def test_a_line_or_row_as_long_as_allowed_is_read(tmp_path, monkeypatch):
    def sized(length: int) -> bytes:
        empty = len(line(article("a1") | {"text": ""}))
        return line(article("a1") | {"text": "é" * ((length - empty) // 2)})

    monkeypatch.setattr(lines, "LONGEST_LINE", len(sized(2_000)))
    assert len(StatuteCorpus.read(io.BytesIO(sized(2_000)))) == 1
    assert faults_of(StatuteCorpus.read, io.BytesIO(sized(2_002)))[0].breaks_off

    def rows(length: int) -> bytes:
        words = "é\n" * (length // 3)
        return ("text,cid\n" + "".join(f'"{words}",{n}\n' for n in range(3))).encode()

    monkeypatch.setattr(tables, "LONGEST_LINE", 50_000)
    write(tmp_path / "corpus.csv", rows(49_900))
    assert len(StatuteCorpus.read(tmp_path)) == 3
    write(tmp_path / "corpus.csv", rows(75_000))
    assert faults_of(StatuteCorpus.read, tmp_path)[0].line == 2


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("bad", [b"\n", b" \r\n", b"x\n", b"\xff\n", line(article("a1"))])
def test_blank_and_faulty_lines_without_end_are_given_up(bad, skip_bad, monkeypatch):
    monkeypatch.setattr(lines, "MOST_UNREAD", 50)
    start = line(article("a1"))
    (*_, fault) = faults_of(StatuteCorpus.read, Endless(start, bad), skip_bad=skip_bad)
    assert (fault.line, fault.breaks_off) == (53, True)
    assert len(StatuteCorpus.read(io.BytesIO(start + bad * 50), skip_bad=True)) == 1


@pytest.mark.parametrize("bad", [b"\n", b"one column\n", b"\xff,1\n"])
def test_blank_and_faulty_rows_without_end_are_given_up(bad, monkeypatch):
    monkeypatch.setattr(tables, "MOST_UNREAD", 50)
    problems = []
    file = Endless(b"text,cid\nshort,1\n", bad)
    assert len(list(tables.read_table(file, ("text", "cid"), problems))) == 1
    assert (problems[-1].line, problems[-1].breaks_off) == (54, True)


def test_long_words_of_the_file_are_cut_in_messages():
    bad = article("a1" + "x" * 100_000 + "\x07")
    (fault,) = faults_of(StatuteCorpus.read, io.BytesIO(line(bad)))
    assert len(str(fault)) < 600
    assert fault.message.startswith("'a1xxx")
    assert fault.message.endswith("holds a control character")


def test_a_field_that_is_repeated_among_very_many_is_found():
    """Comparing each field with every other would take minutes here."""
    fields = ", ".join(f'"{n}": 0' for n in [*range(100_000), 99_999])
    (fault, *_) = faults_of(StatuteCorpus.read, io.BytesIO(f"{{{fields}}}\n".encode()))
    assert "'99999' twice" in fault.message
    assert json.loads(f"{{{fields}}}")["99999"] == 0


@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_said_once(tmp_path, encoding, skip_bad):
    text = "".join(line(article(f"a{n}")).decode() for n in range(4))
    path = write(tmp_path / "articles.jsonl", text.encode(encoding))
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(path, skip_bad=skip_bad)
    assert str(raised.value) == f"{path}:1: is UTF-16, not UTF-8 text. Save the file as UTF-8."


def test_of_text_that_is_called_gzip_it_is_said(tmp_path):
    path = tmp_path / "articles.jsonl.gz"
    path.write_bytes(b"Art. 1 Words.\nArt. 2 Words.\n")
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(path)
    first, second = (str(problem) for problem in raised.value.problems)
    assert "is not JSON" in first
    assert ", and the file is not gzip, though its name says so." in first
    assert "gzip" not in second.replace(str(path), "")
    packed = write(tmp_path / "packed.jsonl.gz", b"Art. 1 Words.\n")
    with pytest.raises(CorpusError) as raised:
        StatuteCorpus.read(packed)
    assert "not gzip" not in str(raised.value)
