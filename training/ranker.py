"""python -m training.ranker: train a cross-encoder that re-ranks what a bi-encoder finds.

    python -m training.ranker --config training/configs/ranker_demo.yaml --output models/ranker

The same command resumes where it was interrupted.
"""

# ruff: noqa: ARG002 - the Trainer calls every one of these with all that it has
from __future__ import annotations

import dataclasses
import logging
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from safetensors import safe_open
from sentence_transformers import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.base.model import BaseModel
from sentence_transformers.base.modules import Transformer
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sentence_transformers.util import batch_to_device
from torch import Tensor, nn
from transformers import TrainerState

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import (
    SETTINGS_FILE,
    CrossEncoderRanker,
    PassageChooser,
    RankerSettings,
)
from components.models.devices import resolve_device, resolve_dtype
from components.models.encoding import token_limit
from components.models.folder import (
    QUERY_PART,
    RANKER_PART,
    find_model,
    manifest_of,
    model_digest,
    whole_folder,
)
from components.models.learned_fusion import BM25, DENSE, DIVISION, learned_fusion_of
from components.models.weights import OPENED_SAFELY, check_loaded, check_weight_files, opening
from components.statutes.question import Question
from components.statutes.significance import paired_randomisation
from training.candidates import (
    ArticlePairs,
    Candidates,
    DevLists,
    FirstStage,
    FusionWeight,
    MinedNegatives,
    Passages,
    Score,
    mine_negatives,
    open_network,
    pipeline_candidates,
    probabilities,
    read_passages,
    score_statistics,
    stage_digest,
)
from training.checkpoint import (
    METRICS_FILE,
    History,
    RunWatch,
    compute_as_begun,
    environment,
    make_records,
    open_work_folder,
    train_alone,
    train_from_last_checkpoint,
    trainer_arguments,
    write_metrics,
)
from training.command_line import SettingsError, run, say, settings_from
from training.data import TrainingData, say_where_dev_is_learnt, texts_of
from training.negatives.gold import Gold, flattened
from training.plots import plot_records
from training.settings import RERANKED, RankerTrainingSettings
from training.starting_model import kept_parts, set_dropout

# Turning an encoder into a cross-encoder is intended: its head is fresh.
logging.getLogger("sentence_transformers").setLevel(logging.ERROR)


def make_examples(
    gold: Gold, negatives: MinedNegatives, questions: Sequence[Question], passages: Passages
) -> Dataset:
    """Each (question, positive) once, then each (question, mined negative) once.

    Returns:
        Columns `question`, `passages` (of the article, one or more) and `label` (1 or 0).
    """
    rows, positives = flattened(gold.positives, np.arange(gold.n_questions))
    articles = [*positives.tolist(), *negatives.articles.tolist()]
    texts = [questions[row].text for row in (*rows.tolist(), *negatives.questions.tolist())]
    return Dataset.from_dict(
        {
            "question": texts,
            "passages": read_passages(texts, articles, passages),
            "label": [1.0] * len(rows) + [0.0] * len(negatives.articles),
        }
    )


class EpochBatches(DefaultBatchSampler):
    """Batches in a different order for each epoch, decided by seed and epoch alone.

    The sampler of sentence-transformers draws from one stream of random numbers: a run resumed in
    its second epoch would see the order of the first.
    """

    def __iter__(self) -> Iterator[list[int]]:
        n_examples = len(cast(Sized, self.sampler))
        order = np.random.default_rng([self.seed, self.epoch]).permutation(n_examples).tolist()
        for start in range(0, n_examples, self.batch_size):
            yield order[start : start + self.batch_size]


