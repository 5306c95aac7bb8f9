"""One cause is one fault."""

from __future__ import annotations

import pytest
from law_files import article, line, write

from components.statutes import CorpusError, StatuteCorpus


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
