"""python -m training.ranker says what was not asked for, and what its result is worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ranker_flags import ranker_flags
from sentence_transformers import CrossEncoder

from components.models.cross_encoder import CrossEncoderRanker
from components.models.manifest import read_manifest
from components.models.ranker_folder import Calibration
from training.command_line import DONE, WRONG_USE
from training.ranker import main


@pytest.fixture
def flags(small_law: Path, tiny_bert: Path) -> Callable[..., list[str]]:
    return partial(ranker_flags, small_law, tiny_bert)


@pytest.fixture(autouse=True)
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than training does here; test_records draws."""
    monkeypatch.setattr("training.ranking.publishing.plot_records", lambda *_: None)


def test_what_is_read_is_remembered(
    flags: Callable[..., list[str]], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, more = tmp_path / "model", tmp_path / "more"
    assert main(flags(segmentation="vi", output=output, max_steps=2)) == DONE
    assert CrossEncoderRanker.load(output, device="cpu").settings.segmentation == "vi"
    assert "Words are read as" not in capsys.readouterr().err
    # Also where the weights of the best epoch are opened, to fit how they are used.
    read: list[str | None] = []
    logits = CrossEncoderRanker.logits

    def noted(self: CrossEncoderRanker, pairs: Any) -> Any:
        read.append(self.settings.segmentation)
        return logits(self, pairs)

    monkeypatch.setattr(CrossEncoderRanker, "logits", noted)
    fields = {"start": output, "passages": 1, "passage_tokens": 2_000, "output": more}
    assert main(flags(**fields, max_steps=2)) == DONE
    assert set(read) == {"vi"}
    assert CrossEncoderRanker.load(more, device="cpu").settings.segmentation == "vi"
    said = capsys.readouterr().err
    assert "Words are read as the start reads them: segmentation vi" in said
    assert "learnt on passages of an article, 2 of 12 tokens; here it reads 1 of 2000" in said
    assert "passage_tokens is 2000, and" in said and "passages are of" in said


def test_a_rate_of_a_head_that_is_not_made_is_told(
    flags: Callable[..., list[str]], tiny_bert: Path, tmp_path: Path, capsys: Any
) -> None:
    told = "The start has a head already: head_lr is not used"
    assert main(flags(output=tmp_path / "fresh", max_steps=1, head_lr=0.01)) == DONE
    assert told not in capsys.readouterr().err
    of_ranker = {"start": tmp_path / "fresh", "max_steps": 1}
    assert main(flags(output=tmp_path / "told", head_lr=0.01, **of_ranker)) == DONE
    assert told in capsys.readouterr().err
    assert main(flags(output=tmp_path / "untold", **of_ranker)) == DONE
    assert told not in capsys.readouterr().err


def test_a_start_that_is_no_ranker_is_named(
    flags: Callable[..., list[str]], tiny_bert: Path, tmp_path: Path, capsys: Any
) -> None:
    three = CrossEncoder(str(tiny_bert), num_labels=3, device="cpu")
    three.save_pretrained(str(tmp_path / "nli"), create_model_card=False)
    assert main(flags(start=tmp_path / "nli", output=tmp_path / "model")) == WRONG_USE
    assert f"start {tmp_path / 'nli'}: it gives 3 scores a pair" in capsys.readouterr().err


@pytest.mark.parametrize("better", [True, False])
def test_what_the_pipeline_gains_is_told(
    better: bool,
    flags: Callable[..., list[str]],
    tmp_path: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def evaluated(lists: Any, ranked: Any, names: list[str]) -> dict[str, dict[str, float]]:
        value = 0.5 if (ranked == lists.found) == better else 0.6
        return {name: dict.fromkeys([each.id for each in lists.questions], value) for name in names}

    monkeypatch.setattr("training.ranking.measuring.DevLists._evaluated", evaluated)
    assert main(flags(output=tmp_path / "model", max_steps=2)) == DONE
    said = capsys.readouterr().err
    before, after = ("0.500", "0.600") if better else ("0.600", "0.500")
    assert "how the ranker is used: 120 candidates of dev are re-ranked" in said
    assert f"MRR@10 {before} before re-ranking, {after} by the ranker alone, {after} by b" in said
    assert ("weight that is +0.100, p 0." in said) == better
    assert ("The ranker does not help there: the pipeline hybrid finds more" in said) != better
    gain = read_manifest(tmp_path / "model").metrics["gain"]
    assert gain["difference"] == pytest.approx(0.1 if better else -0.1)


@pytest.mark.parametrize(("fitted", "measured"), [(True, True), (True, False), (False, False)])
def test_what_scores_say_of_answers_is_told(
    fitted: bool,
    measured: bool,
    flags: Callable[..., list[str]],
    tmp_path: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Calibration(0.5, -1.0) if fitted else None
    report = (
        {
            "error": 0.031,
            "uncalibrated": 0.4,
            "best_probability": 0.55,
            "best_answers": 0.25,
        }
        if fitted and measured
        else None
    )
    monkeypatch.setattr("training.ranking.publishing.fit_calibration", lambda *_: found)
    monkeypatch.setattr("training.ranking.publishing.calibration_report", lambda *_: report)
    assert main(flags(output=tmp_path / "model", max_steps=2)) == DONE
    said = capsys.readouterr().err
    assert ("Calibrated, scores are off by 0.031 in the mean on dev questions" in said) == measured
    assert ("best candidate has 0.55 in the mean, and 0.25 of them answer" in said) == measured
    assert ("cannot be told: some fifths of dev" in said) == (fitted and not measured)
    assert ("Scores cannot be calibrated: on dev no candidate answers" in said) != fitted