class BestPassageLoss(BinaryCrossEntropyLoss):
    """sentence-transformers' BinaryCrossEntropyLoss where a text may be several passages.

    As in use, an article's logit is its best passage's, z = max_p z_p:

        loss = mean over (question, article) of -[y log sigmoid(z) + (1 - y) log(1 - sigmoid(z))]

    Nothing is learnt from the other passages of an article that answers a question, since they need
    not answer it themselves. For articles of one passage it is the parent's loss.

    Args:
        model: A CrossEncoder of one label.
        as_read: Turns a question or passage into the text that the tokenizer reads.

    Inputs:
        | texts                            | labels                        |
        |----------------------------------|-------------------------------|
        | (question, list of passages)     | 1 if it answers it, 0 if not  |
    """

    def __init__(self, model: CrossEncoder, as_read: Callable[[str], str] = str) -> None:
        super().__init__(model)
        self._as_read = as_read

    def forward(
        self,
        inputs: Sequence[Sequence[Any]],
        labels: Tensor,
        prompt: str | None = None,
        task: str | None = None,
    ) -> Tensor:
        """The loss, a float32 scalar.

        Args:
            inputs: Questions, and the passages of the article paired with each; at least one each.
            labels: `[n]`, 1 or 0.
            prompt: As for the parent.
            task: As for the parent.
        """
        questions, articles = inputs
        pairs = [
            (self._as_read(question), self._as_read(passage))
            for question, passages in zip(questions, articles, strict=True)
            for passage in passages
        ]
        features = self.model.preprocess(pairs, prompt=prompt, task=task)
        logits = self.model(batch_to_device(features, self.model.device))["scores"].view(-1)
        best = [own.max() for own in logits.float().split([len(each) for each in articles])]
        loss: Tensor = self.bce_with_logits_loss(torch.stack(best), labels.float())
        return loss


# What is measured in a ranker's run, and its records.


START_RANKS = "start_ranks"
"""In the record before the first step: whether training starts from a cross-encoder."""

_PREFIX = "eval_"
_NOT_MEASURED = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second")


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a record under one-level names, joined by "/", as the Trainer logs them."""
    numbers: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            numbers |= _flat(value, f"{prefix}{name}/")
        elif value is not None:
            numbers[prefix + name] = value
    return numbers


def measured_in(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The measured values of a log entry, such as `dev` (metric to mean): undoes `_flat`."""
    levels: dict[str, Any] = {}
    for name, value in entry.items():
        if name.startswith(_PREFIX) and name not in _NOT_MEASURED:
            *above, last = name.removeprefix(_PREFIX).split("/")
            level = levels
            for part in above:
                level = level.setdefault(part, {})
            level[last] = value
    return levels and {"epoch": round(entry.get("epoch") or 0.0, 3), **levels}


def records_of(history: History) -> list[dict[str, Any]]:
    """One record for each measurement: `epoch` and what `RankerMeasuring` measured."""
    return make_records(history, measured_in)


def best_record(records: Sequence[Mapping[str, Any]], metric: str) -> Mapping[str, Any] | None:
    """The record with the highest `metric` on dev, the first of several; None without one.

    Before the first step a fresh head ranks at random, so that record does not count. A model that
    was already a cross-encoder (`START_RANKS`) may be the best, if training does harm.
    """
    ranked = (each for each in records if each["step"] or each.get(START_RANKS))
    measured = [record for record in ranked if "dev" in record]
    return max(measured, key=lambda record: record["dev"][metric], default=None)


