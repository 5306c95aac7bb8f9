"""Settings of the trainings of bi-encoders, graph networks and rankers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from components.models.encoding import Init, Pooling
from components.models.folder import BUNDLED_MODEL, DtypeName
from components.models.graph import GraphKind
from components.statutes.lexical import Segmentation
from components.statutes.metrics import metric_depth
from training.command_line import Place, SettingsError, Target
from training.negatives.curriculum import CurriculumSettings

DEV_DEPTH = 1_000
"""How many articles are searched for each dev question."""


@dataclass(frozen=True, kw_only=True)
class KeptSettings:
    """Settings of a run that makes a model; the model's manifest records them."""

    def to_dict(self) -> dict[str, Any]:
        """The settings as recorded in a model's manifest."""
        values = dataclasses.asdict(self)
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}


def _check(
    settings: object, names: Sequence[str], fits: Callable[[float], bool], must: str
) -> None:
    """Refuse a field with an invalid value; None passes."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not fits(value):
            raise SettingsError(f"{name} is {value}; it must be {must}.")


def at_least(settings: object, least: float, *names: str) -> None:
    """Refuse a field that is below its least value or infinite; None passes."""
    _check(settings, names, lambda value: least <= value < math.inf, f"at least {least} and finite")


def above_zero(settings: object, *names: str) -> None:
    """Refuse a field that is zero, negative or infinite; None passes."""
    _check(settings, names, lambda value: 0 < value < math.inf, "above 0 and finite")


def seed_in_range(settings: object) -> None:
    """Refuse a seed that NumPy, PyTorch or transformers would refuse much later."""
    _check(settings, ["seed"], lambda seed: 0 <= seed < 2**32, "from 0 to 4,294,967,295")


def share(settings: object, *names: str) -> None:
    """Refuse a field that is not a share, from 0 to below 1; None passes."""
    _check(settings, names, lambda value: 0 <= value < 1, "a share, from 0 and below 1")


def only_where(settings: KeptSettings, used: bool, needs: str, *names: str) -> None:
    """Refuse a field that differs from its default where nothing would use it."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name in names and not used and value != field.default:
            raise SettingsError(f"{field.name} is {value}, but it only applies to {needs}.")


def folder_named(output: str | Path) -> None:
    """Refuse an output without a name, such as "." or ""."""
    if not Path(output).name:
        raise SettingsError(f"output: {str(output)!r} has no name. Name a folder to make.")


def depth_of_metric(metric: str, deepest: int = DEV_DEPTH) -> int:
    """How many articles the metric `select_by` looks at.

    Raises:
        SettingsError: There is no such metric, or it looks at more than the deepest.
    """
    try:
        depth = metric_depth(metric)
    except ValueError as error:
        raise SettingsError(f"select_by: {error}.") from error
    if depth > deepest:
        raise SettingsError(f"select_by is {metric}, but {deepest:,} articles are ranked on dev.")
    return depth


Reduction = Literal["mean", "question_sum"]


