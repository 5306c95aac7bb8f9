"""The preset of the SoICT paper's bi-encoder means what the paper says, and trains."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import util
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch.nn.functional import normalize

from components.models.manifest import read_manifest
from training.command_line import DONE, settings_from
from training.cusines import main
from training.objective import contrastive_loss
from training.optimizer import warm_up_and_decay
from training.settings import CusinesSettings

PRESET = Path(__file__).resolve().parents[2] / "training" / "configs" / "soict.yaml"


@pytest.fixture
def preset() -> CusinesSettings:
    law = ["--corpus", "aldermere", "--questions", "aldermere", "--output", "x"]
    return settings_from("cusines", "", CusinesSettings, ["--config", str(PRESET), *law])


def test_the_preset_is_the_paper_s_setting(preset: CusinesSettings) -> None:
    assert (preset.batch_size, preset.epochs, preset.learning_rate) == (64, 11, 4e-5)
    assert (preset.weight_decay, preset.warmup, preset.dev_share) == (0.02, 0.0, 0.1)
    assert (preset.select_by, preset.max_steps, preset.patience) == ("Exist@90", None, None)
    # Every epoch may be chosen, and the model is not trained anew on what chose it.
    assert preset.measure_every == 1 and not preset.final
    assert preset.negatives_per_question == 0 and preset.in_batch
    assert preset.share_of == "negatives"  # shares of buckets would be drawn beside


def test_without_warm_up_the_first_step_has_the_whole_rate(preset: CusinesSettings) -> None:
    rate = warm_up_and_decay(1_000, preset.warmup)
    assert rate(0) == 1.0
    assert 0 < rate(999) < rate(500) < 1


def test_the_loss_is_multiple_negatives_ranking_at_scale_20(preset: CusinesSettings) -> None:
    assert preset.reduction == "mean"
    generator = torch.Generator().manual_seed(0)
    questions, articles = (
        normalize(torch.randn(6, 16, generator=generator), dim=1) for _ in range(2)
    )
    pairs = torch.arange(6)[:, None].expand(6, 2)
    ours = contrastive_loss(
        questions,
        articles,
        pairs,
        torch.full((6, 6), preset.in_batch),
        temperature=preset.temperature,
        reduction=preset.reduction,
    )
    paper = MultipleNegativesRankingLoss(None, scale=20.0, similarity_fct=util.cos_sim)
    theirs = paper.compute_loss_from_embeddings([questions, articles], None)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)


def test_a_small_run_compares_a_batch_s_articles_alone_and_chooses_by_exist_at_90(
    no_plots: None,
    write_law: Callable[..., Path],
    article: Callable[..., dict[str, Any]],
    question: Callable[[int, Sequence[int]], dict[str, Any]],
    tiny_bert: Path,
    tmp_path: Path,
) -> None:
    # As in the published data: more articles than Exist@90 reads, and no split but train.
    law = write_law(
        tmp_path / "law",
        [article(n) for n in range(120)],
        [question(n, [n * 5]) for n in range(20)],
    )
    output = tmp_path / "model"
    asked = {
        "config": PRESET,
        "corpus": law / "articles.jsonl",
        "questions": law / "questions.jsonl",
        "model": tiny_bert,
        "output": output,
        "epochs": 2,
        "device": "cpu",
        "dtype": "float32",
        # At the preset's rate and with dropout, chance decides which of two steps has less loss.
        "learning_rate": 1e-3,
        "dropout": 0.0,
    }
    flags = [part for name, value in asked.items() for part in (f"--{name}", f"{value}")]
    assert main(flags) == DONE
    records = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    found = read_manifest(output)
    assert found.config["views"] == [] and found.config["temperature"] == 0.05
    values = [record["dev"]["Exist@90"] for record in records]
    assert found.metrics["dev"]["Exist@90"] == max(values)
    assert all(value * 2 == round(value * 2) for value in values)  # 2 questions of 20 are dev
    assert [record["step"] for record in records] == [0, 1, 2]
    # 18 pairs are one batch: their articles are encoded, and none drawn beside them.
    trained = records[:-1]
    assert [record["articles_encoded"] for record in trained] == [18, 18]
    assert [record["negatives"]["drawn"] for record in trained] == [0, 0]
    assert trained[1]["loss"] < trained[0]["loss"]
