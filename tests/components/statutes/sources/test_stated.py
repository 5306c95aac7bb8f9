"""What a person says of a law where its file does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from components.statutes.corpus import StatuteCorpus
from components.statutes.sources.reading import CorpusError
from components.statutes.sources.stated import law_notes
from pipelines.convert import main as convert

TWO = """\
language: en
ferries.md:
  law: Ferries Act
  source_url: https://law.example/ferries
aliases:
  Boats: Ferries Act
"""


def written(path: Path, *laws: str, **fields: Any) -> Path:
    lines = [
        {"id": f"{path.stem}-{n}", "law": law, "number": str(n), "headings": [], "text": "Text."}
        for n, law in enumerate(laws)
    ]
    path.write_text("\n".join(json.dumps({**line, **fields}) for line in lines), encoding="utf-8")
    return path


def facts(path: Path, **stated: str) -> list[tuple[str, str | None, str | None]]:
    corpus = StatuteCorpus.read(path, stated=stated)
    return [(each.law, each.language, each.source_url) for each in corpus]


def test_flags_come_before_a_law_yaml_and_that_before_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "articles.jsonl", "Untitled", language="de")
    assert facts(path) == [("Untitled", "de", None)]
    (tmp_path / "law.yaml").write_text("law: Ferries Act\nlanguage: en\n", encoding="utf-8")
    assert facts(path) == [("Ferries Act", "en", None)]
    page = "https://law.example"
    assert facts(path, law="Boats Act", source_url=page) == [("Boats Act", "en", page)]
    assert facts(tmp_path) == [("Ferries Act", "en", None)]


def test_an_article_keeps_a_page_of_its_own(tmp_path: Path) -> None:
    path = written(tmp_path / "articles.jsonl", "Act", source_url="https://law.example/1")
    assert facts(path, source_url="https://law.example")[0][2] == "https://law.example/1"


def test_a_law_yaml_says_it_of_all_files_and_of_one(tmp_path: Path) -> None:
    (tmp_path / "ferries.md").touch()
    (tmp_path / "law.yaml").write_text(TWO, encoding="utf-8")
    notes = law_notes(tmp_path)
    assert notes.all_files == {"language": "en"}
    page = "https://law.example/ferries"
    assert notes.of_file == {"ferries.md": {"law": "Ferries Act", "source_url": page}}
    assert notes.aliases == {"Boats": "Ferries Act"}


@pytest.mark.parametrize(
    ("notes", "line", "field"),
    [
        ("language: en\nlanguages: en", 2, "languages"),
        ("ferries.md:\n  law: Act\n  name: Act", 3, "name"),
        ("rafts.md:\n  law: Act", 1, "rafts.md"),
        ("../ferries.md:\n  law: Act", 1, "../ferries.md"),
        ("law: Act\nlaw: Act", 2, "law"),
        ("law: [Act]", 1, "law"),
        ("law:", 1, "law"),
        ("law: Act\njurisdiction: US/OR", 2, "jurisdiction"),
        ("ferries.md:\n  jurisdiction: Oregon, US", 2, "jurisdiction"),
        ("- law", 1, None),
        ("", 1, None),
        ("law: 'Act", None, None),
    ],
)
def test_a_faulty_law_yaml_is_refused_with_its_line(
    notes: str, line: int | None, field: str | None, tmp_path: Path
) -> None:
    (tmp_path / "ferries.md").touch()
    (tmp_path / "law.yaml").write_text(notes, encoding="utf-8")
    with pytest.raises(CorpusError) as raised:
        facts(written(tmp_path / "articles.jsonl", "Act"))
    (problem,) = raised.value.problems
    assert (problem.file, problem.line, problem.field) == (str(tmp_path / "law.yaml"), line, field)


def test_a_law_yml_is_not_overlooked(tmp_path: Path) -> None:
    (tmp_path / "law.yml").write_text("language: en\n", encoding="utf-8")
    path = written(tmp_path / "articles.jsonl", "Act")
    with pytest.raises(CorpusError, match=r"law\.yml.*Rename it law\.yaml"):
        facts(path)
    (tmp_path / "law.yaml").write_text("language: fr\n", encoding="utf-8")
    assert facts(path) == [("Act", "fr", None)]


def test_a_place_that_no_question_can_name_is_wrong_use(tmp_path: Path, capsys: Any) -> None:
    path, output = written(tmp_path / "a.jsonl", "Ferries Act"), tmp_path / "b.jsonl"
    with pytest.raises(SystemExit, match="2"):
        convert(["--corpus", str(path), "--output", str(output), "--jurisdiction", "US/OR"])
    assert "us/or/portland" in capsys.readouterr().err and not output.exists()


def test_one_name_is_not_given_to_several_laws(tmp_path: Path, capsys: Any) -> None:
    path, output = written(tmp_path / "a.jsonl", "Ferries Act", "Rafts Act"), tmp_path / "b.jsonl"
    command = ["--corpus", str(path), "--output", str(output)]
    assert convert([*command, "--law", "Boats Act"]) == 1
    assert "several laws" in capsys.readouterr().err and not output.exists()
    assert convert([*command, "--source_url", "https://law.example", "--language", "en"]) == 0
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert {(each["language"], each["source_url"]) for each in lines} == {
        ("en", "https://law.example")
    }
