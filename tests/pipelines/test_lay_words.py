"""`pipelines.index --lay-words`: kept with the store, replaced, removed, or refused before work."""

from __future__ import annotations

import pytest

from pipelines import ask as asking
from pipelines import index as indexing


@pytest.fixture
def words(tmp_path):
    def write(text):
        path = tmp_path / "words.tsv"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_a_list_is_kept_shown_left_out_and_removed(words, corpus, tmp_path, capsys):
    store = str(tmp_path / "law.db")
    given = ["--store", store, "--lay-words", words("x\tkids\tcustody\nx\tcash\tmortgage\n")]
    assert indexing.main(["--corpus", str(corpus), "--model", "none", *given]) == 0
    assert "Lay words: 2 read, of which this law uses 1" in capsys.readouterr().err
    # Indexing again keeps the list.
    indexing.main(["--corpus", str(corpus), "--model", "none", "--store", store])
    question = ["Where do my kids live?", "--store", store]
    for pipeline in ("lexical", "hybrid"):
        capsys.readouterr()
        assert asking.main([*question, "--pipeline", pipeline]) == 0
        assert "custody for “kids”" in capsys.readouterr().err
        asking.main([*question, "--pipeline", pipeline, "--no-expand"])
        assert "Also searched" not in capsys.readouterr().err
    # The list alone, without the law.
    assert indexing.main(["--store", store, "--lay-words", words("")]) == 0
    capsys.readouterr()
    asking.main([*question, "--json"])
    printed = capsys.readouterr()
    assert "expansions" not in printed.out and "Also searched" not in printed.err


def test_a_wrong_list_is_refused_before_anything_is_written(words, corpus, tmp_path, capsys):
    store = tmp_path / "law.db"
    path = words("x\tkids\tcustody\nx\tkids\n")
    given = ["--store", str(store), "--lay-words", path]
    assert indexing.main(["--corpus", str(corpus), "--model", "none", *given]) == 1
    assert f"{path}:2: " in capsys.readouterr().err
    assert not store.exists()
    with pytest.raises(SystemExit):
        indexing.main(["--corpus", str(corpus), "--engine", "qdrant", "--url", "x", *given[2:]])
    assert "--lay-words goes with --store" in capsys.readouterr().err
