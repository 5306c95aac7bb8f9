"""training.compare: arms, folds, keys of runs, results on disk, tables, and the papers' presets."""

from __future__ import annotations

import csv
import gzip
import hashlib
import itertools
import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.models.biencoder import BiEncoder
from components.models.folder import folder_lock
from components.statutes.question import Question
from training import compare
from training.checkpoint import environment
from training.command_line import (
    DONE,
    SettingsError,
    TrainingError,
    settings_from,
)
from training.compare import (
    DENSE_METRICS,
    FUSED,
    RANKER_METRICS,
    CompareSettings,
    Dataset,
    Plan,
    Results,
    Run,
    by_epoch,
    key_of,
    make_missing,
    n_folds,
    page,
    runs_of,
)
from training.data import folds_of

ROOT = Path(__file__).resolve().parents[2]
METRICS = (*DENSE_METRICS, FUSED)
CONFIGS = ROOT / "training" / "configs"
LEDGERS = ROOT / "docs" / "results" / "ledgers"

Comparison = Callable[..., CompareSettings]


@pytest.fixture
def runs(comparison: Comparison) -> Callable[..., list[Run]]:
    """`runs(field=value, ...)`: the runs of a comparison."""
    return lambda *shared, **fields: [
        run for of_law in runs_of(comparison(*shared, **fields)).values() for run in of_law
    ]


def line(run: Run, *, value: float = 0.5) -> dict[str, Any]:
    """What a run's line could be, every question's value the same."""
    rows = list(run.split[1])
    epoch = {"epoch": 0, "dev": dict.fromkeys(DENSE_METRICS, value)}
    return {
        "key": run.key,
        **run.about,
        "environment": {**environment("cpu"), "dtype": "float32", "runs_on": "cpu"},
        "steps": 6,
        "seconds": {"total": 1.0},
        "epoch": 1,
        "epochs": [epoch, {**epoch, "epoch": 1}] if run.about["trained"] else [],
        "questions": rows,
        "values": {metric: [value] * len(rows) for metric in METRICS},
    }


# Settings and presets


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"budget_s": -5.0}, "budget_s"),
        ({"only": ("best",)}, "only"),
        ({"arms": {"a": {"train": "llm"}}}, "arms.a.train"),
        ({"arms": {"a": {"over": "a"}}}, "arms.a.over"),
        ({"tables": {"t": {"arms": ["none"]}}}, "tables.t.arms"),
        ({"tables": {"t": {"arm": []}}}, "tables.t"),
        ({"own": {"format": "bsard", "other": {}}}, "own"),
    ],
)
def test_wrong_settings_are_refused(comparison, fields, field):
    with pytest.raises(SettingsError, match=f"^{field}"):
        runs_of(comparison(**{"only": (), **fields}))


@pytest.mark.parametrize(
    ("own", "field"),
    [({"epochs": "three"}, "epochs"), ({"epoch": 3}, "epoch"), ({"epochs": 0}, "epochs")],
)
def test_an_arm_with_a_wrong_setting_is_named(runs, own, field):
    with pytest.raises(SettingsError, match=f"arms.mine: .*{field}"):
        runs(arms={"mine": own}, only=())


@pytest.mark.parametrize(
    "name",
    [
        *("compare", "compare_question", "compare_graph", "compare_ranker"),
        *("papers/cusines", "papers/gdsr", "papers/soict"),
    ],
)
def test_every_arm_of_a_preset_is_valid(name, tiny_bert):
    flags = ["--config", str(CONFIGS / f"{name}.yaml"), "--output", "out", "--data", "aldermere"]
    settings = settings_from("compare", "", CompareSettings, [*flags, "--model", str(tiny_bert)])
    plan = Plan(settings, "aldermere")
    assert settings.chosen()
    for arm in settings.arms:
        assert plan.settings_of(arm).corpus == "aldermere"
    plan.own_data = bool(settings.own)
    for arm in settings.arms:
        plan.settings_of(arm)


