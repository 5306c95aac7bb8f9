"""`pipelines.index --lay-words`: kept with the store, replaced, removed, or refused before work."""

from __future__ import annotations

import pytest


@pytest.fixture
def words(tmp_path):
    def write(text):
        path = tmp_path / "words.tsv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_list_is_kept_shown_left_out_and_removed(words, corpus, tmp_path, command):
    law = ("index", "--corpus", corpus, "--model", "none", "--store", tmp_path / "law.db")
    path = words("x\tkids\tcustody\nx\tcash\tmortgage\n")
    code, _, said = command(*law, "--lay-words", path)
    assert (code, "Lay words: 2 read, of which this law uses 1" in said) == (0, True)
    command(*law)  # indexing again keeps the list
    asked = ("ask", "Where do my kids live?", "--store", tmp_path / "law.db")
    for pipeline in ("lexical", "hybrid"):
        code, _, said = command(*asked, "--pipeline", pipeline)
        assert (code, "custody for “kids”" in said) == (0, True)
        assert "Also searched" not in command(*asked, "--pipeline", pipeline, "--no-expand")[2]
    # The list alone, without the law.
    assert command("index", "--store", tmp_path / "law.db", "--lay-words", words(""))[0] == 0
    _, out, err = command(*asked, "--json")
    assert "expansions" not in out and "Also searched" not in err


def test_a_wrong_list_is_refused_before_anything_is_written(words, corpus, tmp_path, command):
    store = tmp_path / "law.db"
    path = words("x\tkids\tcustody\nx\tkids\n")
    given = ("index", "--corpus", corpus, "--lay-words", path)
    code, _, said = command(*given, "--model", "none", "--store", store)
    assert (code, f"{path}:2: " in said) == (1, True)
    assert not store.exists()
    code, _, said = command(*given, "--engine", "qdrant", "--url", "x")
    assert (code, "--lay-words goes with --store" in said) == (2, True)