@dataclass(eq=False)
class RankerMeasuring(BaseEvaluator):
    """The evaluator that the Trainer calls before the first step and after each epoch.

    Attributes:
        score: Scores pairs with the model in training.
        dev: Lists to re-rank; None where no question is of dev.
        negatives: The mined negatives, `n` of them or a sample.
        cosines: The bi-encoder's cosines for them, `[n]`.
        select_by: Metric that chooses the best epoch.
        start_ranks: Whether the model ranks before training, because it already has a head.
        dev_logits: Logits of the dev lists when last measured.
    """

    score: Score
    dev: DevLists | None
    negatives: ArticlePairs
    cosines: Sequence[float]
    select_by: str
    start_ranks: bool
    dev_logits: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __call__(
        self, model: BaseModel, output_path: str | None = None, epoch: float = 0, steps: int = -1
    ) -> dict[str, float]:
        """Measure; names have their levels joined by "/".

        Returns:
            `dev/METRIC` after each epoch; before the first step also `first_stage/METRIC` and
            `start_ranks`, 0 or 1; before the first step and after one epoch
            `negatives/ranker/...` and `negatives/biencoder/...`, see
            `training.candidates.score_statistics`. The bi-encoder's is the same both times.
        """
        measured: dict[str, Any] = {}
        before = not epoch
        if self.dev is not None:
            if before:
                measured["first_stage"] = self.dev.metrics(self.dev.found, self.select_by)
                measured[START_RANKS] = int(self.start_ranks)
            self.dev_logits = self.dev.logits(self.score)
            ranking = self.dev.re_ranked(self.dev_logits)
            measured["dev"] = self.dev.metrics(ranking, self.select_by)
        if before or epoch == 1:
            own = probabilities(self.negatives.logits(self.score))
            measured["negatives"] = {
                "ranker": score_statistics(own),
                "biencoder": score_statistics(self.cosines),
            }
        return _flat(measured)


def starting_folder(name: str) -> Path:
    """The folder of the encoder or cross-encoder that a name stands for.

    For a Lexarbor folder it is the ranker, or the question tower if there is no ranker.

    Raises:
        ModelError: There is no such model within reach.
    """
    folder = find_model(name)
    manifest = manifest_of(folder)
    if manifest is None:
        return folder
    return folder / (RANKER_PART if RANKER_PART in manifest.parts else QUERY_PART)


def reading_of(settings: RankerTrainingSettings) -> RankerSettings:
    """What the ranker reads of an article; by default its words as the starting model reads them.

    Raises:
        ModelError: There is no such model within reach, or its `ranker.json` is broken, or the word
            segmenter is not installed.
    """
    segmentation, folder = settings.segmentation, starting_folder(settings.start)
    if segmentation is None and (folder / SETTINGS_FILE).exists():
        segmentation = RankerSettings.load(folder).segmentation
    elif segmentation is None and (manifest := manifest_of(find_model(settings.start))):
        segmentation = manifest.segmentation
    return RankerSettings(
        passages=settings.passages,
        passage_tokens=settings.passage_tokens,
        segmentation=segmentation,
    )


def starting_digest(folder: Path) -> str:
    """sha256 of the starting model: weights, configuration and tokenizer.

    Raises:
        ModelError: The folder has no safetensors weights.
    """
    check_weight_files(folder)
    return model_digest(folder)


def head_parameters(model: CrossEncoder, folder: Path) -> list[str]:
    """Names of the parameters of a head that is still to be learnt, in the model's order.

    These are the parameters that the folder lacks. If there are any, the pooler below them is
    included: a stored one was trained for another task, or left over when its encoder was trained
    with mean pooling. Empty for a cross-encoder.

    Args:
        model: As returned by `open_starting_model`.
        folder: The folder that it was opened from.
    """
    stored: set[str] = set()
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            stored.update(file.keys())
    # Encoders from before 2019 name the weights of LayerNorm otherwise; transformers renames them.
    for before, now in (("gamma", "weight"), ("beta", "bias")):
        stored = {key.replace(f"LayerNorm.{before}", f"LayerNorm.{now}") for key in stored}
    names = [name for name, _ in model.named_parameters()]
    # An encoder's own names lack the prefix of the encoder in a cross-encoder ("bert.").
    lacking = {name for name in names if not any(f".{name}".endswith(f".{key}") for key in stored)}
    return [name for name in names if lacking and (name in lacking or ".pooler." in name)]


