from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from training.ablation.arms import BUCKETS, CUSINES_ARMS, GRAPH_ARMS, SCHEDULES, Arms
from training.command_line import SettingsError
from training.settings import CusinesSettings

Settings = Callable[..., CusinesSettings]


def changed(arm: str, base: CusinesSettings) -> dict[str, Any]:
    """In what an arm differs from CuSINeS with everything."""
    own = dataclasses.asdict(CUSINES_ARMS.settings_of(arm, base))
    full = dataclasses.asdict(CUSINES_ARMS.settings_of("cusines", base))
    return {name: value for name, value in own.items() if value != full[name]}


@pytest.mark.parametrize(
    ("arm", "differs"),
    [
        ("cusines", {}),
        ("random", {"views": (), "buckets": 1}),
        ("bm25_fixed", {"views": ("bm25",), "schedule": "fixed", "buckets": 1}),
        ("bm25_drawn", {"views": ("bm25",), "buckets": 1, "candidates": 40}),
        ("structural", {"views": ("tree", "sequence")}),
        ("permuted", {"permute_tree": True}),
        ("constant", {"schedule": "constant"}),
        ("reversed", {"schedule": "reversed"}),
        ("static", {"views": ("tree", "sequence", "bm25")}),
        ("mixed", {"views": ("tree", "sequence", "semantic", "bm25")}),
        ("buckets_5", {"buckets": 5}),
    ],
)
def test_an_arm_is_a_switch_away_from_cusines(
    settings: Settings, arm: str, differs: dict[str, Any]
) -> None:
    assert changed(arm, settings()) == differs


def test_an_arm_is_the_same_whatever_the_base_says_of_its_switches(settings: Settings) -> None:
    base = settings(views=("run",), schedule="reversed", permute_tree=True)
    assert CUSINES_ARMS.settings_of("cusines", base) == CUSINES_ARMS.settings_of(
        "cusines", settings()
    )


def test_arms_without_a_ranking_to_draw_from_have_no_candidates(settings: Settings) -> None:
    base = settings(candidates=12)
    held = {arm: CUSINES_ARMS.settings_of(arm, base).candidates for arm in CUSINES_ARMS.arms}
    without = {"in_batch", "random", "bm25_fixed", "hardest"}
    assert {arm for arm, candidates in held.items() if candidates is None} == without
    assert held["bm25_drawn"] == 40
    assert held["cusines"] == held["buckets_2"] == 12


def test_in_batch_encodes_as_many_articles_a_step_and_in_all(settings: Settings) -> None:
    base = settings(negatives_per_question=4, batch_size=6, epochs=3)
    arm, other = (
        CUSINES_ARMS.settings_of("in_batch", base),
        CUSINES_ARMS.settings_of("random", base),
    )
    assert arm.batch_size == other.batch_size * (1 + other.negatives_per_question)
    assert arm.epochs == other.epochs * (1 + other.negatives_per_question)
    assert arm.negatives_per_question == 0


def test_in_batch_has_patience_for_as_many_measurements(settings: Settings) -> None:
    base = settings(negatives_per_question=4, measure_every=2, patience=6)
    arm = CUSINES_ARMS.settings_of("in_batch", base)
    assert arm.patience is not None
    assert arm.patience / arm.measure_every == 6 / 2
    assert CUSINES_ARMS.settings_of("in_batch", settings()).patience is None


def test_three_buckets_are_cusines_itself(settings: Settings) -> None:
    assert CUSINES_ARMS.settings_of("buckets_3", settings()) == CUSINES_ARMS.settings_of(
        "cusines", settings()
    )


@pytest.mark.parametrize("arms", [CUSINES_ARMS, GRAPH_ARMS])
def test_tables_name_arms_and_have_the_baseline_to_compare_with(arms: Arms) -> None:
    for table, names in arms.tables.items():
        assert set(names) <= set(arms.arms), table
        assert arms.baseline in names, table


def test_the_figure_has_its_arms() -> None:
    assert {*SCHEDULES, *BUCKETS} <= set(CUSINES_ARMS.tables["figure1"])
    assert len(BUCKETS) == 6


def test_arms_of_tables_and_named_ones_are_each_there_once_in_one_order() -> None:
    tables = CUSINES_ARMS.tables
    arms = CUSINES_ARMS.chosen(("table4", "main"), ("buckets_2", "cusines"))
    assert sorted(arms) == sorted({*tables["main"], *tables["table4"], "buckets_2"})
    assert list(arms) == [arm for arm in CUSINES_ARMS.arms if arm in arms]


@pytest.mark.parametrize(("tables", "arms"), [(("table9",), ()), ((), ("bm52",))])
def test_what_is_none_is_refused_with_what_there_is(
    tables: tuple[str, ...], arms: tuple[str, ...]
) -> None:
    with pytest.raises(SettingsError, match=r"(table9|bm52).*there are .*(main|bm25_fixed)"):
        CUSINES_ARMS.chosen(tables, arms)
