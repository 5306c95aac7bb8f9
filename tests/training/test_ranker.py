"""python -m training.ranker, from a law to a model folder that re-ranks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from dying import die_once_saved
from ranker_flags import ranker_flags
from sentence_transformers import CrossEncoder

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.locks import folder_lock
from components.models.manifest import read_manifest
from components.statutes.article import TextRule
from components.statutes.corpus import StatuteCorpus
from training.command_line import DONE, FAILED, INTERRUPTED, WRONG_USE
from training.ranker import main
from training.ranking.first_stage import Candidates, FirstStage
from training.ranking.measuring import DevLists
from training.ranking.preparing import candidate_lists

TEXT = ["The landlord must give notice."]
PAIRS = [("What must the tenant do?", TEXT[0]), ("When?", "Rule 3: on notice.")]


@pytest.fixture(scope="module")
def flags(small_law: Path, tiny_bert: Path) -> Callable[..., list[str]]:
    return partial(ranker_flags, small_law, tiny_bert)


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than training does here; test_records draws."""
    monkeypatch.setattr("training.ranking.publishing.plot_records", lambda *_: None)


@pytest.fixture(scope="module")
def first_stage(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Lexarbor folder with a bi-encoder; not written to."""
    folder = tmp_path_factory.mktemp("first") / "stage"
    BiEncoder.load(tiny_bert, device="cpu").save(folder)
    return folder


@pytest.fixture(scope="module")
def trained(
    flags: Callable[..., list[str]], first_stage: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model with a ranker; not written to."""
    output = tmp_path_factory.mktemp("ranker") / "model"
    assert main(flags(model=first_stage, output=output)) == DONE
    return output


def test_the_ranker_is_a_plain_cross_encoder_and_lexarbors_own(trained: Path) -> None:
    ranker = CrossEncoderRanker.load(trained, device="cpu", dtype="float32")
    assert (ranker.settings.passages, ranker.settings.passage_tokens) == (2, 12)
    assert ranker.settings.fusion_weight is not None
    plain = CrossEncoder(str(trained / "ranker"), device="cpu")
    expected = plain.predict(PAIRS, activation_fn=torch.nn.Identity(), convert_to_tensor=True)
    torch.testing.assert_close(ranker.logits(PAIRS), expected, atol=1e-5, rtol=0)


def test_the_first_stage_is_taken_over_as_it_was(trained: Path, first_stage: Path) -> None:
    assert read_manifest(trained).kind == ("biencoder", "ranker")
    weights = "biencoder/query/model.safetensors"
    assert (trained / weights).stat().st_ino == (first_stage / weights).stat().st_ino
    before, after = (BiEncoder.load(each, device="cpu") for each in (first_stage, trained))
    assert before.digest == after.digest


def test_the_folder_says_what_made_it(trained: Path) -> None:
    manifest = read_manifest(trained)
    assert manifest.config["strategy"] == "semi_hard"
    assert set(manifest.data) == {"corpus_sha256", "questions_sha256"}
    assert manifest.metrics["negatives"] == 24
    assert "MRR@10" in manifest.metrics["dev"]
    records = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert set(records[0]["negatives"]) == {"ranker", "biencoder"}
    orders, tried = manifest.metrics["in_pipeline"], manifest.metrics["fusion"]
    assert orders["re_ranked"]["MRR@10"] == pytest.approx(tried["0.0"])
    assert orders["fused"]["MRR@10"] == pytest.approx(max(tried.values()))


def test_no_pickle_and_no_work_folder_is_left(trained: Path) -> None:
    suffixes = {path.suffix for path in trained.rglob("*") if path.is_file()}
    assert suffixes <= {".json", ".jsonl", ".safetensors", ".txt", ".png", ".svg"}
    assert [path.name for path in trained.parent.iterdir()] == ["model"]


def test_another_ranker_goes_on_from_it(
    trained: Path, flags: Callable[..., list[str]], no_dev: dict[str, str], tmp_path: Path
) -> None:
    more = flags(**no_dev, dev_share=0.0, model=trained, start=trained, output=tmp_path / "more")
    assert main(more) == DONE
    before, after = (
        CrossEncoderRanker.load(each, device="cpu", dtype="float32")
        for each in (trained, tmp_path / "more")
    )
    assert not torch.equal(before.logits(PAIRS), after.logits(PAIRS))


@pytest.mark.parametrize("strategy", ["hard", "easy"])
def test_other_strategies_run_over_any_encoder(
    strategy: str, flags: Callable[..., list[str]], tmp_path: Path
) -> None:
    assert main(flags(strategy=strategy, output=tmp_path / "model", max_steps=2)) == DONE
    assert read_manifest(tmp_path / "model").config["strategy"] == strategy


def test_a_law_without_dev_gives_the_last_weights(
    flags: Callable[..., list[str]], no_dev: dict[str, str], tmp_path: Path
) -> None:
    output = tmp_path / "model"
    assert main(flags(**no_dev, dev_share=0.0, output=output)) == DONE
    settings = CrossEncoderRanker.load(output, device="cpu").settings
    assert settings.calibration is None
    assert settings.fusion_weight is None
    assert "dev" not in read_manifest(output).metrics


def test_what_shorter_lists_chose_is_fitted_on_all_candidates(
    flags: Callable[..., list[str]], tmp_path: Path, depths: list[int]
) -> None:
    # One epoch to choose: the same weights.
    found = []
    for name, fields in (("all", {}), ("fewer", {"dev_candidates": 10})):
        assert main(flags(output=tmp_path / name, **fields)) == DONE
        ranker = CrossEncoderRanker.load(tmp_path / name, device="cpu", dtype="float32")
        found.append((ranker, read_manifest(tmp_path / name).metrics))
    (one, about_one), (other, about_other) = found
    assert torch.equal(one.logits(PAIRS), other.logits(PAIRS))
    # The start and the epoch are measured, what is published is fitted; of each run in turn.
    assert depths == [15, 15, 30, 10, 10, 30]
    assert one.settings.fusion_weight == other.settings.fusion_weight
    assert about_one["fusion"] == pytest.approx(about_other["fusion"])
    assert about_one["calibration"] == pytest.approx(about_other["calibration"])
    assert one.settings.calibration == other.settings.calibration


def test_training_that_does_harm_to_a_cross_encoder_leaves_it_as_it_was(
    trained: Path,
    flags: Callable[..., list[str]],
    tmp_path: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first stage, the start, two epochs; then weights are tried.
    values = chain([0.1, 0.9, 0.5, 0.6], repeat(0.9))
    monkeypatch.setattr(
        "training.ranking.measuring.DevLists.metrics",
        lambda self, ranked, metric: {metric: next(values)},
    )
    assert main(flags(start=trained, output=tmp_path / "worse", max_steps=12)) == DONE
    said = capsys.readouterr().err
    assert "Training did not help: on dev the start has MRR@10 0.900, the best epoch 0.600" in said
    before, after = (
        CrossEncoderRanker.load(each, device="cpu", dtype="float32")
        for each in (trained, tmp_path / "worse")
    )
    assert torch.equal(before.logits(PAIRS), after.logits(PAIRS))
    assert read_manifest(tmp_path / "worse").metrics["epoch"] == 0


def test_use_is_fitted_on_the_pipelines_candidates(
    flags: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers_first(stage: FirstStage, corpus: StatuteCorpus, rule: TextRule) -> Candidates:
        found = [
            sorted(range(len(corpus)), key=lambda n: corpus.ids[n] not in question.relevant)
            for question in stage.dev.questions
        ]
        return replace(stage.dev, found=np.array(found))

    monkeypatch.setattr("training.ranking.publishing.pipeline_candidates", answers_first)
    assert main(flags(output=tmp_path / "model", max_steps=2)) == DONE
    metrics = read_manifest(tmp_path / "model").metrics
    assert metrics["in_pipeline"]["hybrid"]["MRR@10"] == 1
    assert metrics["fusion"]["10.0"] == pytest.approx(1)


def test_use_is_fitted_on_what_the_best_weights_make_of_them(
    flags: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists: list[DevLists] = []
    fitted: list[Any] = []

    def kept(*given: Any) -> DevLists:
        lists.append(candidate_lists(*given))
        return lists[-1]

    def noted(logits: Any, answers: Any) -> None:
        fitted.append((logits, answers))

    monkeypatch.setattr("training.ranking.publishing.candidate_lists", kept)
    monkeypatch.setattr("training.ranking.publishing.fit_calibration", noted)
    assert main(flags(output=tmp_path / "model")) == DONE
    ranker = CrossEncoderRanker.load(tmp_path / "model", device="cpu", dtype="float32")
    logits = lists[0].logits(lambda pairs: ranker.logits(pairs).numpy())
    np.testing.assert_allclose(fitted[0][0], logits, atol=1e-5)
    marked = [
        [article in question.relevant for article in ids]
        for question, ids in zip(lists[0].questions, lists[0].found, strict=True)
    ]
    assert fitted[0][1].tolist() == marked


def test_a_law_of_fewer_articles_than_the_metric_looks_at(
    flags: Callable[..., list[str]],
    write_law: Any,
    article: Any,
    question: Any,
    tmp_path: Path,
) -> None:
    asked = [question(n, [n % 4], "dev" if n > 5 else "train") for n in range(8)]
    law = write_law(tmp_path / "law", [article(n) for n in range(4)], asked)
    files = {"corpus": law / "articles.jsonl", "questions": law / "questions.jsonl"}
    assert main(flags(**files, output=tmp_path / "model")) == DONE
    assert set(read_manifest(tmp_path / "model").metrics["dev"]) == {"R@1", "MRR@10"}


def test_fewer_candidates_than_negatives_are_reported(
    flags: Callable[..., list[str]], tmp_path: Path, capsys: Any
) -> None:
    output = tmp_path / "model"
    assert main(flags(output=output, candidates=10, negatives=10, max_steps=2)) == DONE
    fewer = read_manifest(output).metrics["questions_with_fewer"]
    assert fewer > 0
    assert f"{fewer} questions have fewer" in capsys.readouterr().err


@pytest.mark.parametrize("unfinished", [False, True], ids=["", "beside an unfinished run"])
def test_a_folder_that_holds_something_is_not_written_over(
    unfinished: bool, flags: Callable[..., list[str]], tmp_path: Path, capsys: Any
) -> None:
    output, work = tmp_path / "model", tmp_path / "model.work"
    output.mkdir()
    (output / "kept.txt").write_text("kept")
    if unfinished:
        work.mkdir()
    assert main(flags(output=output)) == WRONG_USE
    assert "exists and is not empty" in capsys.readouterr().err
    assert [each.name for each in output.iterdir()] == ["kept.txt"]
    assert not work.is_dir() or not list(work.glob("*.json"))  # nothing was begun


def test_stopped_once_it_is_saved_the_same_command_tidies_up(
    flags: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "model"
    with monkeypatch.context() as patch:
        die_once_saved(patch)
        assert main(flags(output=output)) == INTERRUPTED
    made = (output / "manifest.json").stat().st_mtime_ns
    # With other settings it is another model, which is there already.
    assert main(flags(output=output, seed=1)) == WRONG_USE
    assert output.with_name("model.work").is_dir()
    assert main(flags(output=output)) == DONE
    assert (output / "manifest.json").stat().st_mtime_ns == made
    assert (output / "metrics.jsonl").read_text().count('"dev"') > 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_model_is_there_with_its_plots_or_not_at_all(
    flags: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    output = tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr("training.ranking.publishing.plot_records", full)
        assert main(flags(output=output)) == FAILED
    assert not output.exists()
    assert main(flags(output=output)) == DONE


def test_another_seed_is_another_run(
    flags: Callable[..., list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    def died(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("training.ranking.training_run.train_ranker", died)
        assert main(flags(output=tmp_path / "model")) != DONE
    (tmp_path / "model.work" / "checkpoint-1").mkdir()
    assert main(flags(output=tmp_path / "model", seed=1)) == WRONG_USE
    assert "with seed 0; now it is 1" in capsys.readouterr().err


def test_the_number_format_of_the_beginning_stays(
    flags: Callable[..., list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    race: Callable[[bool], None],
) -> None:
    def died(*_: Any) -> None:
        raise OSError("the disk is full")

    race(True)
    with monkeypatch.context() as patch:
        patch.setattr("training.ranking.training_run.train_ranker", died)
        assert main(flags(output=tmp_path / "model", dtype="auto")) != DONE
    (tmp_path / "model.work" / "checkpoint-1").mkdir()
    race(False)
    assert main(flags(output=tmp_path / "model", dtype="auto")) == DONE


def test_several_processes_are_refused(
    flags: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(flags(output=tmp_path / "model")) == WRONG_USE
    assert "one process" in capsys.readouterr().err


def test_a_folder_that_holds_something_is_left_alone(
    flags: Callable[..., list[str]], first_stage: Path, capsys: Any
) -> None:
    assert main(flags(output=first_stage)) == WRONG_USE
    assert "not empty" in capsys.readouterr().err


def test_an_output_that_another_process_trains_into_is_refused(
    flags: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "model"
    with folder_lock(tmp_path / "model.work", wait=False):
        assert main(flags(output=output)) == WRONG_USE
    assert f"another process is training into {output}" in capsys.readouterr().err
