"""The settings of `python -m training.pretrain`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from components.models.devices import DtypeName
from components.models.folder import BUNDLED_MODEL
from components.statutes.article import TextRule
from components.statutes.lexical import Segmentation
from training.command_line import Place, SettingsError, Target
from training.kept_settings import KeptSettings
from training.setting_checks import (
    above_zero,
    at_least,
    first_card,
    seed_in_range,
    share,
    share_above_zero,
)

TokenizerKind = Literal["wordpiece", "bpe"]

SCRATCH = "scratch"

# What is made anew for `scratch`, and what a checkpoint brings with it.
_OF_SCRATCH = ("tokenizer", "vocabulary", "layers", "width", "heads")
_LEARNING_RATE, _LEARNING_RATE_FROM_SCRATCH = 5e-5, 5e-4
_LONGEST_BLOCK = 512
_BUNDLED = Place(BUNDLED_MODEL)


@dataclass(frozen=True, kw_only=True)
class PretrainSettings(KeptSettings):
    """An encoder that has read a law, by masked-language modelling.

    "Paper" is LegalCamemBERT, which is CamemBERT that has read BSARD (Louis, van Dijck, Spanakis,
    EACL 2023).

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        output: The model folder to make. DIR.work beside it holds the checkpoints meanwhile.
        model: What training starts from: name or folder of a Hugging Face, sentence-transformers or
            Lexarbor model, or "scratch" for a fresh one. Paper: camembert-base.
        tokenizer: From scratch: wordpiece (lower case; each Chinese character a word of its own) or
            bpe (byte-level, case kept).
        vocabulary: From scratch: most tokens that the tokenizer may have.
        layers: From scratch: layers of the encoder.
        width: From scratch: width of its vectors; its feed-forward layers are 4 times as wide.
        heads: From scratch: attention heads of a layer.
        block_tokens: Tokens of a block of text; from scratch also the longest text that the model
            will ever read. Default: the most that the model reads, up to 512. Paper: 512.
        text_rule: What of an article is read.
        segmentation: vi joins the syllables of Vietnamese words by "_" before they are read, as
            models of the PhoBERT family want them; default: as the model has it. Needs pyvi.
        masked: Share of the tokens to be guessed; of these 80% are hidden, 10% are replaced by
            others and 10% stay.
        held_out: Share of the blocks that is measured by and never trained on.
        epochs: Times that each block is read. Paper: 200.
        max_steps: Steps in place of epochs. Paper: 50000.
        batch_size: Blocks a step. Paper: 32.
        learning_rate: Highest learning rate; default: 5e-5 from a checkpoint, 5e-4 from scratch.
            Paper: 5e-5.
        weight_decay: AdamW's. Paper: 0.01.
        warmup: Share of the steps in which the learning rate rises; then it falls to zero.
            Paper: 0.01.
        clip: Highest norm of the gradient.
        checkpoint_every: Steps between two checkpoints.
        dtype: Number format of the forward pass: auto is bfloat16 where that is faster.
        device: cpu, cuda, ...; default: the best there is.
        seed: Of everything that is drawn.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

    corpus: Place
    output: Target
    model: Place = _BUNDLED
    tokenizer: TokenizerKind = "wordpiece"
    vocabulary: int = 16_000
    layers: int = 4
    width: int = 256
    heads: int = 4
    block_tokens: int | None = None
    text_rule: TextRule = "headings_text"
    segmentation: Segmentation | None = None
    masked: float = 0.15
    held_out: float = 0.05
    epochs: int = 10
    max_steps: int | None = None
    batch_size: int = 32
    learning_rate: float | None = None
    weight_decay: float = 0.01
    warmup: float = 0.05
    clip: float = 1.0
    checkpoint_every: int = 500
    dtype: DtypeName = "auto"
    device: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "layers", "width", "heads", "epochs", "batch_size", "checkpoint_every")
        at_least(self, 1, "max_steps")
        at_least(self, 8, "block_tokens")
        at_least(self, 300, "vocabulary")
        at_least(self, 0, "weight_decay")
        seed_in_range(self.seed)
        above_zero(self, "learning_rate", "clip")
        share_above_zero(self, "masked", "held_out")
        share(self, "warmup")
        if self.width % self.heads:
            raise SettingsError(
                f"width {self.width} cannot be shared by {self.heads} heads. Take a multiple."
            )
        first_card(self.device)
        if not self.from_scratch:
            self._leave_alone(_OF_SCRATCH)

    def _leave_alone(self, names: tuple[str, ...]) -> None:
        """Refuse a setting that would say nothing."""
        for field in dataclasses.fields(self):
            if field.name in names and getattr(self, field.name) != field.default:
                raise SettingsError(
                    f"{field.name} is for --model {SCRATCH}; {self.model} brings its own. Leave "
                    "it out."
                )

    @property
    def from_scratch(self) -> bool:
        """Whether a fresh encoder is made, with a tokenizer of its own."""
        return self.model == SCRATCH

    @property
    def rate(self) -> float:
        """The highest learning rate."""
        if self.learning_rate is not None:
            return self.learning_rate
        return _LEARNING_RATE_FROM_SCRATCH if self.from_scratch else _LEARNING_RATE

    def block(self, limit: int | None = None) -> int:
        """Tokens of a block, for a model that reads at most `limit`, or for one yet to be made.

        Raises:
            SettingsError: The block is longer than the model reads.
        """
        if self.block_tokens is None:
            return min(limit or _LONGEST_BLOCK, _LONGEST_BLOCK)
        if limit is not None and self.block_tokens > limit:
            raise SettingsError(
                f"block_tokens is {self.block_tokens}, and {self.model} reads at most {limit}. "
                "Take fewer."
            )
        return self.block_tokens
