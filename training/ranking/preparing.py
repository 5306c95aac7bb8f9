"""From settings to what a ranker learns and is measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker, PassageChooser
from components.models.devices import resolve_device, resolve_dtype
from components.models.errors import ModelError
from components.models.folder import RANKER_PART
from components.statutes.article import indexed_text
from training.command_line import SettingsError, say
from training.data import TrainingData
from training.negatives.gold import Gold
from training.negatives.semihard import mine_negatives
from training.ranking.article_pairs import ArticlePairs
from training.ranking.examples import Examples, Passages, read_passages
from training.ranking.first_stage import Candidates, FirstStage, open_network, stage_digest
from training.ranking.measuring import DevLists, RankerMeasuring
from training.ranking.settings import RankerTrainingSettings
from training.ranking.starting import (
    head_parameters,
    open_start,
    reading_of,
    start_digest,
    start_folder,
    start_reading,
)

# Negatives whose scores are looked at; more say no more.
_SCORED = 2_000


@dataclass(frozen=True)
class FirstStageSetup:
    """What runs that differ in nothing but their negatives and seed have in common.

    Attributes:
        biencoder: The first stage.
        stage: What it finds.
        passages: Chooses what is read of an article.
        dev: Lists to re-rank; None where no question is of dev.
    """

    biencoder: BiEncoder
    stage: FirstStage
    passages: Passages
    dev: DevLists | None


@dataclass(frozen=True)
class Prepared:
    """What a run works with.

    Attributes:
        setup: First stage, what it finds, what is read.
        ranker: What is trained.
        examples: Columns `question`, `passages`, `label`.
        measuring: What is measured.
        mined: How many examples and negatives there are, and how many questions got too few.
    """

    setup: FirstStageSetup
    ranker: CrossEncoderRanker
    examples: Dataset
    measuring: RankerMeasuring
    mined: dict[str, int]


def fixed_by(settings: RankerTrainingSettings, data: TrainingData) -> dict[str, Any]:
    """What must be the same when a run is taken up again, by name.

    Raises:
        ModelError: A model cannot be found.
    """
    device = resolve_device(settings.device)
    dtype = resolve_dtype(settings.dtype, device)
    return {
        **settings.to_dict(),
        **data.digests(),
        "device": device.type,
        "dtype": str(dtype).removeprefix("torch."),
        "model_sha256": stage_digest(settings.model),
        "start_sha256": start_digest(start_folder(settings.start)),
        "segmentation": reading_of(settings).segmentation,
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
    biencoder = BiEncoder.load(settings.model, device=settings.device, dtype=settings.dtype)
    ranker = open_ranker(settings, biencoder)
    _say_what_is_read(settings, ranker)
    network = open_network(settings.model, settings.device)
    stage = FirstStage.search(biencoder, data, settings.candidates, network).kept_in(work)
    passages = passages_read(data, biencoder, ranker)
    dev = candidate_lists(data, stage.dev, settings.re_ranked, passages) if data.dev else None
    return prepare_on(FirstStageSetup(biencoder, stage, passages, dev), settings, data, ranker)


def open_ranker(
    settings: RankerTrainingSettings, biencoder: BiEncoder, weights: Path | None = None
) -> CrossEncoderRanker:
    """What training starts from, reading what of an article the bi-encoder reads.

    Args:
        settings: Of the run.
        biencoder: The first stage.
        weights: Folder of an epoch's weights, in place of the start's.

    Raises:
        ModelError: It cannot be opened, or scores no pairs of texts; the message names it.
    """
    folder = weights or start_folder(settings.start)
    try:
        return CrossEncoderRanker(
            open_start(folder, resolve_device(settings.device), settings.seed),
            reading_of(settings),
            text_rule=biencoder.text_rule,
            dtype=settings.dtype,
            name=settings.start,
        )
    except ModelError as error:
        if str(folder) in str(error):
            raise
        raise ModelError(f"start {settings.start}: {error}") from error


def _say_what_is_read(settings: RankerTrainingSettings, ranker: CrossEncoderRanker) -> None:
    """Say where that is not what was asked for, or not what the start learnt on."""
    reading, before = ranker.settings, start_reading(settings.start)
    if reading.segmentation != settings.segmentation:
        say(f"Words are read as the start reads them: segmentation {reading.segmentation}")
    if (folder := start_folder(settings.start)).name == RANKER_PART and before is not None:
        learnt, asked = (f"{each.passages} of {each.passage_tokens}" for each in (before, reading))
        if learnt != asked:
            say(
                f"{folder} learnt on passages of an article, {learnt} tokens; here it reads "
                f"{asked} (passages, passage_tokens)"
            )
    if ranker.passage_tokens < reading.passage_tokens:
        say(
            f"passage_tokens is {reading.passage_tokens}, and {settings.start} reads "
            f"{ranker.tokenizer.format.room} tokens of question and passage together: passages "
            f"are of {ranker.passage_tokens}"
        )


def prepare_on(
    setup: FirstStageSetup,
    settings: RankerTrainingSettings,
    data: TrainingData,
    ranker: CrossEncoderRanker,
) -> Prepared:
    """Mine negatives from what was found, and lay out what is learnt and measured.

    Args:
        setup: Of these settings, but for `strategy`, `negatives` and `seed`.
        settings: Of the run.
        data: Law and questions.
        ranker: What training starts from.

    Raises:
        SettingsError: There is nothing to tell answers from.
    """
    stage = setup.stage
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
    dataset = examples.dataset(data.train, setup.passages)
    seen = examples.n_positives + np.unique(
        np.linspace(0, mined["negatives"] - 1, _SCORED).astype(np.int64)
    )
    measuring = RankerMeasuring(
        lambda pairs: ranker.logits(pairs).numpy(),
        dev=setup.dev,
        negatives=_pairs(dataset.select(seen)),
        cosines=stage.cosines(examples.questions[seen], examples.articles[seen]).tolist(),
        select_by=settings.select_by,
        start_ranks=not head_parameters(ranker.encoder, start_folder(settings.start)),
    )
    return Prepared(setup, ranker, dataset, measuring, mined)


def passages_read(data: TrainingData, biencoder: BiEncoder, ranker: CrossEncoderRanker) -> Passages:
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


def candidate_lists(
    data: TrainingData, candidates: Candidates, depth: int, passages: Passages
) -> DevLists:
    """The lists of some questions, with what is read of those that are re-ranked.

    Args:
        data: The law.
        candidates: What the first stage finds.
        depth: How many of each question are re-ranked.
        passages: Chooses what is read.
    """
    ids = list(data.corpus.ids)
    depth = min(depth, candidates.found.shape[1])
    questions = [question.text for question in candidates.questions for _ in range(depth)]
    read = read_passages(questions, candidates.found[:, :depth].ravel().tolist(), passages)
    return DevLists(
        questions=candidates.questions,
        found=[[ids[position] for position in row] for row in candidates.found.tolist()],
        pairs=ArticlePairs.of(questions, read),
        depth=depth,
    )
