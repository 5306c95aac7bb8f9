"""python -m training.pretrain: let an encoder read a law before it is trained to search it.

    python -m training.pretrain --corpus aldermere --output models/read
    python -m training.pretrain --corpus aldermere --model scratch --output models/fresh

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import Tensor
from torch.utils.data import Dataset
from transformers import (
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerState,
    TrainingArguments,
)

from components.models.biencoder import BiEncoder
from components.models.devices import resolve_device, resolve_dtype
from components.models.encoding import PassageTokenizer, Tower, checked_segmentation, open_tower
from components.models.errors import ModelError
from components.models.folder import (
    BUNDLED_MODEL,
    QUERY_PART,
    find_model,
    manifest_of,
    model_digest,
    whole_folder,
)
from components.statutes.article import TextRule
from components.statutes.corpus import StatuteCorpus
from components.statutes.lexical import Segmentation, words_joined
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
from training.command_line import Place, SettingsError, run, say, settings_from
from training.data import texts_of
from training.plots import plot_losses
from training.settings import TrainerSettings, at_least, only_where, share
from training.starting_model import OF_ITS_VECTORS, kept_parts

# The settings of `python -m training.pretrain`.


TokenizerKind = Literal["wordpiece", "bpe"]

SCRATCH = "scratch"

# Settings that only apply to `scratch`: a checkpoint brings these with it.
_OF_SCRATCH = ("tokenizer", "vocabulary", "layers", "width", "heads")
_LEARNING_RATE, _LEARNING_RATE_FROM_SCRATCH = 5e-5, 5e-4
_LONGEST_BLOCK = 512
_BUNDLED = Place(BUNDLED_MODEL)


@dataclass(frozen=True, kw_only=True)
class PretrainSettings(TrainerSettings):
    """An encoder pretrained on a law by masked-language modelling.

    "Paper" is LegalCamemBERT: CamemBERT pretrained on BSARD (Louis, van Dijck, Spanakis, EACL
    2023).

    Args:
        corpus: The law: a native file or folder, "aldermere", or a name that
            StatuteCorpus.read knows.
        output: The model folder to make. DIR.work next to it holds the checkpoints until it is
            finished.
        model: What training starts from: name or folder of a Hugging Face, sentence-transformers or
            Lexarbor model, or "scratch" for a fresh one. Paper: camembert-base.
        tokenizer: From scratch: wordpiece (lower case; each Chinese character is a word) or
            bpe (byte-level, case kept).
        vocabulary: From scratch: the most tokens that the tokenizer may have.
        layers: From scratch: layers of the encoder.
        width: From scratch: width of the encoder's vectors; its feed-forward layers are 4 times as
            wide.
        heads: From scratch: attention heads per layer.
        block_tokens: Tokens of a block of text; from scratch also the longest text that the model
            will ever read. Default: as many as the model reads, up to 512. Paper: 512.
        text_rule: Which parts of an article are read.
        segmentation: vi joins the syllables of Vietnamese words by "_" before they are read, as
            models of the PhoBERT family want them; default: as the model has it. Needs pyvi.
        masked: Share of the tokens to guess; of these 80% are hidden, 10% are replaced by others
            and 10% stay.
        held_out: Share of the blocks that is measured on and never trained on.
        epochs: How often each block is read. Paper: 200.
        max_steps: Steps in place of epochs. Paper: 50000.
        batch_size: Blocks per step. Paper: 32.
        learning_rate: Highest learning rate; default: 5e-5 from a checkpoint, 5e-4 from scratch.
            Paper: 5e-5.
        weight_decay: AdamW's. Paper: 0.01.
        warmup: Share of the steps in which the learning rate rises; then it falls to zero.
            Paper: 0.01.
        clip: Highest norm of the gradient.
        checkpoint_every: Steps between two checkpoints.
        dtype: Number format of the forward pass: auto is bfloat16 where that is faster.
        device: cpu, cuda, ...; default: the best available.
        seed: Seed of everything that is drawn.

    Raises:
        SettingsError: A value is out of its range, or two do not fit together.
    """

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
    batch_size: int = 32
    learning_rate: float | None = None
    warmup: float = 0.05
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "layers", "width", "heads")
        at_least(self, 8, "block_tokens")
        at_least(self, 300, "vocabulary")
        share(self, "masked", "held_out", zero=False)
        if self.width % self.heads:
            raise SettingsError(f"width: {self.width} is not a multiple of {self.heads} heads.")
        if not self.from_scratch:
            only_where(self, False, f"--model {SCRATCH}", *_OF_SCRATCH)

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
        """Tokens per block, for a model that reads at most `limit`, or for one yet to be made.

        Raises:
            SettingsError: The block is longer than the model reads.
        """
        if self.block_tokens is None:
            return min(limit or _LONGEST_BLOCK, _LONGEST_BLOCK)
        if limit is not None and self.block_tokens > limit:
            raise SettingsError(f"block_tokens: {self.model} reads at most {limit}.")
        return self.block_tokens


# A tokenizer trained on a corpus, for language that no model at hand reads well.


_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_PAD, _UNKNOWN, _FIRST, _LAST, _MASK = _SPECIAL
_INSIDE = "##"


def train_tokenizer(
    texts: Sequence[str], kind: TokenizerKind, vocabulary: int, *, max_tokens: int
) -> PreTrainedTokenizerFast:
    """Train a tokenizer; the same texts always give the same tokenizer.

    Both kinds first normalise characters (NFKC), so that full-width and decomposed letters are read
    like any others, and keep accents. WordPiece is in lower case, splits at white space and
    punctuation and takes each Chinese character as a word, as BERT does. Byte-level BPE keeps case,
    knows every character, and joins characters across a whole Chinese phrase.

    Args:
        texts: What to learn the vocabulary from.
        kind: "wordpiece" or "bpe".
        vocabulary: The most tokens, special ones included; a small corpus gives fewer.
        max_tokens: Longest text that the model reads, special tokens included.

    Returns:
        A tokenizer with BERT's special tokens, [PAD] being 0.

    Raises:
        SettingsError: There are more characters than `vocabulary`.
    """
    tokenizer = _wordpiece(texts, vocabulary) if kind == "wordpiece" else _bpe(texts, vocabulary)
    ids = {token: tokenizer.token_to_id(token) for token in (_FIRST, _LAST)}
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{_FIRST} $A {_LAST}", special_tokens=list(ids.items())
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=_PAD,
        unk_token=_UNKNOWN,
        cls_token=_FIRST,
        sep_token=_LAST,
        mask_token=_MASK,
        model_max_length=max_tokens,
    )


def _wordpiece(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token=_UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.BertNormalizer(lowercase=True, strip_accents=False)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    normalise, split = tokenizer.normalizer.normalize_str, tokenizer.pre_tokenizer.pre_tokenize_str
    words = {word for text in texts for word, _ in split(normalise(text))}
    # The trainer numbers pieces in the random order of a hash map, and breaks equal counts by
    # number. Giving it all single characters beforehand removes the choice. Also, a letter that
    # only ever began a word is then known inside one.
    characters = sorted({each for word in words for each in word})
    inside = sorted({_INSIDE + each for word in words if len(word) > 1 for each in word})
    known = [*_SPECIAL, *characters, *inside]
    if len(known) > vocabulary:
        raise SettingsError(f"vocabulary: the characters of the corpus alone are {len(known)}.")
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, min_frequency=2, special_tokens=known, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    # A new tokenizer, in which single characters are not special.
    trained = Tokenizer(models.WordPiece(tokenizer.get_vocab(), unk_token=_UNKNOWN))
    trained.normalizer = tokenizer.normalizer
    trained.pre_tokenizer = tokenizer.pre_tokenizer
    trained.decoder = decoders.WordPiece(prefix=_INSIDE)
    trained.add_special_tokens(list(_SPECIAL))
    return trained


def _bpe(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


_EVAL_LOSS = "eval_loss"
_TEXTS_AT_ONCE = 1_000
_LEAST_BLOCKS = 3


class Blocks(NamedTuple):
    """A law in blocks, some of which are held out.

    Attributes:
        train: int32 `[n_train, block_tokens]`, special tokens included.
        held_out: int32 `[n_held_out, block_tokens]`.
    """

    train: Tensor
    held_out: Tensor


def make_blocks(
    texts: Sequence[str],
    tokenizer: PassageTokenizer,
    *,
    block_tokens: int,
    separator: int | None,
    held_out: float,
    seed: int,
) -> Blocks:
    """Join all texts in order, cut them into full blocks, and hold some out at random.

    No token is lost and none is padding: the last block begins early enough to be full. Since it
    overlaps the last but one, neither of the two is held out.

    Args:
        texts: Articles in the order of the law.
        tokenizer: The model's; its special tokens surround each block.
        block_tokens: Tokens per block, special ones included.
        separator: Id of the token between two texts.
        held_out: Share of the blocks to hold out; at least one is.
        seed: Decides which ones.

    Raises:
        SettingsError: The texts are too short for three blocks.
    """
    room = block_tokens - tokenizer.special_tokens
    stream = _joined(texts, tokenizer, separator)
    n_blocks = -(-len(stream) // room) if room > 0 else 0
    if n_blocks < _LEAST_BLOCKS:
        raise SettingsError(
            f"block_tokens: {len(stream)} tokens are too few for {_LEAST_BLOCKS} blocks of "
            f"{block_tokens}."
        )
    starts = np.minimum(np.arange(n_blocks) * room, len(stream) - room)
    bodies = stream[starts[:, None] + np.arange(room)]
    first, last = (
        np.tile(np.array(ids, np.int32), (n_blocks, 1))
        for ids in (tokenizer.prefix, tokenizer.suffix)
    )
    blocks = torch.from_numpy(np.concatenate([first, bodies, last], axis=1))
    n_held = min(max(1, round(held_out * n_blocks)), n_blocks - 2)
    rows = np.random.default_rng(seed).choice(n_blocks - 2, size=n_held, replace=False)
    held = torch.zeros(n_blocks, dtype=torch.bool)
    held[torch.from_numpy(rows)] = True
    return Blocks(blocks[~held], blocks[held])


def _joined(
    texts: Sequence[str], tokenizer: PassageTokenizer, separator: int | None
) -> NDArray[np.int32]:
    between = [] if separator is None else [separator]
    parts = [np.empty(0, np.int32)]
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        ids = tokenizer.token_ids(texts[start : start + _TEXTS_AT_ONCE])
        parts.append(np.array([i for text in ids for i in (*text, *between)], np.int32))
    joined: NDArray[np.int32] = np.concatenate(parts)
    return joined[: len(joined) - len(between)]


Item = tuple[tuple[int, int], Tensor]
"""The key of the random mask, (0 in training or 1 in measuring, place), and the block."""

_TRAINING, _MEASURING = 0, 1


class ReadingOrder(Dataset[Item]):
    """The blocks of a whole run, one after the other; each epoch has its own order.

    A resumed run needs only its step to know what comes next.

    Args:
        blocks: int32 `[n_blocks, block_tokens]`.
        length: Blocks that the run reads, counting repeats.
        seed: Seed of the orders.
    """

    def __init__(self, blocks: Tensor, length: int, seed: int) -> None:
        self._blocks = blocks
        self._length = length
        self._seed = seed
        self._epoch = -1
        self._order: NDArray[np.int64] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int) -> Item:
        epoch, index = divmod(place, len(self._blocks))
        if epoch != self._epoch:
            chance = np.random.default_rng([self._seed, epoch])
            self._epoch, self._order = epoch, chance.permutation(len(self._blocks))
        return (_TRAINING, place), self._blocks[int(self._order[index])]


class Masking:
    """Makes batches of blocks in which some tokens are to be guessed.

    Of those, 80% are replaced by the mask token, 10% by a random token and 10% left as they are
    (BERT). The choice depends only on the seed and the batch's first place in the run.

    Args:
        tokenizer: The model's.
        share: Share of the tokens to guess, special ones aside.
        seed: Seed of the choice.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, share: float, seed: int) -> None:
        self._collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=share)
        self._special = torch.tensor(sorted(set(tokenizer.all_special_ids)))
        self._seed = seed

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """A batch: `input_ids` and `labels`, int64 `[n_blocks, block_tokens]`.

        A label is -100 where nothing is to be guessed.
        """
        ids = torch.stack([block for _, block in items]).long()
        words = [self._seed, *items[0][0]]
        chance = int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1)
        self._collator.generator = torch.Generator().manual_seed(chance)
        ids, labels = self._collator.torch_mask_tokens(
            ids, special_tokens_mask=torch.isin(ids, self._special)
        )
        return {"input_ids": ids, "labels": labels}