def test_the_papers_rows_have_the_papers_settings():
    def plan(paper: str) -> Plan:
        flags = ["--config", str(CONFIGS / "papers" / f"{paper}.yaml"), "--output", "out"]
        settings = settings_from("compare", "", CompareSettings, [*flags, "--data", "aldermere"])
        own = Plan(settings, "aldermere")
        own.own_data = True
        return own

    cusines = plan("cusines")
    rotating = cusines.settings_of("bm25_rotating")
    assert (rotating.views, rotating.candidates, rotating.negatives_per_question) == (
        ("bm25",),
        10,
        1,
    )
    assert (rotating.epochs, rotating.batch_size, rotating.final) == (15, 24, False)
    for arm in ("tree_fixed", "semantic", "reversed", "buckets_5"):
        alone, above = (cusines.settings_of(name) for name in (arm, f"gnn_{arm}"))
        assert (above.network, above.hidden, above.heads) == ("gatv2", 3072, 1)
        for name in ("views", "schedule", "buckets", "candidates"):
            assert getattr(above, name) == getattr(alone, name), (arm, name)
    gdsr = plan("gdsr")
    assert gdsr.settings_of("gdsr_gcn").network == "gcn"
    assert gdsr.settings_of("gdsr_gcn").views == ("bm25",)
    soict = plan("soict").settings_of("hard_5")
    assert (soict.strategy, soict.negatives, soict.candidates) == ("hard", 5, 90)


# Folds


@pytest.fixture(scope="module")
def aldermere() -> Dataset:
    return Dataset("aldermere")


def test_small_data_is_measured_in_five_folds_and_large_on_its_dev_split(
    write_law, question, tmp_path
):
    many = [question(n, [n % 30], "dev" if n < 50 else "train") for n in range(200)]
    small = Dataset(str(write_law(tmp_path / "small", questions=many[:199])))
    large = Dataset(str(write_law(tmp_path / "large", questions=many)))
    assert [n_folds(*each, ()) for each in ((small, None), (large, None), (large, 3))] == [5, 1, 3]


def test_the_folds_of_a_seed_measure_every_question_once(runs, aldermere):
    made = runs(data=("aldermere",), folds=5, only=("untrained",), seeds=(1,))
    rows = [row for run in made for row in run.split[1]]
    assert sorted(rows) == list(range(len(aldermere.questions)))
    for run in made:
        data, own = run.split
        assert data.dev == [aldermere.questions[row] for row in own]
        assert len(data.train) + len(data.dev) == len(aldermere.questions)
    assert len({run.about["split_sha256"] for run in made}) == 5


def test_an_arm_may_hold_out_training_questions(runs, aldermere):
    (whole,) = runs(data=("aldermere",), arms={"a": {}}, only=("a",), baselines=(), seeds=(0,))
    (held,) = runs(
        data=("aldermere",), arms={"a": {"hold_out": 0.3}}, only=("a",), baselines=(), seeds=(0,)
    )
    data, _ = held.split
    assert len(data.train) + len(data.aside) == len(whole.split[0].train)
    assert len(data.aside) == pytest.approx(0.3 * len(whole.split[0].train), rel=0.02)
    assert whole.key != held.key


@given(
    st.lists(st.sampled_from([f"Who pays {n}?" for n in range(12)]), min_size=12, max_size=40),
    st.integers(2, 4),
    st.integers(0, 5),
)
def test_folds_part_the_questions_evenly_and_no_text_stands_in_two(texts, n_folds, seed):
    # So that there are as many different texts as folds.
    texts += [f"Who pays {n}?" for n in range(n_folds)]
    varied = [text.upper() if n % 2 else f" {text} " for n, text in enumerate(texts)]
    questions = [Question(f"q{n}", text, ("a",)) for n, text in enumerate(varied)]
    folds = folds_of(questions, n_folds, seed=seed)
    fold_of: dict[str, set[int]] = {}
    for text, fold in zip(texts, folds, strict=True):
        fold_of.setdefault(text, set()).add(fold)
    assert {len(stands) for stands in fold_of.values()} == {1}
    sizes = Counter(folds)
    assert set(sizes) == set(range(n_folds))
    assert max(sizes.values()) - min(sizes.values()) <= max(Counter(texts).values())


# Keys


def key(runs: Callable[..., list[Run]], *shared: dict[str, Any], **fields: Any) -> str:
    return next(run.key for run in runs(*shared, **fields) if run.arm == "cusines")


