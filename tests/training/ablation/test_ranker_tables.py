"""The tables of a grid of rankers, from made-up lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from components.statutes.significance import holm, paired_randomisation
from training.ablation.arms import FIRST_STAGE, NUMBERS, RANKER_ARMS, SEMI_HARD, STRATEGIES
from training.ablation.metrics import RANKER_METRICS
from training.ablation.plots import plot_arms
from training.ablation.ranker_tables import tables

QUESTIONS = 10
BASE = [0.5, 0.2, 0.1, 0.4, 0.3, 0.2, 0.1, 0.0, 1.0, 0.5]
# How much better than the first stage's order.
GAINS = {FIRST_STAGE: 0.0, "untrained": -0.1, "easy_2": 0.1, "semi_hard_2": 0.3, "hard_2": -0.05}

Lines = dict[str, list[dict[str, Any]]]


def scored(mean: float) -> dict[str, Any]:
    shares = {"below_0.5": 0.25, "0.5_to_0.8": 0.25, "0.8_to_0.9": 0.5, "from_0.9": 0.0}
    return {"n": 8, **shares, "mean": mean}


def a_line(arm: str, values: Sequence[float], **fields: Any) -> dict[str, Any]:
    trained = arm not in (FIRST_STAGE, "untrained")
    epochs = [
        {"step": 6 * n, "epoch": n, "dev": {"MRR@10": 0.1 + n / 10}} for n in range(3 * trained)
    ]
    for epoch, mean in zip(epochs, (0.5, 0.75), strict=False):
        epoch["negatives"] = {"ranker": scored(mean), "biencoder": scored(0.625)}
    return {
        "arm": arm,
        "seed": 0,
        "trained": trained,
        "measured_on": "test",
        "settings": {"candidates": 90, **({} if arm == FIRST_STAGE else {"select_by": "MRR@10"})},
        "environment": {"device": "x86_64", "dtype": "float32", "torch": "2.13"},
        "mined": {"examples": 1_400} if trained else {},
        "steps": 88 * trained,
        "seconds": {"total": 61.0},
        "epoch": 1 + trained,
        "epochs": epochs,
        "ceiling": {"R@90": 0.875, "Exist@90": 0.925},
        "questions": list(range(QUESTIONS)),
        "unseen": [0, 1],
        "values": {metric: list(values) for metric in RANKER_METRICS},
        **fields,
    }


@pytest.fixture
def lines() -> Lines:
    return {arm: [a_line(arm, [v + gain for v in BASE])] for arm, gain in GAINS.items()}


def cells(text: str, nth: int) -> list[list[str]]:
    """The nth table, without the rule under its header."""
    tables_ = [block for block in text.split("\n\n") if block.startswith("|")]
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")] for row in tables_[nth].splitlines()
    ]
    return [rows[0], *rows[2:]]


def text_of(lines: Lines, compare: Sequence[str] = ("MRR@10",)) -> str:
    return tables("law", lines, 3, compare, FIRST_STAGE)


def test_the_caption_says_what_is_measured_and_where_the_ceiling_is(lines: Lines) -> None:
    caption = text_of(lines).split("\n\n")[1]
    assert "10 questions of the split test, seeds 0; 90 candidates." in caption
    assert "ceiling, which no re-ranking passes: R@90 0.875, Exist@90 0.925." in caption
    assert "are chosen on dev by MRR@10." in caption
    assert "flatters" not in caption


def test_it_says_so_where_the_epoch_is_chosen_on_what_is_measured(lines: Lines) -> None:
    for of_arm in lines.values():
        of_arm[0]["measured_on"] = "dev"
    assert "the split that is measured: the choice of the epoch flatters" in text_of(lines)


def test_every_arm_has_its_means_and_costs(lines: Lines) -> None:
    header, *rows = cells(text_of(lines), 0)
    assert [row[0] for row in rows] == ["**first_stage**", *list(GAINS)[1:]]
    assert tuple(header[2 : 2 + len(RANKER_METRICS)]) == RANKER_METRICS
    by_arm = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    semi_hard, first = by_arm["semi_hard_2"], by_arm["**first_stage**"]
    assert (semi_hard["runs"], semi_hard["MAP@10"], semi_hard["examples"]) == (
        "1/3",
        "0.630",
        "1,400",
    )
    assert (semi_hard["steps"], semi_hard["epoch"], semi_hard["seconds"]) == ("88", "2.0", "61")
    last = "MRR@10 on dev, last epoch"
    assert (semi_hard[last], first[last]) == ("0.300", "–")


def test_questions_whose_articles_were_trained_on_stand_apart(lines: Lines) -> None:
    values = [value + 0.5 * (place > 1) for place, value in enumerate(BASE)]
    lines["easy_2"] = [a_line("easy_2", values)]
    header, *rows = cells(text_of(lines), 2)
    assert header[1:] == [
        "MRR@10, unseen articles (2 questions)",
        "difference to first_stage",
        "difference to semi_hard",
        "MRR@10, seen articles (8 questions)",
        "difference to first_stage",
        "difference to semi_hard",
    ]
    by_arm = {row[0]: row[1:] for row in rows}
    assert by_arm["easy_2"][0] == f"{fmean(values[:2]):.3f}"
    assert by_arm["easy_2"][1].startswith("+0.000 (p 1.0000")
    assert by_arm["easy_2"][3] == f"{fmean(values[2:]):.3f}"
    assert by_arm["easy_2"][4].startswith("+0.500 (p 0.0")
    assert by_arm["easy_2"][5].startswith("+0.200 (p 0.0")
    assert by_arm["semi_hard_2"][2] == "–"
    assert by_arm["**first_stage**"][1:3] == ["–", "–"]


def test_where_every_article_was_seen_or_none_the_other_side_is_empty(lines: Lines) -> None:
    for (line,) in lines.values():
        line["unseen"] = []
    header, *rows = cells(text_of(lines), 2)
    assert header[1] == "MRR@10, unseen articles (0 questions)"
    assert all(len(row) == len(header) for row in rows)
    assert [row[1:4] for row in rows] == [["–"] * 3] * len(rows)
    assert "–" not in [row[4] for row in rows]


def test_arms_are_compared_with_the_first_stage_and_with_as_many_semi_hard_negatives(
    lines: Lines,
) -> None:
    noisy = [value + gain for value, gain in zip(BASE, [0.2, -0.1] * 5, strict=True)]
    lines["hard_2"] = [a_line("hard_2", noisy)]
    header, *rows = cells(text_of(lines, ("MRR@10", "R@1")), 2)
    assert header[1] == "R@1"
    assert header[2] == "difference to first_stage"
    assert header[5] == "difference to semi_hard, as many negatives"
    by_arm = {row[0]: row for row in rows}
    assert by_arm["**first_stage**"][2:] == ["–"] * 6
    assert by_arm["semi_hard_2"][2].startswith("+0.300 [")
    assert by_arm["semi_hard_2"][5:] == ["–"] * 3
    assert by_arm["untrained"][5:] == ["–"] * 3
    semi_hard = [value + 0.3 for value in BASE]
    easy = [value + 0.1 for value in BASE]
    found = [paired_randomisation(own, semi_hard) for own in (easy, noisy)]
    assert by_arm["easy_2"][5].startswith("-0.200 [")
    assert [by_arm[arm][6] for arm in ("easy_2", "hard_2")] == [
        f"{p:.4f}" for p in holm([each.p for each in found])
    ]


def test_how_high_the_negatives_score_before_and_after_an_epoch(lines: Lines) -> None:
    header, *rows = cells(text_of(lines), 3)
    assert header == [
        "arm",
        "scored by",
        *("below 0.5", "0.5 to 0.8", "0.8 to 0.9", "from 0.9"),
        "mean",
    ]
    assert [row[:2] + row[-1:] for row in rows[:3]] == [
        ["easy_2", "ranker, before", "0.500"],
        ["easy_2", "ranker, one epoch", "0.750"],
        ["easy_2", "bi-encoder", "0.625"],
    ]
    assert {row[0] for row in rows} == {"easy_2", "semi_hard_2", "hard_2"}


def test_a_run_of_less_than_an_epoch_has_no_scores_after_one(lines: Lines) -> None:
    short = lines["easy_2"][0]
    short["epochs"] = short["epochs"][:1]
    _, *rows = cells(text_of({"easy_2": [short]}), 3)
    assert rows[1] == ["easy_2", "ranker, one epoch", *["–"] * 5]


def test_nothing_measured_is_said() -> None:
    assert text_of({FIRST_STAGE: []}) == "## law\n\nNothing is measured yet.\n"


def test_table_2_has_every_strategy_with_every_number() -> None:
    arms = RANKER_ARMS.tables["table2"]
    assert len(arms) == len(set(arms)) == 2 + len(STRATEGIES) * len(NUMBERS)
    assert set(arms) == set(RANKER_ARMS.arms)
    assert SEMI_HARD["hard_5"] == "semi_hard_5"
    changes = RANKER_ARMS.arms["easy_10"]
    assert changes == {"strategy": "easy", "negatives": 10}


def test_a_plot_by_number_of_negatives_has_a_line_a_strategy(lines: Lines, tmp_path: Path) -> None:
    whole = {
        arm: [a_line(arm, [value + place / 100 for value in BASE])]
        for place, arm in enumerate(RANKER_ARMS.tables["table2"])
    }
    files = plot_arms("law", whole, ("MRR@10",), tmp_path, FIRST_STAGE)
    assert [file.name for file in files] == [
        f"law-{plot}.{kind}" for plot in ("arms", "negatives") for kind in ("png", "svg")
    ]
    drawn = (tmp_path / "law-negatives.svg").read_text(encoding="utf-8")
    assert all(name in drawn for name in (*STRATEGIES, FIRST_STAGE, "negatives of a question"))
    assert plot_arms("law", {"easy_2": lines["easy_2"]}, ("MRR@10",), tmp_path, FIRST_STAGE) == []