@dataclass(frozen=True, kw_only=True)
class RunSettings(KeptSettings, CurriculumSettings):
    """Settings of every training on questions with known articles, including the curriculum's.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles and splits; "train" trains, "dev" chooses.
        dev_share: Share of the training questions that is set aside to choose by, where none is of
            the split "dev".
        output: The model folder to make. DIR.work next to it holds the checkpoints until it is
            finished.
        refresh_every: Epochs between two encodings of the corpus for the semantic view. Paper: 1.
        epochs: How often each (question, positive) pair is seen. Paper: 15.
        max_steps: Steps in place of epochs; a few questions need at least 500.
        batch_size: Pairs per step, over all processes together. Paper: 24.
        in_batch: Whether the batch's other articles are negatives too. Paper: false by its eq. (1),
            which has the question's own negatives alone. G-DSR: true.
        loss: What is minimised: contrastive or triplet (training/objective.py). Paper:
            contrastive, eq. (1).
        temperature: Temperature of the loss contrastive, eq. (1). Paper: 0.01.
        margin: How much more similar a positive should be than each negative, in the loss triplet.
        reduction: mean over pairs, or question_sum: mean over questions of the sum over their
            pairs. Paper: eq. (1) is the sum over the positives of one question.
        learning_rate: Highest learning rate. Paper: 2e-5.
        weight_decay: AdamW's. Paper: 0.01.
        clip: Highest norm of the gradient. G-DSR: 1.0.
        select_by: Metric on dev that chooses the best epoch, such as R@10, MAP or MRR@10. Paper:
            R@200.
        measure_every: Epochs between two measurements on dev; the last epoch is always measured.
        final: After choosing the epoch on dev, train again on train + dev up to that epoch. Paper:
            true.
        checkpoint_every: Steps between two checkpoints inside an epoch.
        device: cpu, cuda, ...; default: the best available.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    corpus: Place
    questions: Place
    output: Target
    dev_share: float = 0.1
    views: tuple[str, ...] = ("tree", "sequence", "semantic")
    run_file: Place | None = None
    refresh_every: int = 1
    epochs: int = 3
    max_steps: int | None = None
    batch_size: int = 24
    in_batch: bool = True
    loss: str = "contrastive"
    temperature: float = 0.01
    margin: float = 1.0
    reduction: Reduction = "mean"
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    clip: float = 1.0
    select_by: str = "R@10"
    measure_every: int = 1
    final: bool = False
    checkpoint_every: int = 100
    device: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "refresh_every", "measure_every", "epochs", "batch_size")
        at_least(self, 1, "checkpoint_every", "max_steps")
        at_least(self, 0, "weight_decay")
        seed_in_range(self)
        above_zero(self, "temperature", "margin", "learning_rate", "clip")
        only_where(self, self.loss == "triplet", "the loss triplet", "margin")
        share(self, "dev_share")
        alone = not self.in_batch or self.batch_size == 1
        alone = alone and not self.compares_whole_law
        if self.negatives_per_question == 0 and self.share_of == "negatives" and alone:
            raise SettingsError(
                "negatives_per_question is 0, and no pair has a negative in its batch either."
            )
        depth_of_metric(self.select_by)

    @property
    def compares_whole_law(self) -> bool:
        """Whether every article is a negative of every question."""
        return False

    def total_steps(self, epoch_steps: int) -> int:
        """Steps of the whole run, given those of an epoch."""
        return self.max_steps or self.epochs * epoch_steps


@dataclass(frozen=True, kw_only=True)
class GraphSettings(RunSettings):
    """A graph network over the tree of the law (G-DSR: Louis, van Dijck, Spanakis, EACL 2023).

    Args:
        model: The trained bi-encoder below: name or folder. Its vectors of articles, headings and
            questions do not change.
        vectors: Folder that keeps these vectors for later runs, by digest; default: they are kept
            only until the run is finished.
        network: How nodes aggregate their neighbours; mlp is the control without a graph.
            G-DSR: gatv2.
        layers: Layers, and so how many steps a vector travels in the tree. G-DSR: 3.
        hidden: Width inside the network; default: that of the vectors. G-DSR: 4 times it.
        heads: Attention heads. G-DSR: 1.
        dropout: Dropout inside the network while it is trained. G-DSR: 0.1.
        init: Whether a fresh network begins as an identity, or at random as published.
        neighbours: Whether consecutive articles of a law are joined too. G-DSR: false.
        citations: Whether an article is joined to those that its text cites. G-DSR: false.
        views: Where a negative's difficulty comes from. G-DSR: bm25, with schedule fixed and one
            bucket. CuSINeS: tree, sequence, semantic.
        epochs: How often each (question, positive) pair is seen. G-DSR: 10, CuSINeS: 25.
        min_steps: Least number of steps, whatever the epochs.
        batch_size: Pairs per step. G-DSR: 512.
        learning_rate: Learning rate, the same at every step. G-DSR: 2e-4.
        weight_decay: AdamW's. G-DSR: 0.1.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    model: Place | None = None
    vectors: Target | None = None
    network: GraphKind = "gatv2"
    layers: int = 3
    hidden: int | None = None
    heads: int = 4
    dropout: float = 0.0
    init: Init = "identity"
    neighbours: bool = False
    citations: bool = False
    epochs: int = 10
    min_steps: int = 500
    batch_size: int = 512
    learning_rate: float = 2e-4
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "layers", "hidden", "heads")
        at_least(self, 0, "min_steps")
        share(self, "dropout")

    def total_steps(self, epoch_steps: int) -> int:
        """Steps of the whole run."""
        return self.max_steps or max(self.min_steps, super().total_steps(epoch_steps))

    @property
    def starting_model(self) -> str:
        """Name of the bi-encoder below."""
        return str(self.model or BUNDLED_MODEL)