def test_a_run_is_the_same_wherever_data_and_model_lie_and_whatever_it_runs_on(
    runs, small_law, tiny_bert, tmp_path
):
    law, model = tmp_path / "a law", tmp_path / "a model"
    shutil.copytree(small_law, law)
    shutil.copytree(tiny_bert, model)
    elsewhere = {"data": (str(law),), "model": str(model), "output": str(tmp_path / "other")}
    assert key(runs, {"checkpoint_every": 7}, **elsewhere) == key(runs)
    assert key(runs, seeds=(1, 0)) == key(runs, seeds=(1,)) != key(runs)


@pytest.mark.parametrize(
    ("shared", "fields"),
    [
        ({"learning_rate": 1e-5}, {}),
        ({}, {"folds": 2}),
        ({"dtype": "auto"}, {}),
        # With dropout other pieces draw other numbers.
        ({"gradient_caching": True}, {}),
    ],
)
def test_what_a_result_depends_on_is_in_the_key(runs, shared, fields):
    assert key(runs) != key(runs, shared, **fields)


def test_a_removed_setting_is_in_the_key_only_where_it_was_not_the_default(runs):
    run = runs()[0]

    def recorded(**removed: Any) -> str:
        return key_of({**run.about, "settings": {**run.about["settings"], **removed}})

    assert recorded(question_order="random", teacher=None, patience=None) == run.key
    assert recorded(question_order="loss") != run.key


def test_how_many_candidates_a_ranker_is_fitted_to_is_in_the_key_of_what_stands_over_it(runs):
    ranked = {**runs()[0].about, "system": "ranker"}
    keys = [key_of({**ranked, "settings": {"fused_candidates": n}}) for n in (90, 30)]
    assert keys[0] == key_of({**ranked, "settings": {}}) != keys[1]
    assert compare.SYSTEMS["ranker"].defaults("ranker")["fused_candidates"] == 90


def test_arms_with_equal_settings_are_one_run(runs):
    made = runs(only=("bm25_fixed", "buckets_3", "cusines"), folds=2)
    assert (len(made), len({run.key for run in made})) == (6, 4)


# Making runs


class FakeRuns:
    """Makes runs at once, and notes which."""

    def __init__(self, path: Path) -> None:
        self.made: list[Run] = []
        self.broken: dict[str, Exception] = {}
        self.results = Results(path / "results.jsonl")
        self.work = path / "work"

    def __call__(self, run: Run, work: Path, deadline: float | None) -> dict[str, Any]:
        work.mkdir(parents=True, exist_ok=True)
        (work / "state").touch()
        if run.arm in self.broken:
            raise self.broken[run.arm]
        self.made.append(run)
        return line(run)

    def go(self, runs: list[Run], deadline: float | None = None) -> None:
        make_missing(runs, self.results, self, self.work, deadline)


@pytest.fixture
def fake(tmp_path: Path) -> FakeRuns:
    return FakeRuns(tmp_path)


def named(runs: list[Run]) -> list[tuple[int, int, str]]:
    return [(run.settings.seed, run.fold, run.arm) for run in runs]


def test_all_arms_of_a_seed_and_fold_come_first_and_none_is_made_again(runs, fake):
    all_of_them = runs(seeds=(4, 2), folds=2)
    expected = [
        (seed, fold, arm) for seed in (4, 2) for fold in (0, 1) for arm in ("bm25_fixed", "cusines")
    ]
    fake.results.add(line(all_of_them[1]))
    fake.go(all_of_them)
    assert named(fake.made) == [expected[0], *expected[2:]]
    fake.made.clear()
    fake.go(all_of_them)
    assert fake.made == []


def test_a_run_that_goes_wrong_keeps_what_it_had(runs, fake):
    fake.broken = {"tree": TrainingError("loss is nan")}
    with pytest.raises(TrainingError):
        fake.go(runs(only=("random", "tree", "cusines")))
    assert [run.arm for run in fake.made] == ["random"]
    assert len(list(fake.work.iterdir())) == 1


def test_what_another_process_makes_is_left_to_it(runs, fake):
    three = runs(only=("random", "tree", "cusines"))
    with folder_lock(fake.work / three[0].key, wait=False):
        fake.go(three)
    assert [run.arm for run in fake.made] == ["tree", "cusines"]
    # It was killed: the run is made now.
    fake.go(three)
    assert [run.arm for run in fake.made] == ["tree", "cusines", "random"]


