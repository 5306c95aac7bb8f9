"""training.reproduce: a paper's tables at tiny size, made once, within a time."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from training import reproduce
from training.command_line import DONE
from training.loop import TrainingLoop


@pytest.fixture
def flags(tiny_bert, tmp_path):
    def of(paper: str, data: Path, **fields: Any) -> list[str]:
        values = {
            "data": data,
            "output": tmp_path / "out",
            "seeds": "[0]",
            "epochs": 1,
            "model": tiny_bert,
            "device": "cpu",
            **fields,
        }
        return [paper, *(part for n, v in values.items() for part in (f"--{n}", f"{v}"))]

    return of


def rows(page: str) -> dict[str, list[str]]:
    cells = [
        [c.strip() for c in line.strip("|").split("|")] for line in page.splitlines() if "|" in line
    ]
    return {first: others for first, *others in cells}


def test_a_table_is_made_once_and_compared_with_the_papers(
    flags, small_law, tmp_path, monkeypatch, capsys
):
    # As published, but for 6 steps in place of 500.
    monkeypatch.setattr(reproduce, "_preset", shorter(reproduce._preset))
    given = flags("cusines", small_law, only="[table2]")
    assert reproduce.main([*given, "--budget-s", "0"]) == DONE
    page = capsys.readouterr().out
    assert "DR, cusines, seed 0: not begun" in page
    assert rows(page)["DR, untrained"][0] == "1/1" and rows(page)["DR, cusines"][0] == "0/1"
    assert reproduce.main(given) == DONE
    page = capsys.readouterr().out
    assert page == (tmp_path / "out" / "cusines.md").read_text(encoding="utf-8")
    assert "replication" in page and "Not finished" not in page
    found = rows(page)
    names = ("DR, untrained", "DR, bm25_rotating", "DR, cusines", "DR+GNN, bm25_rotating")
    assert {*names, "DR+GNN, cusines"} <= set(found)
    # The paper's R@100 and the difference to it; of 30 articles all are among the first 100.
    assert found["DR+GNN, cusines"][1].endswith("(0.849, +0.151)")
    network = json.loads((tmp_path / "out/models/gnn-cusines-0/graph/config.json").read_text())
    assert (network["hidden"], network["heads"], network["dropout"]) == (128, 1, 0.1)
    made = {file.name for file in (tmp_path / "out").iterdir()}
    assert {"cusines-table2.png", "cusines-table2.svg", "results.jsonl"} <= made
    monkeypatch.setattr("training.loop.fit", None)
    assert reproduce.main(given) == DONE
    assert capsys.readouterr().out == page


def shorter(preset):
    def of(name: str) -> dict[str, Any]:
        given = preset(name)
        if name == "bsard_graph":
            given["max_steps"] = 6
        if name == "soict_ranker":
            given |= {"candidates": 10}
        return given

    return of


@pytest.mark.slow
def test_an_interrupted_training_goes_on(flags, small_law, tmp_path, monkeypatch, capsys):
    given = flags("gdsr", small_law, only="[main]", epochs=3)
    monkeypatch.setattr(reproduce, "_preset", shorter(reproduce._preset))
    # Time is up after the first epoch of the first row.
    epoch = TrainingLoop._epoch

    def slow(self: TrainingLoop) -> None:
        epoch(self)
        self._deadline = 0.0

    monkeypatch.setattr(TrainingLoop, "_epoch", slow)
    assert reproduce.main([*given, "--budget_s", "1000"]) == DONE
    page = capsys.readouterr().out
    assert "DSR, seed 0: step 1 of 3" in page and rows(page)["BM25"][0] == "1/1"
    monkeypatch.undo()
    monkeypatch.setattr(reproduce, "_preset", shorter(reproduce._preset))
    assert reproduce.main(given) == DONE
    captured = capsys.readouterr()
    assert "Resuming from step" in captured.err
    assert rows(captured.out)["G-DSR"][0] == "1/1"


@pytest.mark.slow
def test_soict_in_the_competitions_format(flags, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "_preset", shorter(reproduce._preset))
    data = tmp_path / "soict_data"
    data.mkdir()
    subjects = ["thuế", "đất", "lao động", "hôn nhân", "xây dựng", "giao thông"]
    with (data / "corpus.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "cid"])
        writer.writerows([f"Điều {n}: quy định về {subjects[n % 6]} số {n}", n] for n in range(24))
    with (data / "train.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "context", "cid", "qid"])
        writer.writerows([f"Câu hỏi {n} về {subjects[n % 6]}?", "", f"[{n}]", n] for n in range(20))
    assert reproduce.main(flags("soict", data)) == DONE
    page = capsys.readouterr().out
    assert "A reproduction on soict_data: 24 articles" in page
    assert "| BM25Plus | 1.5 | 0.75 |" in page
    assert rows(page)["bi-encoder"][1].endswith(")") and "semi_hard_10" in page
