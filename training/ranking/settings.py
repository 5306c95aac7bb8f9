"""The settings of `python -m training.ranker`."""

from __future__ import annotations

from dataclasses import dataclass

from components.models.folder import BUNDLED_MODEL
from components.statutes.lexical import Segmentation
from training.command_line import Place, SettingsError
from training.negatives.semihard import Strategy
from training.settings import (
    TrainerSettings,
    above_zero,
    at_least,
    depth_of_metric,
    share,
)

# The pipelines `hybrid.yaml` and `hybrid_rerank.yaml`, which a ranker is fitted to.
FUSED_FROM = 250
"""How many articles each of the fused lists gives."""
RERANKED = 90
"""How many of the fused list a ranker reads."""
FULL_COVERAGE = 0.5
"""Share of a question's terms from which on BM25's list has its full weight."""

_BUNDLED = Place(BUNDLED_MODEL)
# Metrics for which it counts what stands among the first k, and not where.
_OF_A_SET = ("R@", "Exist@")


@dataclass(frozen=True, kw_only=True)
class RankerTrainingSettings(TrainerSettings):
    """A cross-encoder that re-ranks what a bi-encoder finds.

    "Paper" is Le, Nguyen, Nguyen, Nguyen (SoICT 2024).

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        questions: Questions with their articles and splits; "train" trains, "dev" chooses.
        dev_share: Share of the training questions that is set aside to choose by, where none is of
            the split "dev".
        output: The model folder to make. DIR.work beside it holds the checkpoints meanwhile.
        model: The first stage: name or folder of a bi-encoder, with its graph network where it has
            one. Its parts are taken over as they are.
        start: What the ranker starts from: name or folder of any Hugging Face encoder, of a
            cross-encoder, or of a Lexarbor model with a ranker.
        candidates: Articles that the first stage finds for a question, to draw negatives from and
            to be re-ranked on dev. Paper: 90.
        dev_candidates: How many of them are re-ranked on dev to choose the epoch (in a grid of runs
            also the first stage's weight); default: all. Fewer save time.
        strategy: Where negatives come from: semi_hard (at random from the candidates), hard (the
            best of them) or easy (at random from the whole corpus). Paper: semi_hard.
        negatives: Negatives of a question. Paper: 2, 5 or 10.
        passages: Passages of a long article that are read: those that the bi-encoder scores best.
        passage_tokens: Longest passage, the tokenizer's special tokens left out.
        segmentation: vi joins the syllables of Vietnamese words by "_" in what the ranker reads, as
            the PhoBERT family was trained; the model folder remembers it.
        epochs: Times that each (question, article) is seen. Paper: 2.
        max_steps: Steps in place of epochs.
        batch_size: (question, article) examples a step.
        learning_rate: Highest learning rate. Paper: 2e-5.
        head_lr: Highest learning rate of the head over an encoder that is no cross-encoder yet: of
            what is made from the seed, and of the pooler below it.
        dropout: Dropout while it is trained; default: the start's own.
        weight_decay: AdamW's.
        warmup: Share of the steps in which the learning rate rises; then it falls to zero.
        clip: Highest norm of the gradient.
        select_by: Metric on dev that chooses the best epoch, or the start where that is a
            cross-encoder and better. Paper: MRR@10.
        checkpoint_every: Steps between two checkpoints inside an epoch.
        dtype: Number format of the forward pass: auto is bfloat16 where that is faster.
        device: cpu, cuda, ...; default: the best there is.
        seed: Of everything that is drawn.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    questions: Place
    dev_share: float = 0.1
    model: Place = _BUNDLED
    start: Place = _BUNDLED
    candidates: int = 90
    dev_candidates: int | None = None
    strategy: Strategy = "semi_hard"
    negatives: int = 5
    passages: int = 2
    passage_tokens: int = 128
    segmentation: Segmentation | None = None
    epochs: int = 2
    batch_size: int = 16
    learning_rate: float = 2e-5
    head_lr: float = 1e-3
    dropout: float | None = None
    warmup: float = 0.1
    select_by: str = "MRR@10"
    checkpoint_every: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "candidates", "dev_candidates", "negatives", "passages")
        at_least(self, 8, "passage_tokens")
        above_zero(self, "head_lr")
        share(self, "dev_share", "dropout")
        if self.re_ranked > self.candidates:
            raise SettingsError(
                f"dev_candidates is {self.dev_candidates}, and the first stage finds "
                f"{self.candidates} candidates. Ask for fewer."
            )
        self._check_metric()

    def _check_metric(self) -> None:
        depth = depth_of_metric("select_by", self.select_by)
        # How the ranker is used is fitted on what the pipeline re-ranks, however many these are.
        fewest = min(self.re_ranked, RERANKED)
        if depth > fewest:
            more = (
                "Re-rank more (dev_candidates, candidates), or choose" if depth <= RERANKED else ""
            )
            raise SettingsError(
                f"select_by is {self.select_by}, and {fewest} candidates are re-ranked on dev. "
                f"{more or 'Choose'} another metric."
            )
        if depth == fewest and self.select_by.startswith(_OF_A_SET):
            raise SettingsError(
                f"select_by is {self.select_by}, which no order of the {fewest} candidates that "
                "are re-ranked on dev can change. Choose by fewer articles, or by MRR@10."
            )

    @property
    def re_ranked(self) -> int:
        """Candidates of a dev question that are re-ranked."""
        return self.candidates if self.dev_candidates is None else self.dev_candidates
