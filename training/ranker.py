"""python -m training.ranker: train a cross-encoder that re-ranks what a bi-encoder finds.

    python -m training.ranker --config training/configs/ranker_demo.yaml --output models/ranker

The same command resumes where it was interrupted.
"""

# ruff: noqa: ARG002 - the Trainer calls every one of these with all that it has
from __future__ import annotations

import dataclasses
import logging
import math
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
from safetensors import safe_open
from scipy.special import expit
from sentence_transformers import CrossEncoder, CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.base.model import BaseModel
from sentence_transformers.base.modules import Transformer
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sentence_transformers.util import batch_to_device
from torch import Tensor, nn
from torch.nn.utils import get_total_norm
from transformers import PrinterCallback, ProgressCallback, TrainerCallback, TrainerState
from transformers.trainer_utils import get_last_checkpoint

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
    articles_digest,
    check_target,
    check_whole,
    find_model,
    manifest_of,
    model_digest,
)
from components.models.learned_fusion import learned_fusion_of
from components.models.stored_vectors import stored_vectors
from components.models.weights import (
    OPENED_SAFELY,
    check_loaded,
    check_weight_files,
    no_progress_bars,
    opening,
)
from components.statutes.fusion import BM25, DENSE, DIVISION
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
    read_passages,
    score_statistics,
    stage_digest,
)
from training.checkpoint import (
    METRICS_FILE,
    after_no_memory,
    after_no_number,
    compute_as_begun,
    environment,
    finish_output,
    is_already_made,
    kept_parts,
    only_process,
    open_work_folder,
    work_folder_of,
    write_metrics,
)
from training.command_line import SettingsError, TrainingError, run, say, settings_from
from training.cusines import fast_backwards, set_dropout
from training.data import TrainingData, say_where_dev_is_learnt, texts_of
from training.negatives.gold import Gold, flattened
from training.plots import plot_records
from training.settings import RankerTrainingSettings

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


