"""The command: a table of every variant, or a message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.statutes.significance import bootstrap_interval
from training.bm25_table import main
from training.command_line import DONE, FAILED, WRONG_USE
from training.data import TrainingData


def flags(law: Path, **fields: Any) -> list[str]:
    values = {"corpus": law / "articles.jsonl", "questions": law / "questions.jsonl", **fields}
    return [part for name, value in values.items() for part in (f"--{name}", f"{value}")]


@pytest.fixture
def written(write_law: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """`written(texts, questions)`: a law of these texts; questions as (words, relevant, split)."""

    def law(texts: list[str], questions: list[tuple[str, list[str], str]]) -> Path:
        articles = [
            {"id": f"a{n}", "law": "L", "number": f"{n}", "headings": [], "text": text}
            for n, text in enumerate(texts)
        ]
        asked = [
            {"id": f"q{n}", "text": words, "relevant": relevant, "split": split}
            for n, (words, relevant, split) in enumerate(questions)
        ]
        return write_law(tmp_path / "written", articles, asked)

    return law


def test_the_table_and_the_file_say_the_same(
    written: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # "rent" finds a0, then a1; nothing is found for "custody", and test questions do not count.
    law = written(
        ["rent rent", "rent and wage", "the wage of sellers", "court", "law"],
        [
            ("rent", ["a1"], "dev"),
            ("court", ["a3"], "dev"),
            ("custody", ["a0"], "dev"),
            ("wage", ["a0"], "test"),
        ],
    )
    output = tmp_path / "new" / "table.json"
    assert main(flags(law, output=output)) == DONE
    printed = capsys.readouterr().out
    kept = json.loads(output.read_text(encoding="utf-8"))
    assert (kept["n_questions"], kept["n_articles"], kept["split"]) == (3, 5, "dev")
    assert len(kept["rows"]) == 10
    okapi = kept["rows"][0]
    assert okapi["Exist@90"] == {
        "mean": pytest.approx(2 / 3),
        "interval": list(bootstrap_interval([1.0, 1.0, 0.0])),
    }
    assert okapi["MRR@10"]["mean"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    low, high = okapi["MRR@10"]["interval"]
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert table[0] == "| BM25 | k1 | b | Exist@90 | MRR@10 |"
    exist, mrr = okapi["Exist@90"], f"0.500 [{low:.3f}, {high:.3f}]"
    assert table[2] == (
        f"| BM25Okapi | 1.5 | 0.75 | 0.667 [{exist['interval'][0]:.3f}, "
        f"{exist['interval'][1]:.3f}] | {mrr} |"
    )
    assert table[3].startswith("| BM25Plus | 0.8 | 0 |") and len(table) == 12
    assert len({line.count("|") for line in table}) == 1
    assert "3 questions of the split 'dev', 5 articles, lower-cased words" in printed


def test_without_dev_the_questions_that_training_sets_aside_are_measured(
    write_law: Callable[..., Path],
    article: Callable[..., Any],
    question: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = write_law(
        tmp_path / "law", [article(n) for n in range(30)], [question(n, [n]) for n in range(20)]
    )
    seen: list[list[str]] = []
    monkeypatch.setattr(
        "components.statutes.metrics.evaluate",
        lambda run, *_, **__: seen.append(list(run)) or {m: {"q": 1.0} for m in METRICS},
    )
    assert main(flags(law, dev_share=0.2)) == DONE
    assert "4 of train are measured" in capsys.readouterr().err
    files = flags(law)
    data = TrainingData.read(files[1], files[3], dev_share=0.2)
    assert seen[0] == [each.id for each in data.dev] and len(seen[0]) == 4


@pytest.mark.parametrize("place", ["a file/table.json", "a folder"])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(
    place: str, small_law: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a file").touch()
    (tmp_path / "a folder").mkdir()
    output = tmp_path / place
    assert main(flags(small_law, output=output)) == WRONG_USE
    said = capsys.readouterr()
    assert f"output: {output} cannot be written" in said.err
    assert not said.out
    assert {each.name for each in tmp_path.rglob("*")} == {"a file", "a folder"}


def test_a_file_that_fails_in_the_end_leaves_the_table_and_the_older_file(
    small_law: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "table.json"
    output.write_text("older", encoding="utf-8")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("components.models.artifacts.sync", full)
    assert main(flags(small_law, output=output)) == FAILED
    said = capsys.readouterr()
    assert said.out.count("| BM25Plus |") == 9
    assert "No space left" in said.err
    assert output.read_text(encoding="utf-8") == "older"
    assert [each.name for each in tmp_path.iterdir()] == ["table.json"]


METRICS = ("Exist@90", "MRR@10")


def test_a_split_that_is_not_there_is_named(
    small_law: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags(small_law, split="test")) == WRONG_USE
    said = capsys.readouterr().err
    assert "no answerable question of the split 'test'" in said
    assert "dev, train" in said


def test_a_law_without_words_is_a_message(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags(written(["§ --"], [("rent", ["a0"], "dev")]))) == WRONG_USE
    assert "no article of the corpus has a word" in capsys.readouterr().err


def test_a_file_that_is_missing_is_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags(tmp_path)) == FAILED
    assert "articles.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [{"dev_share": 1.0}, {"terms": "stemmed"}, {"text_rule": "all"}])
def test_wrong_settings_are_refused_by_name(
    wrong: dict[str, Any], small_law: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(flags(small_law, **wrong))
    assert left.value.code == WRONG_USE
    assert next(iter(wrong)) in capsys.readouterr().err