def open_starting_model(folder: Path, device: torch.device, seed: int) -> CrossEncoder:
    """A cross-encoder of one label in float32; a head that the folder lacks is made from `seed`.

    Raises:
        ModelError: It cannot be opened, or its files do not hold exactly the encoder's weights (for
            a cross-encoder, the head's too).
    """
    torch.manual_seed(seed)
    with opening(folder, "cross-encoder"):
        model: CrossEncoder = CrossEncoder(
            str(folder),
            # Training and serving both use logits.
            activation_fn=nn.Identity(),
            **{**OPENED_SAFELY, "device": str(device)},
        )
        check_loaded(model, folder, fresh_head=True)
    reader: object = model[0]
    if isinstance(reader, Transformer):
        # Where a tokenizer states no limit, the library uses the number of RoBERTa's positions, the
        # first of which belong to padding.
        reader.max_seq_length = token_limit(reader)
    return model


# From settings to examples and measurements.


# Negatives whose scores are measured; more would tell nothing new.
_SCORED = 2_000


@dataclass(frozen=True)
class FirstStageSetup:
    """What runs that differ only in their negatives and seed have in common.

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
    """Everything that a run works with.

    Attributes:
        setup: The first stage, what it finds, and what is read.
        ranker: The ranker in training.
        examples: Columns `question`, `passages`, `label`.
        measuring: The evaluator.
        mined: How many examples and negatives there are, and how many questions got too few.
    """

    setup: FirstStageSetup
    ranker: CrossEncoderRanker
    examples: Dataset
    measuring: RankerMeasuring
    mined: dict[str, int]


def fixed_by(settings: RankerTrainingSettings, data: TrainingData) -> dict[str, Any]:
    """What must be the same when a run is resumed, by name.

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
        "start_sha256": starting_digest(starting_folder(settings.start)),
        "segmentation": reading_of(settings).segmentation,
    }


def prepare(settings: RankerTrainingSettings, data: TrainingData, work: Path) -> Prepared:
    """Search the law with the first stage, mine negatives, open the starting model.

    Args:
        settings: Of the run.
        data: Law and questions.
        work: Folder that keeps what the first stage found.

    Raises:
        ModelError: A model cannot be opened.
        SettingsError: No question has a negative.
    """
    biencoder = BiEncoder.load(settings.model, device=settings.device, dtype=settings.dtype)
    ranker = open_ranker(settings, biencoder)
    if ranker.settings.segmentation != settings.segmentation:
        words = ranker.settings.segmentation
        say(f"Words are read as the starting model reads them: segmentation {words}")
    if ranker.passage_tokens < settings.passage_tokens:
        say(f"{settings.start} reads no more: passages are cut to {ranker.passage_tokens} tokens")
    network = open_network(settings.model, settings.device)
    stage = FirstStage.search(biencoder, data, settings.candidates, network).kept_in(work)
    passages = passages_read(data, biencoder, ranker)
    dev = candidate_lists(data, stage.dev, settings.re_ranked, passages) if data.dev else None
    return prepare_on(FirstStageSetup(biencoder, stage, passages, dev), settings, data, ranker)


def open_ranker(
    settings: RankerTrainingSettings, biencoder: BiEncoder, weights: Path | None = None
) -> CrossEncoderRanker:
    """The starting ranker, which reads the same parts of an article as the bi-encoder.

    Args:
        settings: Of the run.
        biencoder: The first stage.
        weights: Folder of an epoch's weights, in place of the starting model's.

    Raises:
        ModelError: It cannot be opened, or scores no pairs of texts; the message names it.
    """
    folder, device = weights or starting_folder(settings.start), resolve_device(settings.device)
    return CrossEncoderRanker(
        open_starting_model(folder, device, settings.seed),
        reading_of(settings),
        text_rule=biencoder.text_rule,
        dtype=settings.dtype,
        name=settings.start,
    )


