"""What pretraining starts from: a model at hand, or a fresh one with a tokenizer of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from transformers import (
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from components.models.encoding import checked_segmentation
from components.models.errors import ModelError
from components.models.folder import (
    MANIFEST_FILE,
    QUERY_PART,
    find_model,
    read_manifest,
    whole_folder,
)
from components.models.tower import Tower, open_towers
from components.statutes.lexical import Segmentation
from training.command_line import say
from training.pretraining.settings import PretrainSettings
from training.pretraining.tokenizer import train_tokenizer

_START = "start"


@dataclass(frozen=True)
class Start:
    """A text encoder, and the same Transformer with a head that guesses masked words.

    Attributes:
        tower: What becomes of it: Transformer and pooling. Its Transformer is not trained itself.
        masked: What is trained, in float32.
    """

    tower: Tower
    masked: PreTrainedModel

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The model's own tokenizer."""
        tokenizer: PreTrainedTokenizerBase = self.tower.encoder.tokenizer
        return tokenizer

    @property
    def encoder(self) -> PreTrainedModel:
        """The tower's Transformer."""
        return cast(PreTrainedModel, self.tower.encoder.transformers_model)

    def trained(self) -> Tower:
        """The tower with the weights that were trained, on the CPU; the head stays behind."""
        weights = {name: each.cpu() for name, each in self.masked.base_model.state_dict().items()}
        # A pooler, which no masked word ever trains, stays as the checkpoint had it.
        self.encoder.load_state_dict(weights, strict=False)
        return self.tower


def segmentation_of(settings: PretrainSettings) -> Segmentation | None:
    """The language whose words are joined in what is read; by default as the model has it.

    Raises:
        ModelError: There is no such model, or what tells words apart is not installed.
    """
    chosen = settings.segmentation
    if chosen is None and not settings.from_scratch:
        folder = find_model(settings.model)
        if (folder / MANIFEST_FILE).exists():
            chosen = read_manifest(folder).segmentation
    return checked_segmentation(chosen)


def open_start(folder: Path, seed: int) -> Start:
    """Open a model's tower, and its Transformer with a head for masked words.

    Where the model comes without such a head, as sentence-transformers do, a fresh one is made.

    Args:
        folder: As `start_folder` gives it.
        seed: Of weights that the folder lacks.

    Raises:
        ModelError: It cannot be opened, or cannot be trained this way.
    """
    torch.manual_seed(seed)
    tower, second = open_towers(folder)
    if second is not None:
        raise ModelError(
            f"{folder}: routes questions and articles to two towers. Give a model of one."
        )
    tokenizer = tower.encoder.tokenizer
    if tokenizer.mask_token is None:
        raise ModelError(
            f"{folder}: its tokenizer has no mask token, so it cannot learn from masked words. "
            "Choose a model that was made with them (BERT, RoBERTa, CamemBERT, ...)."
        )
    try:
        masked, report = AutoModelForMaskedLM.from_pretrained(
            _reader(folder),
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except ValueError as error:
        raise ModelError(f"{folder}: has no head for masked words: {error}") from error
    start = Start(tower, masked)
    if type(masked.base_model) is not type(start.encoder):
        raise ModelError(
            f"{folder}: is a {type(start.encoder).__name__}, and masked words would train a "
            f"{type(masked.base_model).__name__}. Choose another model."
        )
    if len(tokenizer) > masked.get_input_embeddings().num_embeddings:
        raise ModelError(f"{folder}: its tokenizer has more tokens than its model has embeddings.")
    own = masked.base_model_prefix + "."
    if any(not name.startswith(own) for name in report["missing_keys"]):
        say("The model has no head for masked words; a fresh one is trained along")
    return start


def start_folder(settings: PretrainSettings, texts: Sequence[str], work: Path) -> Path:
    """The folder of the tower that training starts from; made in `work` from scratch, once.

    Raises:
        ModelError: There is no such model, or it holds two towers.
        SettingsError: The vocabulary is too small for the corpus.
    """
    if settings.from_scratch:
        folder = work / _START
        if not folder.exists():
            _make(folder, settings, texts)
        return folder
    folder = find_model(settings.model)
    if not (folder / MANIFEST_FILE).exists():
        return folder
    towers = read_manifest(folder).towers
    if not towers or towers["query"] != towers["passage"]:
        raise ModelError(
            f"{folder}: holds {'two towers' if towers else 'no bi-encoder'}. Give the folder of "
            f"one tower, such as {folder / QUERY_PART}."
        )
    return folder / towers["query"]


def _make(folder: Path, settings: PretrainSettings, texts: Sequence[str]) -> None:
    """A fresh encoder with a tokenizer trained on the texts, complete or not at all."""
    block = settings.block()
    tokenizer = train_tokenizer(texts, settings.tokenizer, settings.vocabulary, max_tokens=block)
    say(f"A tokenizer of {len(tokenizer):,} tokens was trained on {len(texts):,} articles")
    torch.manual_seed(settings.seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=4 * settings.width,
        max_position_embeddings=block,
        pad_token_id=tokenizer.pad_token_id,
    )
    with whole_folder(folder, replace=True) as partial:
        BertForMaskedLM(config).save_pretrained(partial)
        tokenizer.save_pretrained(str(partial))


def _reader(folder: Path) -> Path:
    """Where a sentence-transformers folder keeps its Transformer; the folder itself elsewhere."""
    modules = folder / "modules.json"
    if not modules.exists():
        return folder
    return folder / str(json.loads(modules.read_text(encoding="utf-8"))[0]["path"])
