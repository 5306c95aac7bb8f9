"""python -m pipelines.convert: published law becomes a native file, whole or not at all."""

import pytest

from components.statutes import StatuteCorpus
from pipelines import convert

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
def test_a_folder_becomes_a_native_file(laws, tmp_path, capsys, name):
    output = tmp_path / name
    assert convert.main(["--corpus", str(laws), "--output", str(output)]) == 0
    assert StatuteCorpus.read(output).articles == StatuteCorpus.read(laws).articles
    printed = capsys.readouterr()
    assert "2 articles of 1 law" in printed.out
    for counted in ("footnote (1)", "table (1)", "README.md"):
        assert counted in printed.err
    assert (output.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_a_fault_leaves_no_file_and_skip_bad_counts_it(laws, tmp_path, capsys):
    (laws / "broken.xml").write_text(
        '<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act>'
    )
    output = tmp_path / "articles.jsonl"
    command = ["--corpus", str(laws), "--output", str(output)]
    assert convert.main(command) != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["laws"]
    assert convert.main([*command, "--skip-bad"]) == 0
    printed = capsys.readouterr()
    assert "left out" in printed.out
    assert "broken.xml" in printed.err
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
def test_what_is_named_is_taken_or_refused(laws, monkeypatch, changed, code):
    monkeypatch.chdir(laws.parent)
    command = ["--corpus", "laws", "--output", "articles.jsonl", *changed]
    assert convert.main(command) == code
    assert (laws.parent / "articles.jsonl").exists() == (code == 0)
    assert (laws / "barques.md").read_text(encoding="utf-8") == LAW


def test_what_was_read_is_checked_and_strict_writes_nothing(laws, tmp_path, capsys):
    output, law = tmp_path / "articles.jsonl", laws / "barques.md"
    given = ["--corpus", str(law), "--output", str(output), "--strict"]
    law.write_text(LAW.replace("Article 2", "Article 1"), encoding="utf-8")
    assert convert.main(given) == 1
    assert not output.exists()
    assert f"{law}:18: Code des barques: numbers more than once" in capsys.readouterr().err
    assert convert.main(given[:-1]) == 0
    assert (
        "Code des barques: 2 articles; numbered 1 to 1; no missing numbers"
        in capsys.readouterr().err
    )
    output.unlink()
    law.write_text(LAW, encoding="utf-8")
    assert convert.main(given) == 0
