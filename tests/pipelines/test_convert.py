"""python -m pipelines.convert: published law becomes a native file, whole or not at all."""

import pytest

from components.statutes import StatuteCorpus

LAW = """---
title: "Code des barques"
identifier: "BARQUES"
country: "fr"
---
# Code des barques

## Titre Ier : Les eaux

### Chapitre Ier : Les rives

##### Article 1

Une barque flotte.[^1]

[^1]: Note.

##### Article 2

| barque | prix |
| --- | --- |
| petite | 1 |
"""


@pytest.fixture
def laws(tmp_path):
    folder = tmp_path / "laws"
    folder.mkdir()
    (folder / "barques.md").write_text(LAW, encoding="utf-8")
    (folder / "README.md").write_text("# Laws\n")
    return folder


@pytest.mark.parametrize("name", ["articles.jsonl", "articles.jsonl.gz"])
def test_a_folder_becomes_a_native_file(laws, tmp_path, command, name):
    output = tmp_path / name
    code, out, err = command("convert", "--corpus", laws, "--output", output)
    assert code == 0
    assert StatuteCorpus.read(output).articles == StatuteCorpus.read(laws).articles
    assert "2 articles of 1 law" in out
    for counted in ("footnote (1)", "table (1)", "README.md"):
        assert counted in err
    assert (output.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_a_fault_leaves_no_file_and_skip_bad_counts_it(laws, tmp_path, command):
    (laws / "broken.xml").write_text(
        '<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act>'
    )
    output = tmp_path / "articles.jsonl"
    given = ("convert", "--corpus", laws, "--output", output)
    assert command(*given)[0] != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["laws"]
    code, out, err = command(*given, "--skip-bad")
    assert (code, "left out" in out, "broken.xml" in err) == (0, True, True)
    assert len(StatuteCorpus.read(output)) == 2


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        (("--format", "legalize"), 0),
        (("--format", "clml"), 1),
        (("--corpus", "nowhere"), 2),
        (("--output", "no/folder.jsonl"), 2),
        (("--output", "laws/barques.md"), 2),
        (("--output", "-"), 2),
    ],
)
def test_what_is_named_is_taken_or_refused(laws, monkeypatch, command, changed, code):
    monkeypatch.chdir(laws.parent)
    given = ("--corpus", "laws", "--output", "articles.jsonl", *changed)
    assert command("convert", *given)[0] == code
    assert (laws.parent / "articles.jsonl").exists() == (code == 0)
    assert (laws / "barques.md").read_text(encoding="utf-8") == LAW


def test_what_was_read_is_checked_and_strict_writes_nothing(laws, tmp_path, command):
    output, law = tmp_path / "articles.jsonl", laws / "barques.md"
    given = ("convert", "--corpus", law, "--output", output)
    law.write_text(LAW.replace("Article 2", "Article 1"), encoding="utf-8")
    code, _, said = command(*given, "--strict")
    assert (code, output.exists()) == (1, False)
    assert f"{law}:18: Code des barques: numbers more than once" in said
    code, _, said = command(*given)
    assert code == 0
    assert "Code des barques: 2 articles; numbered 1 to 1; no missing numbers" in said
    output.unlink()
    law.write_text(LAW, encoding="utf-8")
    assert command(*given, "--strict")[0] == 0
