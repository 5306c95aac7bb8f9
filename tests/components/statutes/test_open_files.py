"""A source that the caller has opened is the caller's to close."""

from __future__ import annotations

import gzip

import pytest
from law_files import article, line, write

from components.statutes import CorpusError, iter_articles


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("ends", [False, True], ids=["left early", "read to its end"])
def test_an_open_file_stays_open(tmp_path, packed, ends):
    content = line(article("a1")) + line(article("a2"))
    path = write(tmp_path / "articles", gzip.compress(content) if packed else content)
    with path.open("rb") as stream:
        reader = iter_articles(stream)
        found = list(reader) if ends else [next(reader)]
        reader.close()
        assert len(found) == (2 if ends else 1)
        assert not stream.closed
        stream.seek(0)
        assert [a.id for _, a in iter_articles(stream)] == ["a1", "a2"]


def test_an_open_file_that_is_closed_meanwhile_is_let_go(tmp_path):
    path = write(tmp_path / "articles.jsonl", line(article("a1")), line(article("a2")))
    with path.open("rb") as stream:
        reader = iter_articles(stream)
        next(reader)
    reader.close()


def test_a_file_that_is_open_as_text_is_refused(tmp_path):
    path = write(tmp_path / "articles.jsonl", line(article("a1")))
    with (
        path.open(encoding="utf-8") as stream,
        pytest.raises(CorpusError, match=r"articles\.jsonl: is open as text.*open\(path, 'rb'\)"),
    ):
        list(iter_articles(stream))  # type: ignore[arg-type]