StartPooling = Literal["model", "cls", "mean", "max"]
StartHead = Literal["none", "identity", "paper"]
Towers = Literal["both", "question"]


@dataclass(frozen=True, kw_only=True)
class CusinesSettings(RunSettings):
    """A bi-encoder trained with CuSINeS (Santosh, Kaiser, Grabmair, LREC-COLING 2024).

    Args:
        model: What training starts from, for questions and articles alike (siamese): name or folder
            of a Hugging Face, sentence-transformers or Lexarbor model; default: MiniLM, where no
            towers are given. Paper: LegalCamemBERT.
        query_model: The questions' tower, if it differs from the articles'.
            Paper: camembert-base.
        passage_model: The articles' tower, given together with query_model. Paper: camembert-base
            adapted to the law.
        towers: What is trained: both sides, or the question's tower alone, by low-rank updates. The
            articles' vectors then stay as they are, a store of them stays in use, and every
            comparison is exact. Paper: both.
        rank: Of the updates under towers question (`components.models.difference`).
        store: A store that the model has encoded, under towers question: its vectors of the
            articles are taken, and only new articles are encoded.
        whole_law: Every article of the law is a negative of every question, under towers question,
            in the contrastive loss; negatives_per_question is then 0.
        hold_out: Share of the training questions that is not learnt, so that a fusion can be learnt
            from them over this model; the manifest names them. Paper: 0.
        pooling: From tokens to a vector; "model" keeps the model's own. Paper: cls.
        segmentation: vi joins the syllables of Vietnamese words by "_" before they are encoded, as
            models of the PhoBERT family want them; default: as the model has it. Needs pyvi.
        max_tokens: Longest text that is read without a head; default: the model's limit.
        head: Joins the passages of long articles: none, or a fresh one that begins as an identity
            or at random (paper). Paper: paper.
        passage_tokens: Longest passage under a fresh head. Paper: 128.
        max_passages: Passages an article may have under a fresh head. Paper: 8 (1,024 tokens).
        head_pooling: How a fresh head pools passages. Paper: max.
        dropout: Dropout of the towers while they are trained; default: the model's own.
        frozen_layers: The embeddings and this many layers of each tower stay as they are; 0 trains
            all. Paper: 0.
        head_lr: Highest learning rate of the head, fresh or the model's. Paper: 2e-5.
        warmup: Share of the steps in which the learning rate rises; then it falls to zero.
            Paper: 0.05.
        gradient_caching: Encode each batch twice in pieces, so that memory is bounded by the piece.
            Dropout then draws other numbers.
        token_budget: Padded tokens per forward pass; default: what suits the device.
        dtype: Number format of the towers: auto is bfloat16 where that is faster.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    model: Place | None = None
    query_model: Place | None = None
    passage_model: Place | None = None
    towers: Towers = "both"
    rank: int = 32
    store: Place | None = None
    whole_law: bool = False
    hold_out: float = 0.0
    pooling: StartPooling = "model"
    segmentation: Segmentation | None = None
    max_tokens: int | None = None
    head: StartHead = "none"
    passage_tokens: int = 128
    max_passages: int = 8
    head_pooling: Pooling = "mean"
    dropout: float | None = None
    frozen_layers: int = 0
    head_lr: float = 1e-3
    warmup: float = 0.05
    gradient_caching: bool = False
    token_budget: int | None = None
    dtype: DtypeName = "auto"

    def __post_init__(self) -> None:
        if (self.query_model is None) != (self.passage_model is None):
            raise SettingsError("query_model and passage_model go together: give both, or model.")
        if self.model is not None and self.query_model is not None:
            raise SettingsError("model is for one tower, query_model and passage_model for two.")
        super().__post_init__()
        at_least(self, 1, "passage_tokens", "max_passages", "max_tokens", "token_budget")
        at_least(self, 0, "frozen_layers")
        above_zero(self, "head_lr")
        fresh = ("passage_tokens", "max_passages", "head_pooling")
        only_where(self, self.head != "none", "a fresh head (head identity or paper)", *fresh)
        share(self, "dropout", "warmup", "hold_out")
        at_least(self, 1, "rank")
        alone = self.towers == "question"
        only_where(self, alone, "towers question", "rank", "store", "whole_law")
        only_where(self, not self.whole_law, "whole_law false", "in_batch", "loss", "share_of")
        if self.whole_law and self.negatives_per_question:
            raise SettingsError(
                "whole_law: every article is a negative, so none is drawn. Set "
                "negatives_per_question to 0."
            )
        of_articles = ("query_model", "passage_model", "pooling", "segmentation", "max_tokens")
        only_where(self, not alone, "towers both", *of_articles, "head", "head_lr")

    @property
    def compares_whole_law(self) -> bool:
        """Whether every article is a negative of every question."""
        return self.whole_law

    @property
    def starting_model(self) -> str:
        """Name of the model that training starts from; the articles' tower if there are two."""
        return str(self.passage_model or self.model or BUNDLED_MODEL)