# Tokens that a CPU reads at a time.
_PIECE_TOKENS = 512


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
        logits = self._logits(batch_to_device(features, self.model.device))
        best = [own.max() for own in torch.split(logits, [len(each) for each in articles])]
        loss: Tensor = self.bce_with_logits_loss(torch.stack(best), labels.float())
        return loss

    def _logits(self, features: Mapping[str, Any]) -> Tensor:
        """The pairs' logits, float32 `[n]`."""
        if self.model.device.type != "cpu":
            whole: Tensor = self.model(features)["scores"]
            return whole.view(-1).float()
        # A CPU takes two thirds of the time for pairs of like length, as many as fit its cache.
        mask = features["attention_mask"]
        tokens, order = mask.sum(1).sort(stable=True)
        cuts = ((tokens.cumsum(0) - 1) // _PIECE_TOKENS).diff().nonzero().flatten() + 1
        logits: list[Tensor] = []
        for rows in order.tensor_split(cuts.tolist()):
            read = mask[rows].any(0)
            piece = {
                name: value[rows][:, read] if isinstance(value, Tensor) else value
                for name, value in features.items()
            }
            with fast_backwards("cpu"):
                logits.append(self.model(piece)["scores"].view(-1))
        return torch.cat(logits)[order.argsort()].float()


# What is measured in a ranker's run, and its records.


def records_of(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One record for each measurement of a run.

    Args:
        history: What the Trainer logged, in order.

    Returns:
        `step`, `epoch` and what `RankerMeasuring` measured; after step 0 also `loss`, the mean of
        the training steps since the last record, and `learning_rate` of the last of them.
    """
    records = []
    summed, last_logged, last_measured, rate = 0.0, 0, 0, 0.0
    for entry in history:
        step = entry["step"]
        if "loss" in entry:
            summed += entry["loss"] * (step - last_logged)
            last_logged, rate = step, entry["learning_rate"]
        if "eval_measured" not in entry:
            continue
        record = {"step": step, "epoch": round(entry.get("epoch") or 0.0, 3)}
        record |= entry["eval_measured"]
        if step > last_measured:
            record |= {"loss": summed / (step - last_measured), "learning_rate": rate}
            summed, last_measured = 0.0, step
        records.append(record)
    return records


def best_record(records: Sequence[Mapping[str, Any]], metric: str) -> Mapping[str, Any] | None:
    """The record with the highest `metric` on dev, the first of several; None without one.

    Before the first step a fresh head ranks at random, so that record does not count. A model that
    was already a cross-encoder (`start_ranks`) may be the best, if training does harm.
    """
    ranked = (each for each in records if each["step"] or each.get("start_ranks"))
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
    """

    score: Score
    dev: DevLists | None
    negatives: ArticlePairs
    cosines: Sequence[float]
    select_by: str
    start_ranks: bool

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __call__(
        self, model: BaseModel, output_path: str | None = None, epoch: float = 0, steps: int = -1
    ) -> dict[str, Any]:
        """Measure.

        Returns:
            `measured`, which has `dev` (metric to mean) each time; before the first step also
            `first_stage`, likewise, and `start_ranks`; before the first step and after one epoch
            `negatives`, with `ranker` and `biencoder` as in `training.candidates.score_statistics`.
            And `chosen_by`, the metric that chooses the best epoch.

        Raises:
            TrainingError: A logit is not finite.
        """
        measured: dict[str, Any] = {}
        values: dict[str, Any] = {"measured": measured}
        if self.dev is not None:
            logits = self.dev.logits(self.score)
            # Finite weights may give infinite products, and NaN cannot rank.
            if not np.isfinite(logits).all():
                where = f"step {steps}: a logit of dev is not finite"
                raise TrainingError(f"{where}. Train again with a lower learning_rate.")
            if not epoch:
                measured["first_stage"] = self.dev.metrics(self.dev.found, self.select_by)
                measured["start_ranks"] = self.start_ranks
            measured["dev"] = self.dev.metrics(self.dev.re_ranked(logits), self.select_by)
            values["chosen_by"] = measured["dev"][self.select_by]
            say(f"Step {steps:,}: {self.select_by} {values['chosen_by']:.3f} on dev")
        if not epoch or epoch == 1:
            own = expit(self.negatives.logits(self.score).astype(np.float64))
            measured["negatives"] = {
                "ranker": score_statistics(own),
                "biencoder": score_statistics(self.cosines),
            }
        return values


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
    if RANKER_PART in manifest.parts:
        return folder / RANKER_PART
    check_whole(manifest, name)
    return folder / QUERY_PART


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
    with opening(folder, "cross-encoder") as reports:
        model: CrossEncoder = CrossEncoder(
            str(folder),
            # Training and serving both use logits.
            activation_fn=nn.Identity(),
            **{**OPENED_SAFELY, "device": str(device)},
        )
        check_loaded(model, reports, fresh_head=True)
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
class Prepared:
    """Everything that a run works with.

    Attributes:
        biencoder: The first stage.
        stage: What it finds.
        passages: Chooses what is read of an article.
        ranker: The ranker in training.
        examples: Columns `question`, `passages`, `label`.
        measuring: The evaluator.
        mined: How many examples and negatives there are, and how many questions got too few.
    """

    biencoder: BiEncoder
    stage: FirstStage
    passages: Passages
    ranker: CrossEncoderRanker
    examples: Dataset
    measuring: RankerMeasuring
    mined: dict[str, int]


def fixed_by(settings: RankerTrainingSettings, data: TrainingData) -> dict[str, Any]:
    """What must be the same when a run is resumed, by name.

    Raises:
        ModelError: A model or the store cannot be found, or another model encoded the store.
    """
    if settings.store is not None:  # refused before anything is written
        stored_vectors(settings.store, articles_digest(find_model(settings.model)), (), dim=0)
    device = resolve_device(settings.device)
    return {
        **settings.to_dict(),
        **data.digests(),
        "device": device.type,
        "dtype": str(resolve_dtype(settings.dtype, device)).removeprefix("torch."),
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
    network = open_network(settings.model, settings.device)
    searched = FirstStage.search(
        biencoder, data, settings.candidates, network, store=settings.store
    )
    stage = searched.kept_in(work)
    passages = passages_read(data, biencoder, ranker)
    gold = Gold.of(list(data.corpus), data.train)
    strategy, n, found = settings.strategy, settings.negatives, stage.train.found
    negatives = mine_negatives(gold, found, strategy=strategy, n=n, seed=settings.seed)
    if not len(negatives.articles):
        raise SettingsError("candidates: no question has a negative among them. Find more.")
    dataset = make_examples(gold, negatives, data.train, passages)
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
        dev=candidate_lists(data, stage.dev, settings.re_ranked, passages) if data.dev else None,
        negatives=ArticlePairs.of(list(scored["question"]), list(scored["passages"])),
        cosines=stage.cosines(negatives.questions[seen], negatives.articles[seen]).tolist(),
        select_by=settings.select_by,
        start_ranks=not head_parameters(ranker.encoder, starting_folder(settings.start)),
    )
    return Prepared(biencoder, stage, passages, ranker, dataset, measuring, mined)


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


class RankerWatch(TrainerCallback):
    """Writes a run's metrics, and checks losses and weights before each checkpoint.

    Args:
        work: Folder of the checkpoints.
        epoch_steps: Steps of an epoch.
    """

    def __init__(self, work: Path, epoch_steps: int) -> None:
        self._work = work
        self._epoch_steps = epoch_steps

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """An epoch's last step is saved after it is measured, not before."""
        # A Trainer that resumes from an epoch's last checkpoint begins with the next epoch.
        step = state.global_step
        if step % self._epoch_steps == 0 or step >= state.max_steps:
            control.should_save = False
        # The Trainer logs before it saves, and `on_log` checks.
        control.should_log |= control.should_save

    def on_epoch_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Log and measure, then save a checkpoint with the measurement."""
        control.should_log = control.should_save = True

    def on_log(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Stop if a value is not a number: broken weights never replace good ones.

        Raises:
            TrainingError: A loss, the gradient's norm or a weight is not finite.
        """
        logged = {name: kwargs["logs"].get(name, 0.0) for name in ("loss", "grad_norm")}
        # The logged loss is of the weights before the last step: check those after it too.
        logged["the weights' norm"] = float(get_total_norm(kwargs["model"].parameters()))
        for name, value in logged.items():
            if not math.isfinite(value):
                where = f"up to step {state.global_step}: {name} is {value}"
                raise TrainingError(f"{where}. {after_no_number(self._work)}")

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Write what was measured so far."""
        write_metrics(self._work / METRICS_FILE, records_of(state.log_history))


class _Progress(ProgressCallback):
    """A bar; what is logged goes into the metrics, not between our own lines."""

    def on_log(self, *arguments: Any, **named: Any) -> None:
        """Print nothing."""


def train_ranker(
    settings: RankerTrainingSettings, prepared: Prepared, work: Path
) -> list[dict[str, Any]]:
    """Train a cross-encoder, from the newest complete checkpoint if there is one.

    It is measured before the first step and after each epoch.

    Args:
        settings: Of the run.
        prepared: Its ranker is trained in place.
        work: Folder of the checkpoints; the newest and the best on dev are kept.

    Returns:
        The records of `records_of`.

    Raises:
        TrainingError: A loss, weight or logit is not finite, or memory ran out.
    """
    examples, model = prepared.examples, prepared.ranker.encoder
    epoch_steps = -(-len(examples) // settings.batch_size)
    head = head_parameters(model, starting_folder(settings.start))
    if settings.dropout is not None:
        set_dropout(model, settings.dropout)
    device, checkpoint = resolve_device(settings.device), last_checkpoint(work)
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(work),
        max_steps=settings.max_steps or settings.epochs * epoch_steps,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        learning_rate_mapping={rf"\b{re.escape(name)}$": settings.head_lr for name in head},
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        bf16=resolve_dtype(settings.dtype, device) is torch.bfloat16,
        use_cpu=device.type == "cpu",
        seed=settings.seed,
        batch_sampler=EpochBatches,
        eval_strategy="epoch",
        eval_on_start=checkpoint is None,
        logging_steps=10,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=settings.checkpoint_every,
        save_total_limit=2,
        metric_for_best_model="chosen_by" if prepared.measuring.dev else None,
        greater_is_better=True,
        dataloader_pin_memory=device.type == "cuda",
        disable_tqdm=True,
        report_to="none",
    )
    if device.type == "cuda":
        # Otherwise it would spread each batch over all cards and enlarge it.
        arguments._n_gpu = 1
    trainer = CrossEncoderTrainer(
        model=model,
        args=arguments,
        train_dataset=examples,
        loss=BestPassageLoss(model, prepared.ranker.as_read),
        evaluator=prepared.measuring,
        callbacks=[RankerWatch(work, epoch_steps)],
    )
    trainer.remove_callback(PrinterCallback)
    if sys.stderr.isatty():
        trainer.add_callback(_Progress)
    if checkpoint is not None:
        say(f"Resuming from {Path(checkpoint).name} of {arguments.max_steps:,} steps")
    try:
        trainer.train(resume_from_checkpoint=checkpoint)
    except torch.OutOfMemoryError as error:
        step = trainer.state.global_step
        raise TrainingError(after_no_memory(step, "a smaller batch_size", work)) from error
    return records_of(trainer.state.log_history)


def last_checkpoint(work: Path) -> str | None:
    """The newest complete checkpoint; a newer one that a kill has cut off is removed."""
    while newest := get_last_checkpoint(str(work)):  # type: ignore[no-untyped-call]
        if (Path(newest) / "trainer_state.json").exists():  # the Trainer writes it last
            return str(newest)
        say(f"{newest}: is not complete; looking for an older checkpoint")
        shutil.rmtree(newest)
    return None


def weights_of(record: Mapping[str, Any], work: Path) -> Path | None:
    """The folder of the weights that a record measured; None for those of the start."""
    return work / f"checkpoint-{record['step']}" if record["step"] else None


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
    best = best_record(records, settings.select_by)
    biencoder, use = prepared.biencoder, prepared.ranker.settings
    ranker = open_ranker(settings, biencoder, weights_of(best or records[-1], work))
    if best is not None:
        weight, fitted = _fitted(settings, data, prepared, ranker)
        use = dataclasses.replace(use, fusion_weight=weight)
        metrics |= {"epoch": best["epoch"], "dev": best["dev"], **fitted}
        if not best["step"]:
            say("Training did not help: on dev the starting model is best. It is kept as it was.")
    part = work / RANKER_PART
    ranker.encoder.save_pretrained(str(part), create_model_card=False)
    use.save(part)
    biencoder.save(
        Path(settings.output),
        articles=biencoder.articles_digest,
        base_model=settings.model,
        config=settings.to_dict(),
        data=data.digests(),
        metrics=metrics,
        kept={**kept_parts(settings.model, without=(RANKER_PART,)), RANKER_PART: part},
    )


def _fitted(
    settings: RankerTrainingSettings,
    data: TrainingData,
    prepared: Prepared,
    ranker: CrossEncoderRanker,
) -> tuple[float, dict[str, Any]]:
    """The weight of the first stage's order that fits dev, and the results of choosing it.

    It is chosen on the ranker's input in use, the fused candidates of `hybrid_rerank.yaml`: their
    order differs from the first stage's own.
    """
    # A fusion was learnt from the vectors without the graph.
    fusion = None
    if open_network(settings.model, settings.device) is None:
        lists_there, digest = (BM25, DIVISION, DENSE), prepared.biencoder.digest
        fusion = learned_fusion_of(settings.model, lists=lists_there, model=digest)
    n_candidates = settings.fused_candidates
    found = pipeline_candidates(prepared.stage, data, prepared.biencoder, fusion, n_candidates)
    # This takes as long as measuring all candidates on dev, so announce it.
    say(f"Fitting how the ranker is used: re-ranking {found.found.size:,} candidates of dev")
    lists = candidate_lists(data, found, n_candidates, prepared.passages)
    logits = lists.logits(ranker.logits)
    metric = settings.select_by
    weight = FusionWeight.choose(lists, logits, metric)
    orders = {
        "hybrid": lists.metrics(lists.found, metric),
        "re_ranked": lists.metrics(lists.re_ranked(logits), metric),
        "fused": lists.metrics(lists.re_ranked(logits, weight.chosen), metric),
    }
    gain = paired_randomisation(weight.held_out, lists.values(lists.found, metric))
    held_out = fmean(weight.held_out)
    say(
        f"In the pipeline hybrid_rerank, on dev: {metric} {orders['hybrid'][metric]:.3f} before "
        f"re-ranking, {orders['re_ranked'][metric]:.3f} by the ranker alone; held out from "
        f"fitting {held_out:.3f} with both, {gain.difference:+.3f}, p {gain.p:.4f}"
    )
    return weight.chosen, {
        "weights": weight.tried,
        "in_pipeline": orders,
        "held_out": held_out,
        "gain": dataclasses.asdict(gain),
    }


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
    output = Path(settings.output)
    with only_process(output):
        if not is_already_made(output, settings.to_dict()):
            check_target(output)
            data = TrainingData.read(
                settings.corpus, settings.questions, dev_share=settings.dev_share
            )
            say_where_dev_is_learnt(settings, data)
            train_on(settings, data, work_folder_of(output))
        finish_output(output)


@no_progress_bars()  # one for each file read or written would hide our own lines
def train_on(settings: RankerTrainingSettings, data: TrainingData, work: Path) -> None:
    """Train on these questions to the settings' model folder, or resume.

    Args:
        settings: Of the run.
        data: The law and its questions.
        work: Folder of the checkpoints; it stays.

    Raises:
        SettingsError: A setting does not fit the data or the run to resume.
        ModelError: A model cannot be loaded.
        TrainingError: A loss, weight or logit is not finite.
    """
    compute_as_begun(work)
    open_work_folder(work, fixed_by(settings, data))
    prepared = prepare(settings, data, work)
    publish(settings, data, prepared, train_ranker(settings, prepared, work), work)


if __name__ == "__main__":
    sys.exit(main())