def records_of(history: History, blocks_per_step: int, n_blocks: int) -> list[dict[str, Any]]:
    """One record for each measurement of the held-out blocks, see `make_records`.

    Args:
        history: What the Trainer logged, in order.
        blocks_per_step: Blocks in a step.
        n_blocks: Blocks in an epoch.

    Returns:
        Besides `step` and the training loss: `epoch`, how often each block was read;
        `held_out_loss`, the mean over held-out blocks of the cross-entropy of a hidden token
        (natural logarithm); `perplexity`, its exponential.
    """

    def measured(entry: Mapping[str, Any]) -> Mapping[str, Any]:
        if _EVAL_LOSS not in entry:
            return {}
        return {
            "epoch": round(entry["step"] * blocks_per_step / n_blocks, 3),
            "held_out_loss": entry[_EVAL_LOSS],
            "perplexity": perplexity(entry[_EVAL_LOSS]),
        }

    return make_records(history, measured)


def perplexity(loss: float) -> float:
    """The exponential of a loss, capped at exp(700): JSON cannot hold much larger numbers."""
    return math.exp(min(loss, 700.0))


# The model that pretraining starts from: an existing one, or a fresh one with its own tokenizer.


_START = "start"


@dataclass(frozen=True)
class StartingModel:
    """A text encoder, and the same Transformer with a head that guesses masked words.

    Attributes:
        tower: The result: Transformer and pooling. Its own Transformer is not trained.
        masked: The Transformer with its head, which is trained in float32.
    """

    tower: Tower
    masked: PreTrainedModel

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The model's own tokenizer."""
        tokenizer: PreTrainedTokenizerBase = self.tower.encoder.tokenizer
        return tokenizer

    def trained(self) -> Tower:
        """The tower with the trained weights, on the CPU, without the head."""
        weights = {name: each.cpu() for name, each in self.masked.base_model.state_dict().items()}
        # A pooler, which masked words never train, stays as in the checkpoint.
        own = cast(PreTrainedModel, self.tower.encoder.transformers_model)
        own.load_state_dict(weights, strict=False)
        return self.tower


