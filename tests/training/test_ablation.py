"""Grids: arms, folds, keys of runs, results on disk, tables and plots."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from accelerate import Accelerator
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from components.joiners.rank_fusion import StatuteRankFuser
from components.models.locks import folder_lock
from components.statutes.fusion import fuse_ranks
from components.statutes.question import Question
from training.ablation.arms import (
    CUSINES_ARMS,
    DENSE_METRICS,
    FUSED,
    GRAPH_ARMS,
    METRICS,
    Dataset,
    folds_of,
)
from training.ablation.grid import GridSettings, Outcome, Results, make_missing, runs_of
from training.ablation.report import LEARNERS, tables
from training.ablation.runs import Run, key_of, measure
from training.command_line import SettingsError, TrainingError
from training.cusines import BiEncoderLearner
from training.loop import fit
from training.records import environment
from training.settings import CusinesSettings


@pytest.fixture
def runs(grid_settings: Callable[..., GridSettings]) -> Callable[..., list[Run]]:
    """`runs(field=value, ...)`: the runs of a grid."""

    def of(**fields: Any) -> list[Run]:
        settings = grid_settings(**fields)
        return runs_of(settings, [Dataset.read(place) for place in settings.datasets])

    return of


def line(run: Run, *, value: float = 0.5, seconds: float = 1.0) -> dict[str, Any]:
    """What a run's line could be, every question's value the same."""
    rows = list(run.split.rows)
    epoch = {"epoch": 0, "dev": dict.fromkeys(DENSE_METRICS, value), "negatives": NEGATIVES}
    return {
        "key": run.key,
        **run.about,
        "environment": {**environment("cpu"), "dtype": "float32", "runs_on": "cpu"},
        "articles_encoded": 40,
        "passes_saved": 0.25,
        "steps": 6,
        "seconds": {"total": seconds},
        "epoch": 1,
        "epochs": [epoch, {**epoch, "epoch": 1}] if run.trained else [],
        "means": dict.fromkeys(METRICS, value),
        "questions": rows,
        "unseen": rows[:1],
        "values": {metric: [value] * len(rows) for metric in METRICS},
    }


NEGATIVES = {
    "drawn": 30,
    "buckets": [10, 0, 20],
    "views": {"tree": 30},
    "mean_tree_distance": 4.0,
    "overlap": 0.5,
    "ties": {"tree": 0.9},
    "audit": {"above_best_positive": [0.3, None, 0.6], "above_a_positive": [0.3, None, 0.6]},
}


# Arms


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
def test_an_arm_is_a_switch_away_from_cusines(settings, arm, differs):
    assert changed(arm, settings()) == differs


def test_the_paper_s_arms_differ_in_what_its_tables_compare(settings):
    base = settings(schedule="constant", negatives_per_question=4)
    of = {arm: CUSINES_ARMS.settings_of(arm, base) for arm in CUSINES_ARMS.arms}
    views = {"static": ("bm25",), "tree": ("tree",), "sequence": ("sequence",)}
    views |= {"structural": ("tree", "sequence"), "static_structural": ("tree", "sequence", "bm25")}
    for name, own in views.items():
        fixed = of[f"{name}_fixed"]
        assert (fixed.views, fixed.schedule, fixed.buckets) == (own, "fixed", 1)
    # The grid's schedule is that of the arms which do not name one.
    assert {of[arm].schedule for arm in ("tree", "static", "semantic", "cusines")} == {"constant"}
    rotating = of["bm25_rotating"]
    assert (rotating.views, rotating.candidates) == (("bm25",), 10)
    assert (rotating.negatives_per_question, rotating.buckets) == (1, 1)


@pytest.mark.parametrize("table", ["table2", "table3", "table4", "figure1"])
def test_a_graph_network_has_every_arm_of_a_table_too(settings, graph_settings, table):
    chosen = CUSINES_ARMS.chosen([table], [])
    assert GRAPH_ARMS.chosen([table], []) == tuple(a for a in GRAPH_ARMS.arms if a in chosen)
    for arm in chosen:
        alone = CUSINES_ARMS.settings_of(arm, settings())
        above = GRAPH_ARMS.settings_of(arm, graph_settings())
        if arm != "untrained":
            assert above.network == "gatv2"
            for name in ("views", "schedule", "buckets", "candidates", "permute_tree"):
                assert getattr(above, name) == getattr(alone, name), (arm, name)
    assert CUSINES_ARMS.baseline_of(chosen) == GRAPH_ARMS.baseline_of(chosen) == "bm25_rotating"
    assert CUSINES_ARMS.baseline_of(["bm25_fixed", "cusines"]) == "bm25_fixed"


def test_in_batch_encodes_as_many_articles_a_step_and_in_all(settings):
    base = settings(negatives_per_question=4, batch_size=6, epochs=3)
    arm, other = (CUSINES_ARMS.settings_of(name, base) for name in ("in_batch", "random"))
    assert arm.batch_size == other.batch_size * (1 + other.negatives_per_question)
    assert arm.epochs == other.epochs * (1 + other.negatives_per_question)
    assert arm.negatives_per_question == 0


# Data and folds


@pytest.fixture(scope="module")
def aldermere() -> Dataset:
    return Dataset.read("aldermere")


def test_small_data_is_measured_in_five_folds_and_large_on_its_dev_split(
    write_law, question, tmp_path
):
    many = [question(n, [n % 30], "dev" if n < 50 else "train") for n in range(200)]
    small = Dataset.read(str(write_law(tmp_path / "small", questions=many[:199])))
    large = Dataset.read(str(write_law(tmp_path / "large", questions=many)))
    assert small.n_folds(None) == 5
    assert large.n_folds(None) == 1
    assert large.n_folds(3) == 3


def test_the_folds_of_a_seed_measure_every_question_once(aldermere):
    splits = [aldermere.split(5, fold, seed=1) for fold in range(5)]
    rows = [row for split in splits for row in split.rows]
    assert sorted(rows) == list(range(len(aldermere.questions)))
    for split in splits:
        assert split.data.dev == [aldermere.questions[row] for row in split.rows]
        assert len(split.data.train) + len(split.data.dev) == len(aldermere.questions)
    assert len({split.sha256 for split in splits}) == 5


def asked(texts: list[str]) -> list[Question]:
    return [Question(f"q{n}", text, ("a",)) for n, text in enumerate(texts)]


@given(
    st.lists(st.sampled_from([f"Who pays {n}?" for n in range(12)]), min_size=12, max_size=40),
    st.integers(2, 4),
    st.integers(0, 5),
)
def test_folds_part_the_questions_evenly_and_no_text_stands_in_two(texts, n_folds, seed):
    # So that there are as many different texts as folds.
    texts += [f"Who pays {n}?" for n in range(n_folds)]
    varied = [text.upper() if n % 2 else f" {text} " for n, text in enumerate(texts)]
    folds = folds_of(asked(varied), n_folds, seed=seed)
    fold_of: dict[str, set[int]] = {}
    for text, fold in zip(texts, folds, strict=True):
        fold_of.setdefault(text, set()).add(fold)
    assert all(len(stands) == 1 for stands in fold_of.values())
    sizes = Counter(folds)
    assert set(sizes) == set(range(n_folds))
    assert max(sizes.values()) - min(sizes.values()) <= max(Counter(texts).values())


# Keys

Runs = Callable[..., list[Run]]


def key(runs: Runs, arm: str = "cusines", **fields: Any) -> str:
    return next(run.key for run in runs(arms=("bm25_fixed", arm), **fields) if run.arm == arm)


def test_a_run_is_the_same_wherever_data_and_model_lie_and_whatever_it_runs_on(
    runs, small_law, tiny_bert, tmp_path
):
    law, model = tmp_path / "a law", tmp_path / "a model"
    shutil.copytree(small_law, law)
    shutil.copytree(tiny_bert, model)
    elsewhere = key(
        runs,
        datasets=(str(law),),
        model=str(model),
        output=str(tmp_path / "other"),
        checkpoint_every=7,
        seeds=(1, 0),
    )
    assert key(runs, seeds=(0,)) in {elsewhere, *(run.key for run in runs(seeds=(1, 0)))}
    assert key(runs, seeds=(1,)) == elsewhere


@pytest.mark.parametrize(
    "fields",
    [
        {"learning_rate": 1e-5},
        {"negatives_per_question": 2},
        {"folds": 2},
        {"dtype": "auto"},
        {"select_by": "R@100"},
        # With dropout other pieces draw other numbers.
        {"gradient_caching": True},
    ],
)
def test_what_a_result_depends_on_is_in_the_key(runs, fields):
    assert key(runs) != key(runs, **fields)


def test_a_removed_setting_is_in_the_key_only_where_it_was_not_the_default(runs):
    run = runs()[0]

    def recorded(**removed: Any) -> str:
        return key_of({**run.about, "settings": {**run.about["settings"], **removed}})

    assert recorded(question_order="random", teacher=None, patience=None) == run.key
    assert recorded(question_order="loss") != run.key


def test_every_fold_and_arm_has_a_key_of_its_own_but_for_arms_with_equal_settings(runs):
    made = runs(tables=("main", "figure1"), folds=2)
    keys = {run.key for run in made}
    # Three buckets are what CuSINeS has.
    assert len(keys) == len(made) - 2


# Runs of a grid


class FakeRuns:
    """Makes runs at once, and notes which; each takes as many seconds as it says."""

    def __init__(self, path: Path, seconds: float = 10.0) -> None:
        self.made: list[Run] = []
        self.now = 0.0
        self.broken: dict[str, Exception] = {}
        self.results = Results(path / "results.jsonl")
        self.work = path / "work"
        self._seconds = seconds

    def __call__(self, run: Run, work: Path, deadline: float | None) -> dict[str, Any]:
        work.mkdir(parents=True, exist_ok=True)
        (work / "state").touch()
        if run.arm in self.broken:
            raise self.broken[run.arm]
        self.made.append(run)
        seconds = self._seconds if run.trained else 1.0
        self.now += seconds
        return line(run, seconds=seconds)

    def go(self, runs: list[Run], budget_s: float | None = None) -> Outcome:
        return make_missing(
            runs, self.results, self, self.work, budget_s=budget_s, clock=lambda: self.now
        )


@pytest.fixture
def fake(tmp_path: Path) -> FakeRuns:
    return FakeRuns(tmp_path)


def named(runs: list[Run]) -> list[tuple[int, int, str]]:
    return [(run.settings.seed, run.fold, run.arm) for run in runs]


def test_all_arms_of_a_seed_and_fold_come_before_the_next(runs, fake):
    outcome = fake.go(runs(seeds=(4, 2), folds=2))
    assert named(fake.made) == [
        (seed, fold, arm) for seed in (4, 2) for fold in (0, 1) for arm in ("bm25_fixed", "cusines")
    ]
    assert outcome == Outcome(0, [])


def test_runs_that_are_found_are_not_made_again(runs, fake, capsys):
    all_of_them = runs(seeds=(0, 1))
    fake.results.add(line(all_of_them[1]))
    fake.go(all_of_them)
    assert named(fake.made) == [(0, 0, "bm25_fixed"), (1, 0, "bm25_fixed"), (1, 0, "cusines")]
    assert "1 of 4 runs are already in" in capsys.readouterr().err
    fake.made.clear()
    assert fake.go(all_of_them) == Outcome(0, [])
    assert fake.made == []


def test_a_run_that_goes_wrong_is_named_and_the_others_are_made(runs, fake):
    fake.broken = {"random": TrainingError("loss is nan"), "tree": SettingsError("too many")}
    outcome = fake.go(runs(arms=("random", "tree", "cusines")))
    assert [run.arm for run in fake.made] == ["cusines"]
    assert len(outcome.failed) == 2
    assert "random: loss is nan" in outcome.failed[0]
    assert "tree: too many" in outcome.failed[1]
    # What they had is kept, so that they can go on.
    assert len(list(fake.work.iterdir())) == 2


def test_what_another_process_makes_is_left_to_it(runs, fake):
    three = runs(arms=("random", "tree", "cusines"))
    with folder_lock(fake.work / three[0].key, wait=False):
        assert fake.go(three) == Outcome(0, [], elsewhere=1)
    assert [run.arm for run in fake.made] == ["tree", "cusines"]
    # It was killed: the run is made now.
    assert fake.go(three) == Outcome(0, [])
    assert [run.arm for run in fake.made] == ["tree", "cusines", "random"]


def test_no_run_is_begun_that_would_end_after_the_budget(runs, fake):
    all_of_them = runs(arms=("untrained", "random", "tree", "cusines"))
    # 1 s untrained, 10 s the first trained one; a second would end at 21 s.
    assert fake.go(all_of_them, budget_s=21.0) == Outcome(2, [])
    assert [run.arm for run in fake.made] == ["untrained", "random"]
    # What the file says of the others counts from the start.
    assert fake.go(all_of_them, budget_s=9.0) == Outcome(2, [])
    assert fake.go(all_of_them, budget_s=10.5) == Outcome(1, [])
    assert fake.go(all_of_them, budget_s=10.5) == Outcome(0, [])


# Measuring

ranking = st.lists(st.integers(0, 30), unique=True, max_size=20)


@given(ranking, ranking)
def test_ranks_are_fused_as_the_pipelines_fuse_them(bm25, dense):
    fuser = StatuteRankFuser(stages=["bm25", "dense"], k=10, top_k=40)

    def documents(positions: Sequence[int]) -> list[Document]:
        return [Document(id=str(each), content="law") for each in positions]

    found = fuser.run(bm25=documents(bm25), dense=documents(dense))["documents"]
    assert fuse_ranks([bm25, dense]) == [int(document.id) for document in found]


def test_measured_after_training_is_what_the_loop_measured(settings, small_law, tmp_path):
    dataset = Dataset.read(str(small_law))
    split = dataset.split(1, 0, seed=0)
    work = tmp_path / "work"
    work.mkdir()
    learner, state = fit(
        settings(max_steps=3), split.data, Accelerator(cpu=True), work, BiEncoderLearner
    )
    measured = measure(learner.encode(), split.data, [np.arange(0)] * 4)
    assert state.best is not None
    best = next(each for each in state.records if each["epoch"] == state.best["epoch"])
    assert {metric: fmean(measured[metric]) for metric in DENSE_METRICS} == {
        metric: best["dev"][metric] for metric in DENSE_METRICS
    }
    # BM25 found nothing, so the fused ranking is the dense one.
    assert measured[FUSED] == measured["R@10"]
    assert tuple(measured) == METRICS


# Results


@pytest.fixture
def two(runs: Runs) -> list[dict[str, Any]]:
    return [line(run) for run in runs()]


def test_lines_are_found_again_and_one_cut_anywhere_is_removed(two, tmp_path, capsys):
    path = tmp_path / "new" / "results.jsonl"
    results = Results(path)
    for each in two:
        results.add(each)
    text = path.read_bytes()
    assert [json.loads(raw) for raw in text.splitlines()] == two
    assert Results(path).lines == {each["key"]: each for each in two}
    first = text.index(b"\n") + 1
    for size in {*range(first + 1, len(text) - 1, 97), first + 1, len(text) - 2}:
        path.write_bytes(text[:size])
        assert list(Results(path).lines) == [two[0]["key"]]
        assert path.read_bytes() == text[:first]
        assert f"{path}: line 2 was cut off" in capsys.readouterr().err
        Results(path).add(two[1])
        assert path.read_bytes() == text


def test_a_line_is_added_after_what_a_kill_left_of_another(two, tmp_path):
    path = tmp_path / "results.jsonl"
    results = Results(path)
    results.add(two[0])
    with path.open("ab") as file:
        file.write(b'{"key": "of another gr')
    results.add(two[1])
    assert [json.loads(raw) for raw in path.read_bytes().splitlines()] == two


# Tables


def cells(text: str, first: str, nth: int = 0) -> list[list[str]]:
    """The nth table whose header begins with a cell, without the rule under it."""
    found = [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()]
        for block in text.split("\n\n")
        if block.startswith("|")
    ]
    header, _, *rows = [table for table in found if table[0][0] == first][nth]
    return [header, *rows]


def test_means_costs_and_a_table_a_metric(runs):
    made = runs(arms=("untrained", "bm25_fixed", "cusines"), seeds=(0, 1))
    reached = {"untrained": 0.25, "bm25_fixed": 0.5, "cusines": 0.75}
    lines = {
        arm: [line(run, value=v) for run in made if run.arm == arm] for arm, v in reached.items()
    }
    text = tables("law", lines, 2, ("R@100", "fused R@10"), "bm25_fixed", LEARNERS)
    assert text.startswith("## law\n\nQuestions: 4 (dev); seeds: 0, 1.")
    header, *rows = cells(text, "arm")
    assert tuple(header[2 : 2 + len(METRICS)]) == METRICS
    assert [row[0] for row in rows] == ["untrained", "**bm25_fixed**", "cusines"]
    assert [row[header.index("MAP")] for row in rows] == ["0.250", "0.500", "0.750"]
    assert rows[2][header.index("runs")] == "2/2"
    assert rows[2][header.index("articles encoded")] == "40"
    assert rows[2][header.index("passes saved")] == "25%"
    assert rows[2][header.index("R@100, last epoch")] == "0.750"
    assert rows[0][header.index("R@100, last epoch")] == "–"
    for nth, metric in ((1, "R@100"), (2, "fused R@10")):
        header, *rows = cells(text, "arm", nth)
        assert header[1] == metric
        assert rows[1][2:] == ["–"] * 3
        assert rows[2][1:3] == ["0.750 [0.750, 0.750]", "+0.250 [+0.250, +0.250]"]
        assert rows[2][4] == "–"


# Plots
