"""What every training run is asked for, whatever it trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from components.statutes.article import TextRule
from components.statutes.tree import CrossLaw
from training.command_line import Place, SettingsError, Target
from training.kept_settings import KeptSettings
from training.negatives.curriculum import Schedule, ShareOf
from training.negatives.options import Ties
from training.setting_checks import (
    above_zero,
    at_least,
    depth_of_metric,
    only_where,
    seed_in_range,
    share,
)

Reduction = Literal["mean", "question_sum"]

DEV_DEPTH = 1_000
"""How deep the questions of dev are searched."""


@dataclass(frozen=True, kw_only=True)
class RunSettings(KeptSettings):
    """What every training run on questions with known articles is asked for.

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles and splits; "train" trains, "dev" chooses.
        dev_share: Share of the training questions that is set aside to choose by, where none is of
            the split "dev".
        output: The model folder to make. DIR.work beside it holds the checkpoints meanwhile.
        text_rule: What of an article is read.
        views: Where a negative's difficulty comes from: tree, sequence, semantic, bm25, or run (a
            ranking of your own, run_file). Paper: tree, sequence, semantic (static: bm25 in place
            of semantic; baseline: bm25 alone).
        negatives_per_question: Negatives drawn for each question and epoch. Paper: not given.
        buckets: Parts of the ranking of negatives, from easy to difficult, 1 to 6. Paper: 3.
        schedule: How the shares of the buckets change: curriculum, constant, reversed, or fixed
            (the hardest ones from the start). Paper: curriculum.
        share_of: What the shares .7, .2, .1 are shares of: the negatives of a question, or
            literally per cent of the articles in each bucket. Paper: "0.7%, 0.2%, 0.1%", which can
            be read as either.
        candidates: The hardest articles of a question's ranking that are cut into buckets and drawn
            from; default: all, as in the paper.
        ties: How equally difficult articles rank in a view. Paper: permutation.
        k: Constant of reciprocal rank fusion. Paper: not given (60 in Cormack et al.).
        cross_law: Distance in the tree between articles of two laws: farther than any two of one
            law, or that of their path over the root.
        permute_tree: A control: every article stands at another one's place in the tree and the
            sequence.
        bm25_k1: Term saturation of the bm25 view. BSARD's: 2.5.
        bm25_b: Length normalisation of the bm25 view. BSARD's: 0.2.
        run_file: TREC run of the training questions (with final: also of dev's) that the view "run"
            ranks by.
        refresh_every: Epochs between two encodings of the corpus for the semantic view. Paper: 1.
        epochs: Times that each (question, positive) pair is seen. Paper: 15.
        max_steps: Steps in place of epochs; data of a few questions wants at least 500.
        batch_size: Pairs a step, over all processes together. Paper: 24.
        in_batch: Whether the batch's other articles are negatives too. Paper: true.
        temperature: Of the loss, eq. (1). Paper: 0.01.
        reduction: The loss as a mean over pairs, or over questions of the sum of their pairs.
            Paper: not given; its eq. (1) is of one pair.
        learning_rate: Highest learning rate. Paper: 2e-5.
        weight_decay: AdamW's. Paper: 0.01.
        clip: Highest norm of the gradient. G-DSR: 1.0.
        select_by: Metric on dev that chooses the best epoch, such as R@10, MAP or MRR@10. Paper:
            R@200.
        measure_every: Epochs between two measurements on dev; the last epoch is always measured.
        patience: Epochs without a better one after which training stops; default: never.
        final: After choosing the epoch on dev, train anew on train + dev up to it. Paper: true.
        checkpoint_every: Steps between two checkpoints inside an epoch.
        device: cpu, cuda, ...; default: the best there is.
        trackers: Trackers of Accelerate that get the metrics too, such as tensorboard.
        seed: Of everything that is drawn.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    corpus: Place
    questions: Place
    output: Target
    dev_share: float = 0.1
    text_rule: TextRule = "headings_text"
    views: tuple[str, ...] = ("tree", "sequence", "semantic")
    negatives_per_question: int = 8
    buckets: int = 3
    schedule: Schedule = "curriculum"
    share_of: ShareOf = "negatives"
    candidates: int | None = None
    ties: Ties = "mid_rank"
    k: int = 60
    cross_law: CrossLaw = "farther"
    permute_tree: bool = False
    bm25_k1: float = 1.5
    bm25_b: float = 0.75
    run_file: Place | None = None
    refresh_every: int = 1
    epochs: int = 3
    max_steps: int | None = None
    batch_size: int = 24
    in_batch: bool = True
    temperature: float = 0.01
    reduction: Reduction = "mean"
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    clip: float = 1.0
    select_by: str = "R@10"
    measure_every: int = 1
    patience: int | None = None
    final: bool = False
    checkpoint_every: int = 100
    device: str | None = None
    trackers: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "k", "refresh_every", "measure_every", "epochs", "batch_size")
        at_least(self, 1, "checkpoint_every", "max_steps", "patience", "candidates")
        at_least(self, 0, "negatives_per_question", "weight_decay")
        seed_in_range(self.seed)
        above_zero(self, "temperature", "learning_rate", "clip")
        share(self, "dev_share")
        alone = not self.in_batch or self.batch_size == 1
        if self.negatives_per_question == 0 and self.share_of == "negatives" and alone:
            raise SettingsError(
                f"negatives_per_question is 0, in_batch {self.in_batch}, batch_size "
                f"{self.batch_size}: no pair has a negative, and nothing can be learnt. Draw some, "
                "or allow those of a larger batch."
            )
        depth = depth_of_metric("select_by", self.select_by)
        if depth > DEV_DEPTH:
            raise SettingsError(
                f"select_by is {self.select_by}; dev is searched {DEV_DEPTH:,} articles deep."
            )

    def check_views(self) -> None:
        """Refuse what none of the views would use. In a grid each arm has views of its own.

        Raises:
            SettingsError: Such a setting is given.
        """
        used = not set(self.views) <= {"tree", "sequence", "semantic", "run"}
        only_where(self, used, "the view bm25", "bm25_k1", "bm25_b")

    def total_steps(self, epoch_steps: int) -> int:
        """Steps of the whole run, given those of an epoch."""
        return self.max_steps or self.epochs * epoch_steps