def _segmentation_of(settings: PretrainSettings) -> Segmentation | None:
    """The language whose words are joined before reading; by default the model's.

    Raises:
        ModelError: There is no such model, or the word segmenter is not installed.
    """
    chosen = settings.segmentation
    if chosen is None and not settings.from_scratch:
        manifest = manifest_of(find_model(settings.model))
        chosen = None if manifest is None else manifest.segmentation
    return checked_segmentation(chosen)


def open_starting_model(folder: Path, seed: int) -> StartingModel:
    """Open a model's tower, and its Transformer with a head for masked words.

    If the model has no such head, like sentence-transformers models, a fresh one is made.

    Args:
        folder: As returned by `starting_folder`.
        seed: Seed of weights that the folder lacks.

    Raises:
        ModelError: It cannot be opened, or cannot be trained this way.
    """
    torch.manual_seed(seed)
    tower = open_tower(folder)
    tokenizer = tower.encoder.tokenizer
    if tokenizer.mask_token is None:
        raise ModelError(f"{folder}: its tokenizer has no mask token; give a BERT-like model.")
    modules = folder / "modules.json"
    if modules.exists():  # a sentence-transformers folder has its Transformer in a folder of it
        folder /= str(json.loads(modules.read_text(encoding="utf-8"))[0]["path"])
    try:
        masked, report = AutoModelForMaskedLM.from_pretrained(
            folder,
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except ValueError as error:
        raise ModelError(f"{folder}: has no head for masked words: {error}") from error
    if type(masked.base_model) is not type(tower.encoder.transformers_model):
        raise ModelError(
            f"{folder}: masked words would train a {type(masked.base_model).__name__}, which it is "
            "not. Choose another model."
        )
    if len(tokenizer) > masked.get_input_embeddings().num_embeddings:
        raise ModelError(f"{folder}: its tokenizer has more tokens than its model has embeddings.")
    own = masked.base_model_prefix + "."
    if any(not name.startswith(own) for name in report["missing_keys"]):
        say("The model has no head for masked words; training a fresh one with it")
    return StartingModel(tower, masked)


def starting_folder(settings: PretrainSettings, texts: Sequence[str], work: Path) -> Path:
    """The folder of the tower that training starts from; from scratch it is made once, in `work`.

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
    if (manifest := manifest_of(folder)) is None:
        return folder
    if len(set(manifest.towers.values())) != 1:
        raise ModelError(f"{folder}: give one tower, such as {folder / QUERY_PART}.")
    return folder / manifest.towers["query"]


def _make(folder: Path, settings: PretrainSettings, texts: Sequence[str]) -> None:
    """Make a fresh encoder with a tokenizer trained on the texts, all or nothing."""
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


class ReadingWatch(RunWatch):
    """Reports the perplexity on held-out blocks."""

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Report the perplexity on the held-out blocks."""
        loss = kwargs["metrics"][_EVAL_LOSS]
        say(f"Step {state.global_step:,}: perplexity {perplexity(loss):.2f} on held-out blocks")
        super().on_evaluate(args, state, control, **kwargs)


def train_masked(
    settings: PretrainSettings, starting: StartingModel, blocks: Blocks, work: Path
) -> list[dict[str, Any]]:
    """Train `starting.masked` on the blocks, from the newest complete checkpoint if there is one.

    The held-out blocks are measured before the first step, after each epoch and at the end.

    Args:
        settings: Of the run.
        starting: The model, trained in place.
        blocks: What it reads.
        work: Folder of the checkpoints.

    Returns:
        The records of `records_of`.

    Raises:
        TrainingError: A loss is not finite.
    """
    n_blocks, batch = len(blocks.train), settings.batch_size
    steps = settings.max_steps or -(-settings.epochs * n_blocks // batch)
    records = partial(records_of, blocks_per_step=batch, n_blocks=n_blocks)
    trainer = Trainer(
        model=starting.masked,
        args=trainer_arguments(
            TrainingArguments,
            settings,
            work,
            steps=steps,
            rate=settings.rate,
            per_device_eval_batch_size=batch,
            eval_strategy="steps",
            eval_steps=-(-n_blocks // batch),
            # The dataset covers the whole run, with its own order and epochs.
            train_sampling_strategy="sequential",
            remove_unused_columns=False,
            label_names=["labels"],
            # A masked-language head takes the mean over its own batch, whatever it is passed.
            average_tokens_across_devices=False,
            prediction_loss_only=True,
        ),
        data_collator=Masking(starting.tokenizer, settings.masked, settings.seed),
        train_dataset=ReadingOrder(blocks.train, steps * batch, settings.seed),
        # The same tokens are masked every time.
        eval_dataset=[((_MEASURING, n), block) for n, block in enumerate(blocks.held_out)],
        callbacks=[ReadingWatch(work, records)],
    )
    return records(train_from_last_checkpoint(trainer, work))


def pretrain(settings: PretrainSettings) -> None:
    """Train from the settings' corpus to the settings' model folder.

    Raises:
        SettingsError: A setting does not fit the corpus, the model, or the run to resume.
        CorpusError: The corpus cannot be read.
        ModelError: The model cannot be opened or trained this way, or the output folder is not
            empty.
        TrainingError: A loss or weight is not finite.
    """
    train_alone(settings, lambda work: _pretrain(settings, work))


def _pretrain(settings: PretrainSettings, work: Path) -> None:
    corpus = StatuteCorpus.read(settings.corpus)
    compute_as_begun(work)
    device = resolve_device(settings.device)
    fixed = {
        **settings.to_dict(),
        "device": device.type,
        "dtype": str(resolve_dtype(settings.dtype, device)).removeprefix("torch."),
        "corpus_sha256": corpus.sha256,
    }
    if not settings.from_scratch:
        fixed["model_sha256"] = model_digest(find_model(settings.model))
    texts = texts_of(corpus, settings.text_rule)
    segmentation = _segmentation_of(settings)
    open_work_folder(work, fixed)
    if segmentation is not None:
        texts = [words_joined(text) for text in texts]
    starting = open_starting_model(starting_folder(settings, texts, work), settings.seed)
    blocks = make_blocks(
        texts,
        starting.tower.tokenizer,
        block_tokens=settings.block(starting.tower.max_tokens),
        separator=starting.tokenizer.sep_token_id,
        held_out=settings.held_out,
        seed=settings.seed,
    )
    n_read, block_tokens = blocks.train.shape
    n_held = len(blocks.held_out)
    say(f"{n_read:,} blocks of {block_tokens} tokens to read, {n_held:,} held out")
    records = train_masked(settings, starting, blocks, work)
    write_metrics(work / METRICS_FILE, records)
    plot_losses(records, work)
    before, after = records[0], records[-1]
    say(
        f"Perplexity on held-out blocks: {before['perplexity']:.2f} before, "
        f"{after['perplexity']:.2f} after"
    )
    model = BiEncoder(starting.trained(), text_rule=settings.text_rule, segmentation=segmentation)
    model.save(
        Path(settings.output),
        base_model=settings.model,
        config=settings.to_dict(),
        data={"corpus_sha256": corpus.sha256},
        kept={} if settings.from_scratch else kept_parts(settings.model, without=OF_ITS_VECTORS),
        metrics={
            "environment": environment(device.type),
            "steps": after["step"],
            "blocks": n_read,
            "held_out_blocks": n_held,
            "held_out_loss": {"before": before["held_out_loss"], "after": after["held_out_loss"]},
        },
    )


_DESCRIPTION = """\
Lets an encoder read a law by guessing hidden words (masked-language modelling), either a model at
hand or, with --model scratch, a fresh one with a tokenizer trained on that law. Writes a model
folder that training.cusines starts from."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("pretrain", _DESCRIPTION, PretrainSettings, arguments)
    return run(lambda: pretrain(settings))


if __name__ == "__main__":
    sys.exit(main())