def test_no_run_is_begun_after_the_deadline(runs, fake, monkeypatch):
    now = itertools.count()
    monkeypatch.setattr("training.compare.time.monotonic", lambda: float(next(now)))
    fake.go(runs(only=("untrained", "random", "tree")), deadline=2.0)
    assert [run.arm for run in fake.made] == ["untrained", "random"]


def test_measured_after_training_is_what_the_loop_measured(runs, tmp_path):
    """The model is saved and opened again in between."""
    (run,) = runs({"max_steps": 3}, only=("cusines",))
    made = compare.perform(tmp_path / "models", run, tmp_path / "work")
    best = next(each["dev"] for each in made["epochs"] if each["epoch"] == made["epoch"])
    both = [metric for metric in DENSE_METRICS if metric in best]
    assert len(both) >= 9 and tuple(made["values"]) == METRICS
    assert [made["means"][metric] for metric in both] == [best[metric] for metric in both]


def test_runs_of_a_questions_tower_encode_the_law_once(runs, tmp_path, monkeypatch):
    encoded: list[int] = []
    encode = BiEncoder.encode_articles

    def counting(self: BiEncoder, texts: Sequence[str], **how: Any) -> Any:
        encoded.append(len(texts))
        return encode(self, texts, **how)

    monkeypatch.setattr(BiEncoder, "encode_articles", counting)
    made = runs({"towers": "question", "max_steps": 1}, only=("untrained", "tree"), folds=2)
    lines = [compare.perform(tmp_path / "models", run, tmp_path / run.key) for run in made]
    assert len(lines) == 4 and encoded == [30]
    first = next(line for line in lines if line["trained"])
    best = next(each["dev"] for each in first["epochs"] if each["epoch"] == first["epoch"])
    assert first["means"]["MAP"] == best["MAP"]


# Results


@pytest.fixture
def two(runs) -> list[dict[str, Any]]:
    return [line(run) for run in runs()]


def test_lines_are_found_again(two, tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    results = Results(path)
    for each in two:
        results.add(each)
    assert [json.loads(raw) for raw in path.read_bytes().splitlines()] == two
    assert Results(path).lines == {each["key"]: each for each in two}


@pytest.mark.parametrize("text", [b"mine", b"{}", b"{}\n", b"[1]\n", b"null\n{"])
def test_another_file_is_refused_and_left_as_it_is(text, tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(text)
    with pytest.raises(SettingsError, match=r"results\.jsonl:1"):
        Results(path)
    assert path.read_bytes() == text


# Tables


def cells(text: str) -> list[list[str]]:
    """The first table, without the rule under its header."""
    table = next(block for block in text.split("\n\n") if block.startswith("|"))
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]
    return [rows[0], *rows[2:]]


def test_means_differences_and_published_numbers(comparison, tmp_path, monkeypatch):
    monkeypatch.setattr("training.plots.plot_arms", lambda *_: None)
    arms = ["untrained", "bm25_fixed", "cusines"]
    others = {"law": {"Another": {"R@100": 0.8}}}
    table = {"arms": arms, "published": {"cusines": {"R@100": 0.7}}, "others": others}
    fields = {"only": (), "tables": {"table2": table}, "compare": ("R@100", "fused R@10")}
    settings = comparison(seeds=(0, 1), **fields)
    made = next(iter(runs_of(settings).values()))
    reached = {"untrained": 0.25, "bm25_fixed": 0.5, "cusines": 0.75}
    results = Results(tmp_path / "results.jsonl")
    for run in made:
        results.add(line(run, value=reached[run.arm]))
    text = page("law", made, results, settings)
    assert "Questions: 4 (dev); seeds: 0, 1." in text
    header, *rows = cells(text)
    assert header[:3] == ["arm", "runs", "R@100"] and header[4] == "fused R@10"
    names = ["untrained", "**bm25_fixed**", "cusines", "Another, as published"]
    assert [row[0] for row in rows] == names
    assert rows[3][1:5] == ["–", "0.800", "–", "–"]
    assert rows[2][1:3] == ["2/2", "0.750 [0.750, 0.750] (0.700, +0.050)"]
    assert rows[2][3].startswith("+0.250 [+0.250, +0.250], p ")


def test_epochs_are_means_over_questions():
    def run(n: int, *values: float) -> dict[str, Any]:
        epochs = [{"epoch": e, "dev": {"MAP": value}} for e, value in enumerate(values)]
        return {"questions": [0] * n, "epochs": epochs}

    found = by_epoch([run(1, 0.0, 0.5), run(3, 0.0, 0.1)], "MAP")
    assert found == [(0, 0.0), (1, pytest.approx(0.2))]


# The command


def flags(preset: str, law: Path, model: Path, out: Path, *more: str) -> list[str]:
    return [
        *("--config", str(CONFIGS / f"{preset}.yaml"), "--data", str(law), "--output", str(out)),
        *("--model", str(model), "--device", "cpu", "--seeds", "[0]", *more),
    ]


SHORT = [
    *("--cusines.batch_size", "8", "--cusines.dtype", "float32", "--cusines.max_steps", "4"),
    *("--cusines.negatives_per_question", "3", "--cusines.checkpoint_every", "1"),
]


def lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(each) for each in path.open(encoding="utf-8")]