def prepare_on(
    setup: FirstStageSetup,
    settings: RankerTrainingSettings,
    data: TrainingData,
    ranker: CrossEncoderRanker,
) -> Prepared:
    """Mine negatives from the candidates; prepare examples and measurements.

    Args:
        setup: Made with these settings, except `strategy`, `negatives` and `seed`.
        settings: Of the run.
        data: Law and questions.
        ranker: The ranker that training starts from.

    Raises:
        SettingsError: No question has a negative.
    """
    stage = setup.stage
    try:
        gold = Gold.of(list(data.corpus), data.train)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    strategy, n, found = settings.strategy, settings.negatives, stage.train.found
    negatives = mine_negatives(gold, found, strategy=strategy, n=n, seed=settings.seed)
    if not len(negatives.articles):
        raise SettingsError("candidates: no question has a negative among them. Find more.")
    dataset = make_examples(gold, negatives, data.train, setup.passages)
    n_negatives = len(negatives.articles)
    n_positives = len(dataset) - n_negatives
    mined = {
        "examples": len(dataset),
        "negatives": n_negatives,
        "questions_with_fewer": len(negatives.short),
    }
    say(f"{len(data.train):,} questions: {mined}")
    seen = np.unique(np.linspace(0, n_negatives - 1, _SCORED).astype(np.int64))
    scored = dataset.select(n_positives + seen)
    measuring = RankerMeasuring(
        ranker.logits,
        dev=setup.dev,
        negatives=ArticlePairs.of(list(scored["question"]), list(scored["passages"])),
        cosines=stage.cosines(negatives.questions[seen], negatives.articles[seen]).tolist(),
        select_by=settings.select_by,
        start_ranks=not head_parameters(ranker.encoder, starting_folder(settings.start)),
    )
    return Prepared(setup, ranker, dataset, measuring, mined)


def passages_read(data: TrainingData, biencoder: BiEncoder, ranker: CrossEncoderRanker) -> Passages:
    """What the ranker reads of articles, the same in training, on dev and in use."""
    texts = texts_of(data.corpus, ranker.text_rule)
    chooser = PassageChooser(biencoder)

    def passages(question: str, articles: Sequence[int]) -> list[list[str]]:
        own = [texts[position] for position in articles]
        chosen = ranker.chosen_passages(question, own, chooser)
        return [
            [text[start:end] for start, end in spans]
            for text, spans in zip(own, chosen, strict=True)
        ]

    return passages


