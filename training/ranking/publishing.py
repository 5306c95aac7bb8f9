"""From a trained ranker to a model folder."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.models.cross_encoder import RankerSettings
from components.models.devices import resolve_device
from components.models.folder import MANIFEST_FILE, RANKER_PART, find_model, read_manifest
from components.statutes.significance import paired_randomisation
from training.checkpoint import move_in
from training.command_line import say
from training.data import TrainingData
from training.negatives.gold import Gold
from training.ranking.data import pipeline_candidates
from training.ranking.measuring import (
    FusionWeight,
    answers_among,
    best_record,
    calibration_report,
    fit_calibration,
    plot_records,
)
from training.ranking.run import MODEL_FOLDER, Prepared, best_folder, candidate_lists, open_ranker
from training.ranking.settings import RERANKED, RankerTrainingSettings
from training.records import METRICS_FILE, environment, write_metrics


def publish(
    settings: RankerTrainingSettings,
    data: TrainingData,
    prepared: Prepared,
    records: Sequence[dict[str, Any]],
    work: Path,
) -> None:
    """Make the model folder, and let the work folder go.

    The ranker is the one that was best on dev, with the calibration and the weight of the order
    before it that fit dev; the last one, without either, where there is no dev. All parts of the
    first stage's folder are taken over as they are.

    Args:
        settings: Of the run.
        data: What it learnt from.
        prepared: What it worked with.
        records: What was measured.
        work: Holds the best weights.
    """
    output = Path(settings.output)
    write_metrics(work / METRICS_FILE, records)
    plot_records(records, work, settings.select_by)
    device = resolve_device(settings.device).type
    metrics: dict[str, Any] = {"environment": environment(device), **prepared.mined}
    best = best_folder(work, records, settings.select_by)
    use = prepared.ranker.settings
    if best is None:
        part = work / "last"
        shutil.rmtree(part, ignore_errors=True)
        prepared.ranker.encoder.save_pretrained(str(part), create_model_card=False)
    else:
        part = best / MODEL_FOLDER
        record = best_record(records, settings.select_by)
        assert record is not None
        use, fitted = _fitted(settings, data, prepared, best)
        metrics |= {"epoch": record["epoch"], "dev": record["dev"], **fitted}
        _say_what_training_did(records, record, settings.select_by)
        _say_what_ranking_does(fitted, settings.select_by)
        _say_what_scores_are(fitted["calibration"], use)
    use.save(part)
    folder = find_model(settings.model)
    kept: dict[str, Path] = {}
    if (folder / MANIFEST_FILE).exists():
        kept = {p: folder / p for p in read_manifest(folder).parts if p != RANKER_PART}
    prepared.setup.biencoder.save(
        output,
        base_model=settings.model,
        config=settings.to_dict(),
        data=data.digests(),
        metrics=metrics,
        kept={**kept, RANKER_PART: part},
    )
    move_in(output)


def _fitted(
    settings: RankerTrainingSettings, data: TrainingData, prepared: Prepared, best: Path
) -> tuple[RankerSettings, dict[str, Any]]:
    """How the best ranker is used, and what was found in fitting it.

    It is fitted on what it is given in use, the fused candidates of `hybrid_rerank.yaml`: their
    order is another than the first stage's own, and so is the share of answers among them.
    """
    setup = prepared.setup
    rule = prepared.ranker.text_rule
    found = pipeline_candidates(setup.stage, data.corpus, rule)
    # As long as a measuring on dev of all candidates: nobody should think that it hangs.
    say(f"Fitting how the ranker is used: {found.found.size:,} candidates of dev are re-ranked")
    lists = candidate_lists(data, found, RERANKED, setup.passages)
    ranker = open_ranker(settings, setup.biencoder, best / MODEL_FOLDER)
    logits = lists.logits(ranker.logits)
    answers = answers_among(found.found[:, : lists.depth], Gold.of(list(data.corpus), data.dev))
    weight = FusionWeight.choose(lists, logits, settings.select_by)
    use = dataclasses.replace(
        prepared.ranker.settings,
        calibration=fit_calibration(logits, answers),
        fusion_weight=weight.chosen,
    )
    in_pipeline = {
        "hybrid": lists.metrics(lists.found, settings.select_by),
        "re_ranked": lists.metrics(lists.re_ranked(logits), settings.select_by),
        "fused": lists.metrics(lists.re_ranked(logits, weight.chosen), settings.select_by),
    }
    gain = paired_randomisation(weight.held_out, lists.values(lists.found, settings.select_by))
    return use, {
        "calibration": calibration_report(logits, answers),
        "fusion": weight.tried,
        "in_pipeline": in_pipeline,
        "gain": dataclasses.asdict(gain),
    }


def _say_what_training_did(
    records: Sequence[dict[str, Any]], best: Mapping[str, Any], metric: str
) -> None:
    """Say where training did harm, which nobody would look for."""
    if not best["step"]:
        trained = max(record["dev"][metric] for record in records if record["step"])
        say(
            f"Training did not help: on dev the start has {metric} {best['dev'][metric]:.3f}, the "
            f"best epoch {trained:.3f}. The model keeps the start's weights."
        )


def _say_what_scores_are(report: Mapping[str, float] | None, use: RankerSettings) -> None:
    """Say how far scores are from probabilities, or that nothing makes them such."""
    if use.calibration is None:
        say(
            "Scores cannot be calibrated: on dev no candidate answers, or higher scores do not "
            "speak for answers (calibrated: true will be refused)"
        )
    elif report is None:
        say(
            "How far calibrated scores are from probabilities cannot be told: some fifths of dev "
            "give no calibration for the others (calibrated: true is at your own risk)"
        )
    else:
        say(
            f"Calibrated, scores are off by {report['error']:.3f} in the mean on dev questions "
            "that they were not fitted on (expected calibration error; "
            f"{report['uncalibrated']:.3f} as they are). A question's best candidate has "
            f"{report['best_probability']:.2f} in the mean, and {report['best_answers']:.2f} of "
            "them answer"
        )


def _say_what_ranking_does(fitted: Mapping[str, Any], metric: str) -> None:
    """Say what the pipeline gains by the ranker, and where it gains nothing."""
    orders, gain = fitted["in_pipeline"], fitted["gain"]
    hybrid, alone, both = (orders[name][metric] for name in ("hybrid", "re_ranked", "fused"))
    say(
        f"In the pipeline hybrid_rerank, on dev: {metric} {hybrid:.3f} before re-ranking, "
        f"{alone:.3f} by the ranker alone, {both:.3f} by both, as the model's folder says. On "
        f"questions that did not choose their weight that is {gain['difference']:+.3f}, "
        f"p {gain['p']:.4f}; all of them chose the epoch, so a test split tells it better."
    )
    if gain["difference"] <= 0:
        say(
            f"The ranker does not help there: the pipeline hybrid finds "
            f"{'more' if gain['difference'] else 'as much'} and is faster. More questions, more "
            "epochs or a start that is a cross-encoder may help."
        )