def test_arms_are_run_written_down_tabled_and_drawn(small_law, tiny_bert, tmp_path, capsys):
    out = tmp_path / "out"
    chosen = ["--only", "[untrained,in_batch,cusines]", "--folds", "1"]
    assert compare.main(flags("compare", small_law, tiny_bert, out, *SHORT, *chosen)) == DONE
    untrained, in_batch, cusines = lines_in(out / "results.jsonl")
    for arm, made in {"untrained": untrained, "in_batch": in_batch, "cusines": cusines}.items():
        assert made["arm"] == arm
        assert set(made["values"]) == set(made["means"]) == set(METRICS)
        for metric, values in made["values"].items():
            assert len(values) == len(made["questions"]) == 4
            assert made["means"][metric] == pytest.approx(sum(values) / 4, abs=1e-4)
        assert str(small_law) not in json.dumps(made)
    assert (untrained["steps"], untrained["epochs"]) == (0, [])
    # 22 pairs: 4 steps of 8, of which the third has 6; each pair lists a positive and 3 negatives.
    assert (cusines["steps"], cusines["articles_listed"]) == (4, 30 * 4)
    assert in_batch["settings"]["batch_size"] == 120
    assert in_batch["articles_listed"] == 4 * 22
    first = cusines["epochs"][0]
    assert sum(first["negatives"]["buckets"]) == first["negatives"]["drawn"] == 12 * 3
    # The untrained model is what the others start from.
    assert first["dev"]["MAP"] == pytest.approx(untrained["means"]["MAP"], abs=1e-4)
    table = (out / f"{small_law.name}.md").read_text(encoding="utf-8")
    assert table in capsys.readouterr().out
    assert "| cusines | 1/1 |" in table
    assert {f"{small_law.name}-arms.png", f"{small_law.name}-arms.svg"} < {
        path.name for path in out.iterdir()
    }


