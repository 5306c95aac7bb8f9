from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from components.models.locks import folder_lock
from training.ablation.grid import Outcome, make_missing, runs_of
from training.ablation.results import Results
from training.ablation.run import Run
from training.command_line import SettingsError, TrainingError

Runs = Callable[..., list[Run]]
Line = Callable[..., dict[str, Any]]


class FakeRuns:
    """Makes runs at once, and notes which; each takes as many seconds as it says."""

    def __init__(self, line: Line, path: Path, seconds: float = 10.0) -> None:
        self.made: list[Run] = []
        self.now = 0.0
        self.broken: dict[str, Exception] = {}
        self.results = Results(path / "results.jsonl")
        self.work = path / "work"
        self._line = line
        self._seconds = seconds

    def __call__(self, run: Run, work: Path) -> dict[str, Any]:
        work.mkdir(parents=True, exist_ok=True)
        (work / "state").touch()
        if run.arm in self.broken:
            raise self.broken[run.arm]
        self.made.append(run)
        seconds = self._seconds if run.trained else 1.0
        self.now += seconds
        return self._line(run, seconds=seconds)

    def go(self, runs: list[Run], budget_s: float | None = None) -> Outcome:
        return make_missing(
            runs, self.results, self, self.work, budget_s=budget_s, clock=lambda: self.now
        )


@pytest.fixture
def fake(line: Line, tmp_path: Path) -> FakeRuns:
    return FakeRuns(line, tmp_path)


def named(runs: list[Run]) -> list[tuple[int, int, str]]:
    return [(run.settings.seed, run.fold, run.arm) for run in runs]


def test_all_arms_of_a_seed_and_fold_come_before_the_next(runs: Runs, fake: FakeRuns) -> None:
    outcome = fake.go(runs(seeds=(4, 2), folds=2))
    assert named(fake.made) == [
        (seed, fold, arm) for seed in (4, 2) for fold in (0, 1) for arm in ("bm25_fixed", "cusines")
    ]
    assert outcome == Outcome(0, [])


