"""The settings of `python -m training.cusines`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from components.models.devices import DtypeName
from components.models.folder import BUNDLED_MODEL
from components.models.head import Pooling
from components.statutes.lexical import Segmentation
from training.command_line import Place, SettingsError
from training.run_settings import RunSettings
from training.setting_checks import above_zero, at_least, only_where, share

StartPooling = Literal["model", "cls", "mean", "max"]
StartHead = Literal["none", "identity", "paper"]


@dataclass(frozen=True, kw_only=True)
class CusinesSettings(RunSettings):
    """A bi-encoder trained with CuSINeS (Santosh, Kaiser, Grabmair, LREC-COLING 2024).

    Args:
        model: What training starts from, for questions and articles alike (siamese): name or folder
            of a Hugging Face, sentence-transformers or Lexarbor model; default: MiniLM, where no
            towers are given. Paper: LegalCamemBERT.
        query_model: The questions' tower, where it is another one than the articles'.
            Paper: camembert-base.
        passage_model: The articles' tower, given together with query_model. Paper: camembert-base
            adapted to the law (training.pretrain).
        pooling: From tokens to a vector; "model" leaves it as the model has it. Paper: cls.
        segmentation: vi joins the syllables of Vietnamese words by "_" before they are encoded, as
            models of the PhoBERT family want them; default: as the model has it. Needs pyvi.
        max_tokens: Longest text that is read, where there is no head; default: the model's limit.
        head: Joins the passages of long articles: none, or a fresh one that starts as an identity
            or at random. Paper: paper.
        passage_tokens: Longest passage under a fresh head. Paper: 128.
        max_passages: Passages an article may have under a fresh head. Paper: 8 (1,024 tokens).
        head_pooling: How a fresh head pools passages. Paper: max.
        dropout: Dropout of the towers while they are trained; default: the model's own.
        frozen_layers: The embeddings and so many layers of each tower stay as they are; 0 trains
            all. What they make of the texts is kept, up to 2 GB a tower. Paper: 0.
        head_lr: Highest learning rate of the head, a fresh one or the model's. Paper: 2e-5.
        warmup: Share of the steps in which the learning rate rises; then it falls to zero.
            Paper: 0.05.
        gradient_caching: Encode each batch twice in pieces, so that memory is bounded by the piece.
            Dropout draws other numbers then.
        token_budget: Padded tokens a forward pass; default: what suits the device.
        dtype: Number format of the towers: auto is bfloat16 where that is faster.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    model: Place | None = None
    query_model: Place | None = None
    passage_model: Place | None = None
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
        share(self, "dropout", "warmup")

    def check_views(self) -> None:
        """Refuse what none of the views would use; the control is of two of them.

        Raises:
            SettingsError: Such a setting is given.
        """
        super().check_views()
        used = not set(self.views) <= {"semantic", "bm25", "run"}
        only_where(self, used, "the views tree and sequence", "permute_tree")

    @property
    def start(self) -> str:
        """Name of the model that training starts from; the articles' where there are two."""
        return str(self.passage_model or self.model or BUNDLED_MODEL)
