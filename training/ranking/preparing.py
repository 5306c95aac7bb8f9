"""From settings to what a ranker learns and is measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.devices import resolve_device, resolve_dtype
from components.models.digest import model_digest
from components.models.locate import find_model
from components.models.passage_choice import PassageChooser
from components.models.ranker_folder import RankerSettings
from components.statutes.article import indexed_text
from training.command_line import SettingsError, say
from training.data import TrainingData
from training.negatives.gold import Gold
from training.negatives.semihard import mine_negatives
from training.ranking.article_pairs import ArticlePairs
from training.ranking.examples import Examples, Passages, read_passages
from training.ranking.first_stage import FirstStage
from training.ranking.measuring import DevLists, RankerMeasuring
from training.ranking.settings import RankerTrainingSettings
from training.ranking.starting import open_start, start_digest, start_folder

# Negatives whose scores are looked at; more say no more.
_SCORED = 2_000


@dataclass(frozen=True)
class Prepared:
    """What a run works with.

    Attributes:
        biencoder: The first stage.
        ranker: What is trained.
        examples: Columns `question`, `passages`, `label`.
        dev: Lists to re-rank; None where no question is of dev.
        measuring: What is measured.
        mined: How many examples and negatives there are, and how many questions got too few.
    """

    biencoder: BiEncoder
    ranker: CrossEncoderRanker
    examples: Dataset
    dev: DevLists | None
    measuring: RankerMeasuring
    mined: dict[str, int]


def fixed_by(settings: RankerTrainingSettings, data: TrainingData) -> dict[str, Any]:
    """What must be the same when a run is taken up again, by name.

    Raises:
        ModelError: A model cannot be found.
    """
    dtype = resolve_dtype(settings.dtype, resolve_device(settings.device))
    return {
        **settings.to_dict(),
        **data.digests(),
        "dtype": str(dtype).removeprefix("torch."),
        "model_sha256": model_digest(find_model(settings.model)),
        "start_sha256": start_digest(start_folder(settings.start)),
    }


def prepare(settings: RankerTrainingSettings, data: TrainingData, work: Path) -> Prepared:
    """Search the law with the first stage, mine negatives, open what training starts from.

    Args:
        settings: Of the run.
        data: Law and questions.
        work: Keeps what the first stage found.

    Raises:
        ModelError: A model cannot be opened.
        SettingsError: There is nothing to tell answers from.
    """
    device = resolve_device(settings.device)
    biencoder = BiEncoder.load(settings.model, device=settings.device, dtype=settings.dtype)
    ranker = CrossEncoderRanker(
        open_start(start_folder(settings.start), device, settings.seed),
        RankerSettings(passages=settings.passages, passage_tokens=settings.passage_tokens),
        text_rule=biencoder.text_rule,
        dtype=settings.dtype,
        name=settings.start,
    )
    stage = FirstStage.search(biencoder, data, settings.candidates).kept_in(work)
    try:
        gold = Gold.of(list(data.corpus), data.train)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    negatives = mine_negatives(
        gold,
        stage.train.found,
        strategy=settings.strategy,
        n=settings.negatives,
        seed=settings.seed,
    )
    if not len(negatives.articles):
        raise SettingsError(
            f"no question has a negative: all {settings.candidates} candidates answer it, or the "
            "law has no other articles. Give a larger law, or more candidates."
        )
    examples = Examples.of(gold, negatives)
    mined = {
        "examples": len(examples.articles),
        "negatives": len(negatives.articles),
        "questions_with_fewer": len(negatives.short),
    }
    say(
        f"{len(data.train):,} questions, {examples.n_positives:,} positives, "
        f"{mined['negatives']:,} {settings.strategy} negatives"
        + (f"; {len(negatives.short):,} questions have fewer" if negatives.short else "")
    )
    passages = _passages(data, biencoder, ranker)
    dataset = examples.dataset(data.train, passages)
    dev = _dev_lists(settings, data, stage, passages)
    seen = examples.n_positives + np.unique(
        np.linspace(0, mined["negatives"] - 1, _SCORED).astype(np.int64)
    )
    measuring = RankerMeasuring(
        lambda pairs: ranker.logits(pairs).numpy(),
        dev=dev,
        negatives=_pairs(dataset.select(seen)),
        cosines=stage.cosines(examples.questions[seen], examples.articles[seen]).tolist(),
        select_by=settings.select_by,
    )
    return Prepared(biencoder, ranker, dataset, dev, measuring, mined)


def _passages(data: TrainingData, biencoder: BiEncoder, ranker: CrossEncoderRanker) -> Passages:
    """What the ranker reads of articles, in training and on dev as in use."""
    texts = [indexed_text(each.headings, each.text, ranker.text_rule) for each in data.corpus]
    chooser = PassageChooser(biencoder)

    def passages(question: str, articles: Sequence[int]) -> list[list[str]]:
        own = [texts[position] for position in articles]
        chosen = ranker.chosen_passages(question, own, chooser)
        return [
            [text[start:end] for start, end in spans]
            for text, spans in zip(own, chosen, strict=True)
        ]

    return passages


def _pairs(examples: Dataset) -> ArticlePairs:
    return ArticlePairs.of(list(examples["question"]), list(examples["passages"]))


def _dev_lists(
    settings: RankerTrainingSettings, data: TrainingData, stage: FirstStage, passages: Passages
) -> DevLists | None:
    if not data.dev:
        return None
    ids = list(data.corpus.ids)
    depth = min(settings.re_ranked, stage.dev.found.shape[1])
    questions = [question.text for question in data.dev for _ in range(depth)]
    read = read_passages(questions, stage.dev.found[:, :depth].ravel().tolist(), passages)
    return DevLists(
        questions=data.dev,
        found=[[ids[position] for position in row] for row in stage.dev.found.tolist()],
        pairs=ArticlePairs.of(questions, read),
        depth=depth,
    )