def candidate_lists(
    data: TrainingData, candidates: Candidates, depth: int, passages: Passages
) -> DevLists:
    """The lists of some questions, with the passages of the candidates to re-rank.

    Args:
        data: The law.
        candidates: What the first stage found.
        depth: How many per question are re-ranked.
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


MODEL_FOLDER = "model"
LOGITS_FILE = "dev_logits.npy"
_BEST = "best-"


class RankerWatch(RunWatch):
    """Reports a run's progress and keeps the weights that were best on dev.

    They are in `best-STEP/model`, with the logits of dev. An older folder is removed only once a
    checkpoint names the newer one: a run that is killed before resumes from a checkpoint for which
    the older one is the best.

    Args:
        work: Folder of the checkpoints.
        epoch_steps: Steps of an epoch.
        select_by: Metric on dev; higher is better.
        measuring: The evaluator, which has the logits of dev.
    """

    def __init__(
        self, work: Path, *, epoch_steps: int, select_by: str, measuring: RankerMeasuring
    ) -> None:
        super().__init__(work, records_of)
        self._epoch_steps = epoch_steps
        self._select_by = select_by
        self._measuring = measuring

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """An epoch's last step is saved after it is measured, not before."""
        # A Trainer that resumes from an epoch's last checkpoint begins with the next epoch.
        step = state.global_step
        if step % self._epoch_steps == 0 or step >= state.max_steps:
            control.should_save = False
        super().on_step_end(args, state, control, **kwargs)

    def on_epoch_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Log and measure, then save a checkpoint with the measurement."""
        control.should_log = control.should_save = True

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Report the metric on dev, and keep the weights if they are the best so far.

        Raises:
            TrainingError: A logit is not finite.
        """
        logits = self._measuring.dev_logits
        if logits is not None:
            # Finite weights may give infinite products, and NaN cannot rank.
            self._check_finite("a logit of dev", float(np.abs(logits).sum()), state)
            records = records_of(state.log_history)
            value = records[-1]["dev"][self._select_by]
            say(f"Step {state.global_step:,}: {self._select_by} {value:.3f} on dev")
            if best_record(records, self._select_by) is records[-1]:
                folder = self._work / f"{_BEST}{state.global_step}"
                with whole_folder(folder, replace=True) as partial:
                    model = str(partial / MODEL_FOLDER)
                    kwargs["model"].save_pretrained(model, create_model_card=False)
                    np.save(partial / LOGITS_FILE, logits)
        super().on_evaluate(args, state, control, **kwargs)

    def on_save(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Remove the older best weights."""
        kept = best_folder(self._work, records_of(state.log_history), self._select_by)
        for folder in self._work.glob(f"{_BEST}*"):
            if kept is not None and folder != kept:
                shutil.rmtree(folder)


def best_folder(work: Path, records: Sequence[dict[str, Any]], select_by: str) -> Path | None:
    """The folder of the weights that were best on dev; None without dev."""
    best = best_record(records, select_by)
    return None if best is None else work / f"{_BEST}{best['step']}"


def train_ranker(
    settings: RankerTrainingSettings, prepared: Prepared, work: Path
) -> list[dict[str, Any]]:
    """Train a cross-encoder, from the newest complete checkpoint if there is one.

    It is measured before the first step and after each epoch.

    Args:
        settings: Of the run.
        prepared: Its ranker is trained in place.
        work: Folder of the checkpoints, and of the weights that were best on dev.

    Returns:
        The records of `records_of`.

    Raises:
        TrainingError: A loss, weight or logit is not finite.
    """
    examples, model = prepared.examples, prepared.ranker.encoder
    epoch_steps = -(-len(examples) // settings.batch_size)
    head = head_parameters(model, starting_folder(settings.start))
    if settings.dropout is not None:
        set_dropout(model, settings.dropout)
    trainer = CrossEncoderTrainer(
        model=model,
        args=trainer_arguments(
            CrossEncoderTrainingArguments,
            settings,
            work,
            steps=settings.max_steps or settings.epochs * epoch_steps,
            rate=settings.learning_rate,
            learning_rate_mapping={rf"\b{re.escape(name)}$": settings.head_lr for name in head},
            batch_sampler=EpochBatches,
            eval_strategy="epoch",
        ),
        train_dataset=examples,
        loss=BestPassageLoss(model, prepared.ranker.as_read),
        evaluator=prepared.measuring,
        callbacks=[
            RankerWatch(
                work,
                epoch_steps=epoch_steps,
                select_by=settings.select_by,
                measuring=prepared.measuring,
            )
        ],
    )
    return records_of(train_from_last_checkpoint(trainer, work))


# From a trained ranker to a model folder.


def publish(
    settings: RankerTrainingSettings,
    data: TrainingData,
    prepared: Prepared,
    records: Sequence[dict[str, Any]],
    work: Path,
) -> None:
    """Write the model folder.

    The ranker is the one that was best on dev, with the weight of the first stage's order that fits
    dev; without dev it is the last one, without a weight. All parts of the first stage's folder are
    copied unchanged.

    Args:
        settings: Of the run.
        data: What the ranker learnt from.
        prepared: What the run worked with.
        records: What was measured.
        work: Holds the best weights.
    """
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
        _say_what_is_gained(records, record, fitted, settings.select_by)
    use.save(part)
    prepared.setup.biencoder.save(
        Path(settings.output),
        base_model=settings.model,
        config=settings.to_dict(),
        data=data.digests(),
        metrics=metrics,
        kept={**kept_parts(settings.model, without=(RANKER_PART,)), RANKER_PART: part},
    )


def _fitted(
    settings: RankerTrainingSettings, data: TrainingData, prepared: Prepared, best: Path
) -> tuple[RankerSettings, dict[str, Any]]:
    """Settings of the best ranker with its weight, and the results of choosing that.

    It is chosen on the ranker's input in use, the fused candidates of `hybrid_rerank.yaml`: their
    order differs from the first stage's own.
    """
    setup = prepared.setup
    # A fusion was learnt from the vectors without the graph.
    fusion = None
    if open_network(settings.model, settings.device) is None:
        lists_there = (BM25, DIVISION, DENSE)
        fusion = learned_fusion_of(settings.model, lists=lists_there, model=setup.biencoder.digest)
    found = pipeline_candidates(setup.stage, data, setup.biencoder, fusion)
    # This takes as long as measuring all candidates on dev, so announce it.
    say(f"Fitting how the ranker is used: re-ranking {found.found.size:,} candidates of dev")
    lists = candidate_lists(data, found, RERANKED, setup.passages)
    ranker = open_ranker(settings, setup.biencoder, best / MODEL_FOLDER)
    logits = lists.logits(ranker.logits)
    metric = settings.select_by
    weight = FusionWeight.choose(lists, logits, metric)
    return (
        dataclasses.replace(prepared.ranker.settings, fusion_weight=weight.chosen),
        {
            "weights": weight.tried,
            "in_pipeline": {
                "hybrid": lists.metrics(lists.found, metric),
                "re_ranked": lists.metrics(lists.re_ranked(logits), metric),
                "fused": lists.metrics(lists.re_ranked(logits, weight.chosen), metric),
            },
            "held_out": fmean(weight.held_out),
            "gain": dataclasses.asdict(
                paired_randomisation(weight.held_out, lists.values(lists.found, metric))
            ),
        },
    )


def _say_what_is_gained(
    records: Sequence[Mapping[str, Any]],
    best: Mapping[str, Any],
    fitted: Mapping[str, Any],
    metric: str,
) -> None:
    """Report what the pipeline gains by the ranker, and whether training did harm."""
    if not best["step"]:
        trained = max(record["dev"][metric] for record in records if record["step"])
        say(
            f"Training did not help: on dev the starting model has {metric} "
            f"{best['dev'][metric]:.3f}, the best epoch {trained:.3f}. It is kept as it was."
        )
    orders, gain = fitted["in_pipeline"], fitted["gain"]
    say(
        f"In the pipeline hybrid_rerank, on dev: {metric} {orders['hybrid'][metric]:.3f} before "
        f"re-ranking, {orders['re_ranked'][metric]:.3f} by the ranker alone; held out from "
        f"fitting {fitted['held_out']:.3f} with both, {gain['difference']:+.3f}, p {gain['p']:.4f}"
    )


_DESCRIPTION = """\
Trains a cross-encoder on questions with known articles, with negatives drawn from what a bi-encoder
ranks best. Writes a model folder that holds the bi-encoder as it was and the ranker. To compare
strategies and numbers of negatives, seed by seed: python -m training.compare."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("ranker", _DESCRIPTION, RankerTrainingSettings, arguments)
    return run(lambda: train(settings))


def train(settings: RankerTrainingSettings) -> None:
    """Train from the settings' files to the settings' model folder.

    Raises:
        SettingsError: A setting does not fit the data or the run to resume, or another process
            trains into the output.
        CorpusError: A file cannot be read.
        ModelError: A model cannot be loaded, or the output folder is not empty.
        TrainingError: A loss, weight or logit is not finite.
    """

    def work_in(work: Path) -> None:
        data = TrainingData.read(settings.corpus, settings.questions, dev_share=settings.dev_share)
        say_where_dev_is_learnt(settings, data)
        compute_as_begun(work)
        open_work_folder(work, fixed_by(settings, data))
        prepared = prepare(settings, data, work)
        records = train_ranker(settings, prepared, work)
        publish(settings, data, prepared, records, work)

    train_alone(settings, work_in)


if __name__ == "__main__":
    sys.exit(main())