def test_memory_is_given_back_after_each_run(
    runs: Runs, fake: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    monkeypatch.setattr("training.ablation.grid.give_back_memory", lambda: given.append(1))
    fake.go(runs(seeds=(4,), folds=2))
    assert len(given) == len(fake.made) == 4


def test_datasets_come_one_after_the_other(
    grid_settings: Any, fake: FakeRuns, small_law: Path, write_law: Any, tmp_path: Path
) -> None:
    from training.ablation.dataset import Dataset

    other = write_law(tmp_path / "other")
    settings = grid_settings(datasets=(str(other), str(small_law)), arms=("random", "cusines"))
    made = runs_of(settings, [Dataset.read(place) for place in settings.datasets])
    assert [run.dataset.name for run in made] == ["other"] * 2 + [small_law.name] * 2


def test_two_datasets_of_one_name_are_refused(
    runs: Runs, small_law: Path, write_law: Any, tmp_path: Path
) -> None:
    other = write_law(tmp_path / small_law.name)
    with pytest.raises(SettingsError, match="Rename one"):
        runs(datasets=(str(small_law), str(other)))


def test_runs_that_are_found_are_not_made_again(
    runs: Runs, fake: FakeRuns, line: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    all_of_them = runs(seeds=(0, 1))
    fake.results.add(line(all_of_them[1]))
    fake.go(all_of_them)
    assert named(fake.made) == [(0, 0, "bm25_fixed"), (1, 0, "bm25_fixed"), (1, 0, "cusines")]
    assert "1 of 4 runs are found" in capsys.readouterr().err
    fake.made.clear()
    assert fake.go(all_of_them) == Outcome(0, [])
    assert fake.made == []


def test_arms_with_equal_settings_are_one_run_under_the_first_name(
    runs: Runs, fake: FakeRuns
) -> None:
    both = runs(arms=("cusines", "buckets_3"))
    fake.go(both)
    assert [run.arm for run in fake.made] == ["cusines"]
    assert {run.key for run in both} == set(fake.results.lines)


def test_a_run_that_goes_wrong_is_named_and_the_others_are_made(runs: Runs, fake: FakeRuns) -> None:
    fake.broken = {"random": TrainingError("loss is nan"), "tree": SettingsError("too many")}
    outcome = fake.go(runs(arms=("random", "tree", "cusines")))
    assert [run.arm for run in fake.made] == ["cusines"]
    assert len(outcome.failed) == 2
    assert "random: loss is nan" in outcome.failed[0]
    assert "tree: too many" in outcome.failed[1]
    # What they had is kept, so that they can go on.
    assert len(list(fake.work.iterdir())) == 2


def test_results_that_cannot_be_written_are_refused_before_the_first_run(
    runs: Runs, fake: FakeRuns, tmp_path: Path
) -> None:
    (tmp_path / "a file").touch()
    fake.results = Results(tmp_path / "a file" / "results.jsonl")
    with pytest.raises(SettingsError, match=r"results: .*results\.jsonl cannot be written"):
        fake.go(runs())
    assert fake.made == []


def test_a_work_folder_goes_when_its_line_is_written(
    runs: Runs, fake: FakeRuns, line: Line
) -> None:
    two = runs()
    # Killed between the line and the folder's end.
    fake.results.add(line(two[0]))
    (fake.work / two[0].key).mkdir(parents=True)
    fake.go(two)
    assert list(fake.work.iterdir()) == []


def test_what_another_process_makes_is_left_to_it(runs: Runs, fake: FakeRuns, line: Line) -> None:
    three = runs(arms=("random", "tree", "cusines"))
    with folder_lock(fake.work / three[0].key, wait=False):
        assert fake.go(three) == Outcome(0, [], elsewhere=1)
    assert [run.arm for run in fake.made] == ["tree", "cusines"]
    # It was killed: the run is made now.
    assert fake.go(three) == Outcome(0, [])
    assert [run.arm for run in fake.made] == ["tree", "cusines", "random"]


def test_what_another_process_ended_meanwhile_is_not_made_again(
    runs: Runs, fake: FakeRuns, line: Line
) -> None:
    three = runs(arms=("random", "tree", "cusines"))
    other = Results(fake.results.path)

    def perform(run: Run, work: Path) -> dict[str, Any]:
        if run is three[0]:
            other.add(line(three[1]))
        return fake(run, work)

    assert make_missing(three, fake.results, perform, fake.work) == Outcome(0, [])
    assert [run.arm for run in fake.made] == ["random", "cusines"]
    assert list(fake.work.iterdir()) == []


def test_what_another_process_ended_is_not_counted_as_left(
    runs: Runs, fake: FakeRuns, line: Line
) -> None:
    three = runs(arms=("random", "tree", "cusines"))
    other = Results(fake.results.path)

    def perform(run: Run, work: Path) -> dict[str, Any]:
        other.add(line(three[1]))
        fake.now += 20
        raise TrainingError("loss is nan")

    def clock() -> float:
        return fake.now

    outcome = make_missing(three, fake.results, perform, fake.work, budget_s=15.0, clock=clock)
    assert (outcome.left, len(outcome.failed)) == (1, 1)


def test_a_line_that_comes_just_before_the_lock_is_seen(
    runs: Runs, fake: FakeRuns, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = runs(arms=("random",))
    other = Results(fake.results.path)

    @contextmanager
    def ended_just_now(folder: Path, *, wait: bool) -> Iterator[bool]:
        with folder_lock(folder, wait=wait) as held:
            other.add(line(run))
            yield held

    monkeypatch.setattr("training.ablation.grid.folder_lock", ended_just_now)
    assert fake.go([run]) == Outcome(0, [])
    assert fake.made == []
    assert list(fake.work.iterdir()) == []


def test_no_run_is_begun_that_would_end_after_the_budget(runs: Runs, fake: FakeRuns) -> None:
    all_of_them = runs(arms=("untrained", "random", "tree", "cusines"))
    # 1 s untrained, 10 s the first trained one; a second would end at 21 s.
    assert fake.go(all_of_them, budget_s=21.0) == Outcome(2, [])
    assert [run.arm for run in fake.made] == ["untrained", "random"]
    # What the file says of the others counts from the start.
    assert fake.go(all_of_them, budget_s=9.0) == Outcome(2, [])
    assert fake.go(all_of_them, budget_s=10.5) == Outcome(1, [])
    assert fake.go(all_of_them, budget_s=10.5) == Outcome(0, [])


def test_other_machines_runs_say_nothing_of_this_ones_time(
    runs: Runs, fake: FakeRuns, line: Line
) -> None:
    two = runs()
    slow = line(two[0], seconds=10_000.0)
    fake.results.add({**slow, "environment": {**slow["environment"], "device": "another"}})
    assert fake.go(two, budget_s=20.0) == Outcome(0, [])


def test_a_run_is_expected_to_take_what_its_arm_took_else_what_the_longest_did(
    runs: Runs, fake: FakeRuns, line: Line
) -> None:
    all_of_them = runs(arms=("random", "tree", "cusines"), seeds=(0, 1))
    for run, seconds in zip(all_of_them[:2], (10.0, 100.0), strict=True):
        fake.results.add(line(run, seconds=seconds))
    # Of cusines nothing is known; random took 10 s before.
    assert fake.go(all_of_them, budget_s=100.0) == Outcome(4, [])
    assert fake.go(all_of_them[3:4], budget_s=10.5) == Outcome(0, [])
    assert named(fake.made) == [(1, 0, "random")]


def test_a_budget_of_nothing_makes_nothing(runs: Runs, fake: FakeRuns) -> None:
    assert fake.go(runs(arms=("untrained", "cusines")), budget_s=0) == Outcome(2, [])


def test_the_seed_reaches_training_and_the_untrained_is_told_apart(runs: Runs) -> None:
    made = runs(arms=("untrained", "cusines"), seeds=(7,))
    assert [run.settings.seed for run in made] == [7, 7]
    assert [run.trained for run in made] == [False, True]