Strategy = Literal["semi_hard", "hard", "easy"]

BUNDLED = Place(BUNDLED_MODEL)


@dataclass(frozen=True, kw_only=True)
class RankerTrainingSettings(KeptSettings):
    """A cross-encoder that re-ranks what a bi-encoder finds.

    "Paper" is Le, Nguyen, Nguyen, Nguyen (2025), on the SoICT Hackathon 2024.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles and splits; "train" trains, "dev" chooses.
        dev_share: Share of the training questions that is set aside to choose by, where none is of
            the split "dev".
        output: The model folder to make. DIR.work next to it holds the checkpoints until it is
            finished.
        model: The first stage: name or folder of a bi-encoder, with its graph network where it has
            one. Its parts are copied unchanged.
        store: A store that the model has encoded: its vectors are taken, and only articles that it
            lacks are encoded.
        start: What the ranker starts from: name or folder of any Hugging Face encoder, of a
            cross-encoder, or of a Lexarbor model with a ranker.
        candidates: Articles that the first stage finds for a question, to draw negatives from and
            to re-rank on dev. Paper: 90.
        dev_candidates: How many of them are re-ranked on dev to choose the epoch; default: all.
            Fewer save time.
        fused_candidates: How many of the fused list are re-ranked on dev to choose the weight of
            its order: as many as the pipeline's `candidates`, 90 in `hybrid_rerank.yaml`.
        strategy: Where negatives come from: semi_hard (at random from the candidates), hard (the
            best of them) or easy (at random from the whole corpus). Paper: semi_hard.
        negatives: Negatives per question. Paper: 2, 5 or 10.
        passages: How many passages of a long article are read, the best by the bi-encoder's score.
        passage_tokens: Longest passage, the tokenizer's special tokens left out.
        segmentation: vi joins the syllables of Vietnamese words by "_" in what the ranker reads, as
            the PhoBERT family was trained; recorded in the model folder.
        epochs: How often each (question, article) is seen. Paper: 2.
        max_steps: Steps in place of epochs.
        batch_size: (question, article) examples per step.
        learning_rate: Highest learning rate. Paper: 2e-5.
        head_lr: Highest learning rate of the fresh head over an encoder that is not a cross-encoder
            yet, and of the pooler below it.
        dropout: Dropout while it is trained; default: the starting model's own.
        weight_decay: AdamW's.
        warmup: Share of the steps in which the learning rate rises; then it falls to zero.
        clip: Highest norm of the gradient.
        select_by: Metric on dev that chooses the best epoch, or the starting model if that is a
            cross-encoder and better. Paper: MRR@10.
        checkpoint_every: Steps between two checkpoints inside an epoch.
        dtype: Number format of the forward pass: auto is bfloat16 where that is faster.
        device: cpu, cuda, ...; default: the best available.
        seed: Seed of everything that is drawn.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    corpus: Place
    questions: Place
    output: Target
    dev_share: float = 0.1
    model: Place = BUNDLED
    store: Place | None = None
    start: Place = BUNDLED
    candidates: int = 90
    dev_candidates: int | None = None
    fused_candidates: int = 90
    strategy: Strategy = "semi_hard"
    negatives: int = 5
    passages: int = 2
    passage_tokens: int = 128
    segmentation: Segmentation | None = None
    epochs: int = 2
    max_steps: int | None = None
    batch_size: int = 16
    learning_rate: float = 2e-5
    head_lr: float = 1e-3
    dropout: float | None = None
    weight_decay: float = 0.01
    warmup: float = 0.1
    clip: float = 1.0
    select_by: str = "MRR@10"
    checkpoint_every: int = 200
    dtype: DtypeName = "auto"
    device: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "candidates", "dev_candidates", "fused_candidates")
        at_least(self, 1, "negatives", "passages")
        at_least(self, 1, "epochs", "max_steps", "batch_size", "checkpoint_every")
        at_least(self, 8, "passage_tokens")
        at_least(self, 0, "weight_decay")
        above_zero(self, "learning_rate", "head_lr", "clip")
        share(self, "dev_share", "dropout", "warmup")
        seed_in_range(self)
        # transformers' Trainer would use no card but the first.
        if (self.device or "").startswith("cuda:") and self.device != "cuda:0":
            raise SettingsError("device: choose another card by CUDA_VISIBLE_DEVICES.")
        if self.re_ranked > self.candidates:
            raise SettingsError(f"dev_candidates: the first stage finds {self.candidates}.")
        depth_of_metric(self.select_by, min(self.re_ranked, self.fused_candidates))

    @property
    def re_ranked(self) -> int:
        """How many candidates of a dev question are re-ranked."""
        return self.candidates if self.dev_candidates is None else self.dev_candidates


@dataclass(frozen=True, kw_only=True)
class FusionSettings(KeptSettings):
    """A learned fusion of what words, divisions and meaning find.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles and splits; "train" is learnt, "dev" measures.
        output: The model folder to make.
        model: Name or folder of the bi-encoder whose list is fused; its parts are taken over.
        store: A store that the model has encoded: its vectors are taken, and only articles that it
            lacks are encoded.
        dev_share: Share of the training questions that is set aside to measure by, where none is
            of the split "dev".
        select_by: Metric in which the fusion must be better than rank fusion to be written.
        dtype: Number format of the encoder: auto is bfloat16 where that is faster.
        device: Of the encoder: cpu, cuda, ...; default: the best there is.
        seed: Of everything that is drawn.

    Raises:
        SettingsError: A value is out of its range.
    """

    corpus: Place
    questions: Place
    output: Target
    model: Place = BUNDLED
    store: Place | None = None
    dev_share: float = 0.1
    select_by: str = "MAP@10"
    dtype: DtypeName = "auto"
    device: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        share(self, "dev_share")
        seed_in_range(self)
        depth_of_metric(self.select_by)