@pytest.fixture(scope="module")
def law(write_law: Any, question: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small law, whose test asks what dev asks: whatever chooses on dev, both say the same."""
    learnt = [question(n, [n, n + 7][: 1 + n % 2]) for n in range(12)]
    asked = [question(n, [n + 10, n + 1], "dev") for n in range(12, 16)]
    again = [{**each, "id": f"again-{each['id']}", "split": "test"} for each in asked]
    folder: Path = write_law(
        tmp_path_factory.mktemp("laws") / "law", questions=[*learnt, *asked, *again]
    )
    return folder


@pytest.mark.slow
def test_rankers_are_compared_with_their_first_stage(tiny_bert, law, tmp_path, capsys):
    short = {"candidates": 25, "passage_tokens": 12, "epochs": 1, "batch_size": 8}
    short |= {"learning_rate": 1e-3, "checkpoint_every": 2, "dtype": "float32", "start": tiny_bert}
    given = [part for n, v in short.items() for part in (f"--ranker.{n}", f"{v}")]
    chosen = ["--only", "[first_stage,untrained,easy_2,semi_hard_2]"]
    assert compare.main(flags("compare_ranker", law, tiny_bert, tmp_path, *given, *chosen)) == DONE
    first, untrained, easy, semi_hard = lines_in(tmp_path / "results.jsonl")
    for made in (first, untrained, easy, semi_hard):
        assert set(made["values"]) == set(made["means"]) == set(RANKER_METRICS)
        assert made["trained"] == (made in (easy, semi_hard))
        assert made["measured_on"] == "test"
    # What training itself measured before its first step and at its end.
    before, after = semi_hard["epochs"]
    for metric in ("R@1", "R@10", "MRR@10", "MAP@10"):
        assert before["first_stage"][metric] == pytest.approx(first["means"][metric], abs=1e-4)
        assert before["dev"][metric] == pytest.approx(untrained["means"][metric], abs=1e-4)
        assert after["dev"][metric] == pytest.approx(semi_hard["means"][metric], abs=1e-4)
    # 18 positives and 24 negatives in steps of 8.
    assert (semi_hard["steps"], semi_hard["epoch"]) == (6, 1)
    assert "| easy_2 | ranker, before |" in capsys.readouterr().out


# The papers

SHORT_PAPER = ["--cusines.epochs", "1", "--graph.max_steps", "6", "--graph.hidden", "128"]


def test_a_papers_table_is_made_once_and_compared_with_its_numbers(
    law, tiny_bert, tmp_path, monkeypatch, capsys
):
    given = flags("papers/cusines", law, tiny_bert, tmp_path, *SHORT_PAPER, "--only", "table2")
    assert compare.main([*given, "--budget_s", "0"]) == DONE
    assert "Nothing is measured yet" in capsys.readouterr().out
    assert compare.main(given) == DONE
    text = capsys.readouterr().out
    assert text.strip() == (tmp_path / "law.md").read_text(encoding="utf-8").strip()
    found = {row[0]: row for row in cells(text)[1:]}
    names = ("untrained", "**bm25_rotating**", "cusines", "gnn_bm25_rotating", "gnn_cusines")
    assert set(names) == set(found)
    # The paper's R@100 and the difference to it; of 30 articles all are among the first 100.
    assert found["gnn_cusines"][2].endswith("(0.849, +0.151)")
    # A network stands over each of two bi-encoders, and nothing over a network.
    assert len(list((tmp_path / "models").iterdir())) == 2
    assert {"law-table2.png", "law-table2.svg"} <= {path.name for path in tmp_path.iterdir()}
    monkeypatch.setattr("training.compare.fit", None)
    assert compare.main(given) == DONE
    assert capsys.readouterr().out == text


@pytest.mark.slow
def test_soict_in_the_competitions_format(tiny_bert, tmp_path, capsys):
    data = tmp_path / "soict_data"
    data.mkdir()
    subjects = ["thuế", "đất", "lao động", "hôn nhân", "xây dựng", "giao thông"]
    laws = [[f"Điều {n}: quy định về {subjects[n % 6]} số {n}", n] for n in range(24)]
    asked = [[f"Câu hỏi {n} về {subjects[n % 6]}?", "", f"[{n}]", n] for n in range(20)]
    tables = {"corpus": [["text", "cid"], *laws]}
    tables["train"] = [["question", "context", "cid", "qid"], *asked]
    for name, rows in tables.items():
        with (data / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    short = ["--cusines.epochs", "1", "--ranker.epochs", "1", "--ranker.candidates", "10"]
    only = ["--only", "[table1,stages,first_stage,semi_hard_10]"]
    given = flags("papers/soict", data, tiny_bert, tmp_path / "out", *short, *only)
    assert compare.main(given) == DONE
    captured = capsys.readouterr()
    assert "not the paper's data" not in captured.err
    assert "| bm25plus_0.8_0 | 1/1 |" in captured.out
    assert "(0.976, " in captured.out and "| semi_hard_10 | ranker, one epoch |" in captured.out


def test_the_ledgers_are_resumed():
    lines = [
        json.loads(raw)
        for name in ("ablate", "ranker")
        for raw in gzip.decompress((LEDGERS / f"{name}.jsonl.gz").read_bytes()).splitlines()
    ]
    keys = [key_of(each) for each in lines]
    assert len(set(keys)) == len(keys) == 433
    digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()
    assert digest == "899060cff470264a831823bff2efcff3c404d98bf074c3d8f36dbcfd616c0d0e"
