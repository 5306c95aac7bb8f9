"""The cross-encoder: reads a question and a passage together and scores how well they fit."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np
import torch
from cachetools import LRUCache
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat
from sentence_transformers import CrossEncoder
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

from components.models import encoding
from components.models.biencoder import BiEncoder, text_key
from components.models.dense_index import queries_to_multiply, ranked, rescored, rows_to_multiply
from components.models.devices import inference, resolve_device, resolve_dtype
from components.models.folder import (
    RANKER_PART,
    DtypeName,
    Manifest,
    ModelError,
    digest_of,
    find_model,
    manifest_of,
    model_digest,
    parsed_record,
)
from components.models.weights import OPENED_SAFELY, check_finite, check_loaded, opening
from components.statutes.article import TextRule
from components.statutes.lexical import Segmentation, words_joined
from components.statutes.provisions import Span

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """Values by text; the least recently used are dropped first. Thread-safe.

    Args:
        room: Largest sum of the values' sizes.
        size: Size of a value; a value larger than `room` is not kept.
    """

    def __init__(self, room: int, size: Callable[[Value], int]) -> None:
        self._arguments = room, size
        self._values: LRUCache[bytes, Value] = LRUCache(room, size)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[BoundedCache[Value]], tuple[int, Callable[[Value], int]]]:
        """A copy starts empty."""
        return type(self), self._arguments

    def __contains__(self, text: str) -> bool:
        """Whether a text's value is kept."""
        return text_key(text) in self._values

    def get(
        self, texts: Iterable[str], compute: Callable[[list[str]], Iterable[Value]]
    ) -> dict[str, Value]:
        """The values of some texts.

        Args:
            texts: May repeat.
            compute: Computes the values of the texts that are not cached, each text once, in order.
        """
        keys = {text: text_key(text) for text in texts}
        with self._lock:
            found = {text: self._values[key] for text, key in keys.items() if key in self._values}
        missing = [text for text in keys if text not in found]
        for text, value in zip(missing, compute(missing) if missing else (), strict=True):
            found[text] = value
            with self._lock, suppress(ValueError):  # too large to be kept
                self._values[keys[text]] = value
        return found


Ids = NDArray[np.int32]


class PairRow(NamedTuple):
    """A pair as the model reads it: its ids, and where among them the passage begins."""

    ids: Ids
    second: int


def truncated(question: int, passage: int, room: int) -> tuple[int, int]:
    """Tokens kept of each if both do not fit: the longer is cut first ("longest_first")."""
    shorter, longer = sorted((question, passage))
    longer = shorter if shorter > room else min(longer, max(shorter, room - shorter))
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (shorter, longer) if question <= passage else (longer, shorter)


# Limit of passages per article, so that no article, however long, delays an answer.
MOST_PASSAGES = 64
_CHARS_A_TOKEN = 16
_PROBES = ("law", "court")


class PairTokenizer:
    """Cuts articles into passages and tokenises them. Thread-safe.

    Args:
        tokenizer: The model's tokenizer.
        max_tokens: Longest pair that the model reads, special tokens included.

    Attributes:
        room: Tokens for question and passage together.

    Raises:
        ModelError: It joins two texts in an unknown way.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        self._texts = encoding.PassageTokenizer(tokenizer)
        first, second = (tokenizer.encode(probe, add_special_tokens=False) for probe in _PROBES)
        encoded = tokenizer(*_PROBES)
        whole = list(encoded["input_ids"])
        start = encoding.place_of(first, whole)
        then = encoding.place_of(second, whole, start + len(first))
        # Before the question, between the two, and after the passage.
        special = whole[:start], whole[start + len(first) : then], whole[then + len(second) :]
        self._opening, self._between, self._closing = (np.array(ids, np.int32) for ids in special)
        types = list(encoded.get("token_type_ids", ()))
        if len(set(types[:then])) > 1 or len(set(types[then:])) > 1:
            raise ModelError("its tokenizer marks pairs in an unknown way. Choose another model.")
        # Of what stands before the passage, and from there on; None in models without types.
        self._types = (types[0], types[then]) if types else None
        self.room = max_tokens - sum(map(len, special))
        if self.room < 2:
            raise ModelError(f"{max_tokens} tokens leave no room for a question and a passage.")

    def token_ids(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of each text, uncut, without special tokens."""
        return [np.array(ids, np.int32) for ids in self._texts.token_ids(texts)]

    def row(self, question: Ids, passage: Ids) -> PairRow:
        """Join the ids of a question and a passage, each without special tokens."""
        kept, kept_passage = truncated(len(question), len(passage), self.room)
        before = (self._opening, question[:kept], self._between)
        ids = np.concatenate([*before, passage[:kept_passage], self._closing])
        return PairRow(ids, sum(map(len, before)))

    def batch(self, rows: Sequence[PairRow]) -> dict[str, Tensor]:
        """Pairs as the model's inputs, padded on the right.

        Returns:
            int64 `[n, longest]` under `input_ids`, under `token_type_ids` in models that have
            them, and under `attention_mask` (1 where a token is real) where something is padded.
        """
        lengths = np.array([len(row.ids) for row in rows])
        columns = np.arange(int(lengths.max()))
        real = columns < lengths[:, None]
        ids = np.full(real.shape, self._texts.pad_id, np.int64)
        ids[real] = np.concatenate([row.ids for row in rows])
        features = {"input_ids": torch.from_numpy(ids)}
        if not real.all():
            features["attention_mask"] = torch.from_numpy(real.astype(np.int64))
        if self._types is not None:
            second = np.array([row.second for row in rows])
            types = np.where(columns < second[:, None], *self._types)
            features["token_type_ids"] = torch.from_numpy(types.astype(np.int64))
        return features

    def passages(self, text: str, passage_tokens: int) -> list[Span]:
        """Cut a text into passages of at most `passage_tokens` tokens, between words.

        A word is cut only if the passage would otherwise be less than half full, as in writing
        without spaces. Beyond `MOST_PASSAGES` passages the rest of a text is left out.

        Returns:
            At least one; a text that fits into one passage stays whole.
        """
        text = text[: MOST_PASSAGES * passage_tokens * _CHARS_A_TOKEN]
        pieces = list(self._pieces(text))
        if len(pieces) <= passage_tokens:
            return [Span(0, len(text))]
        spans: list[Span] = []
        first = 0
        while first < len(pieces) and len(spans) < MOST_PASSAGES:
            last = min(first + passage_tokens, len(pieces))
            if last < len(pieces):
                last = _between_words(pieces, first, last)
            spans.append(Span(pieces[first].start, pieces[last - 1].end))
            first = last
        return spans

    def _pieces(self, text: str) -> Iterator[_Piece]:
        """The tokens of a text and their positions."""
        if self._texts.fast is not None:
            encoded = self._texts.fast.encode(text, add_special_tokens=False)
            for (start, end), word in zip(encoded.offsets, encoded.word_ids, strict=True):
                yield _Piece(start, end, word)
            return
        # A tokenizer in Python does not give the positions of its tokens, so we count words.
        words = list(re.finditer(r"\S+", text))
        counts = map(len, self._texts.token_ids([word.group() for word in words]))
        for number, (match, count) in enumerate(zip(words, counts, strict=True)):
            for _ in range(count):
                yield _Piece(match.start(), match.end(), number)


class _Piece(NamedTuple):
    start: int
    end: int
    word: int | None


def _between_words(pieces: Sequence[_Piece], first: int, last: int) -> int:
    """The nearest end of a word at or before `last`, or `last` if that is too far back."""
    for cut in range(last, first + (last - first) // 2, -1):
        if pieces[cut].word is None or pieces[cut].word != pieces[cut - 1].word:
            return cut
    return last


SETTINGS_FILE = "ranker.json"


@dataclass(frozen=True)
class RankerSettings:
    """How a cross-encoder is used on articles; the contents of `ranker.json`.

    Attributes:
        passages: The most passages of an article that are read.
        passage_tokens: Longest passage in tokens, without the question and special tokens.
        fusion_weight: Weight of the first stage's rank, relative to weight 1 for the ranker's.
        segmentation: Language whose words are joined by "_" before a question or passage is read;
            None for texts as they are, and in older folders.
    """

    __pydantic_config__: ClassVar = {"strict": True}

    passages: Annotated[int, Field(ge=1)] = 2
    passage_tokens: Annotated[int, Field(ge=1)] = 128
    fusion_weight: Annotated[FiniteFloat, Field(ge=0)] | None = None
    segmentation: Segmentation | None = None

    def save(self, folder: Path) -> None:
        """Write `ranker.json` into the part's folder."""
        text = json.dumps(dataclasses.asdict(self), indent=2) + "\n"
        (folder / SETTINGS_FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> RankerSettings:
        """Read `ranker.json` of the part's folder; other fields, of other releases, are ignored.

        Raises:
            ModelError: It is missing, not JSON, or a field is ill-typed or out of range.
        """
        path = folder / SETTINGS_FILE
        try:
            return parsed_record(cls, path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"{path}: {error}. Train the ranker again.") from error


def ranker_manifest(folder: Path) -> Manifest | None:
    """The manifest of a Lexarbor folder that holds a ranker; None for any other model's folder.

    Raises:
        ModelError: The folder is one of Lexarbor and has no ranker, or is broken.
    """
    manifest = manifest_of(folder)
    if manifest is None and (folder / SETTINGS_FILE).exists():
        raise ModelError(f"{folder}: is a part of a model folder. Give that, {folder.parent}.")
    if manifest is not None and RANKER_PART not in manifest.parts:
        raise ModelError(f"{folder}: has no ranker. Train one with python -m training.ranker.")
    return manifest


def ranker_digest(folder: Path) -> str:
    """sha256 of the cross-encoder in a folder, including its settings.

    Raises:
        ModelError: As `ranker_manifest`.
    """
    manifest = ranker_manifest(folder)
    if manifest is None:
        return model_digest(folder)
    return digest_of(manifest.files_of(RANKER_PART))


def _opened(folder: Path) -> CrossEncoder:
    """Open a sentence-transformers or Hugging Face folder on the CPU, in float32."""
    with opening(folder, "cross-encoder") as reports:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kinds = config.get("architectures") or []
        if kinds and not any(kind.endswith("ForSequenceClassification") for kind in kinds):
            raise ModelError(f"holds {kinds[0]}, which scores no pairs. Give a cross-encoder.")
        encoder: CrossEncoder = CrossEncoder(
            str(folder), activation_fn=nn.Identity(), **OPENED_SAFELY
        )
        check_loaded(encoder, reports)
        return encoder


def _pair_tokenizer(encoder: CrossEncoder) -> PairTokenizer:
    """The tokenizer of an encoder, after checking that it scores pairs of texts."""
    reader, tokenizer = encoding.text_reader(encoder)
    if encoder.num_labels != 1:
        raise ModelError(f"it gives {encoder.num_labels} scores per pair. Choose one with one.")
    if encoder.default_prompt_name is not None:
        raise ModelError("it writes a prompt before its texts. Choose a cross-encoder without.")
    check_finite(encoder)
    return PairTokenizer(tokenizer, encoding.token_limit(reader))


def _score_in_float32(encoder: CrossEncoder) -> None:
    """Compute the last layer, one number per pair, in float32 even within autocast.

    A logit in bfloat16 has three digits: too few to tell the best candidates apart.
    """
    scoring = [
        module
        for module in encoder.modules()
        if isinstance(module, nn.Linear) and module.out_features == 1
    ]
    if scoring and _exact not in scoring[-1]._forward_hooks.values():
        scoring[-1].register_forward_hook(_exact)


def _exact(layer: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
    if output.dtype == torch.float32:
        return output
    linear = cast(nn.Linear, layer)
    with torch.autocast(output.device.type, enabled=False):
        return functional.linear(inputs[0].float(), linear.weight, linear.bias)


# Numbers in the cached vectors: 64 MiB in float32.
_ROOM = 2**24


class PassageChooser:
    """Chooses passages by their similarity to the question; caches the passages' vectors.

    The last question's vector is cached too, since its candidates may come in several portions.

    Args:
        biencoder: Encodes questions and passages.
    """

    def __init__(self, biencoder: BiEncoder) -> None:
        self.biencoder = biencoder
        self._vectors: BoundedCache[NDArray[np.float32]] = BoundedCache(_ROOM, np.size)

    def choose(
        self, question: str, articles: Sequence[Sequence[str]], most: int
    ) -> list[list[int]]:
        """For each article the passages to read, in the order of the article.

        Args:
            question: In plain words.
            articles: The passages of each.
            most: The most passages to read of an article.

        Returns:
            For each article at most `most` indices of its passages, ascending; between equal
            passages the earlier.
        """
        long = [passages for passages in articles if len(passages) > most]
        if not long:
            return [list(range(len(passages))) for passages in articles]
        vectors = self._vectors.get(
            (passage for passages in long for passage in passages), self._encoded
        )
        similarity = self.biencoder.similarity
        vector = self.biencoder.question_vector(question).numpy()
        (query,) = queries_to_multiply(vector[None], similarity)
        chosen = []
        for passages in articles:
            indices = np.arange(len(passages))
            if len(passages) > most:
                matrix = np.stack([vectors[passage] for passage in passages])
                rows = rows_to_multiply(matrix, similarity)
                # Not a matrix product: that gives equal rows different last bits.
                scores = rescored(rows, indices, query)
                indices = np.sort(ranked(scores, indices, most))
            chosen.append(indices.tolist())
        return chosen

    def unread(self, passages: Sequence[str]) -> int:
        """Characters of the passages that are still to be encoded, each passage once."""
        return sum(len(each) for each in set(passages) if each not in self._vectors)

    def _encoded(self, passages: list[str]) -> Iterator[NDArray[np.float32]]:
        # Copies: a row would keep the whole block of vectors alive.
        return (vector.copy() for vector in self.biencoder.encode_articles(passages).numpy())


# Cached between questions: token ids of passages (16 MiB), and where articles are cut.
_TOKENS_KEPT = 2**22
_CUTS_KEPT = 2**18


@dataclass(frozen=True)
class ArticleScores:
    """The scores of some articles for a question.

    Attributes:
        logits: float32 `[n_articles]`, each its best passage's.
        best: The characters of that passage.
        read: For each article the characters of every passage that was read, in order. If question
            and passage do not fit into the model together, a passage ends with the last whole word
            that was read.
    """

    logits: Tensor
    best: list[Span]
    read: list[list[Span]]


class CrossEncoderRanker:
    """Scores questions against articles; the score of an article is that of its best passage.

    An article is given as one text, its headings first if `text_rule` says so (`indexed_text`). It
    is cut between words into passages of `passage_tokens` tokens, or fewer if the model cannot read
    that many together with a question. So headings are in the first passage, as for the bi-encoder.
    Scoring is safe in several threads at once.

    Example:
        ```python
        ranker = CrossEncoderRanker.load("cross-encoder/ms-marco-MiniLM-L6-v2")
        question = "Who has to fix a broken boiler?"
        ranker.logits([(question, "The landlord must keep the boiler in repair.")])  # [1]
        ```

    Args:
        encoder: A sentence-transformers cross-encoder with one score per pair; it is not copied, so
            a trainer can measure the model that it trains.
        settings: How it is used on articles.
        text_rule: Which parts of an article are meant to be read.
        dtype: Number format of the Transformer; weights and the last layer are always float32.
        name: Name or path, for messages.

    Raises:
        ModelError: The model is of a kind that does not read pairs of texts, or gives more than one
            score, or holds weights that are not finite; or the word segmenter is not installed.
    """

    def __init__(
        self,
        encoder: CrossEncoder,
        settings: RankerSettings | None = None,
        *,
        text_rule: TextRule = "headings_text",
        dtype: DtypeName = "auto",
        name: str = "",
    ) -> None:
        self.encoder = encoder
        self.tokenizer = _pair_tokenizer(encoder)
        _score_in_float32(encoder)
        self.settings = settings or RankerSettings()
        encoding.checked_segmentation(self.settings.segmentation)
        self.text_rule: TextRule = text_rule
        self.dtype: DtypeName = dtype
        self.name = name
        self._ids: BoundedCache[Ids] = BoundedCache(_TOKENS_KEPT, lambda ids: len(ids) + 1)
        self._cuts: BoundedCache[list[Span]] = BoundedCache(_CUTS_KEPT, len)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.encoder.parameters()).device

    @property
    def passage_tokens(self) -> int:
        """Longest passage in tokens: as set, or what leaves a quarter for the question."""
        room = self.tokenizer.room
        return min(self.settings.passage_tokens, room - room // 4)

    def passages(self, text: str) -> list[Span]:
        """Cut an article's text; one that fits into a passage stays whole.

        Returns:
            At least one, in order; beyond `MOST_PASSAGES` the rest of a very long article is left
            out.
        """

        def cut(texts: list[str]) -> list[list[Span]]:
            return [self.tokenizer.passages(text, self.passage_tokens) for text in texts]

        return self._cuts.get([text], cut)[text]

    def chosen_passages(
        self, question: str, texts: Sequence[str], chooser: PassageChooser | None = None
    ) -> list[list[Span]]:
        """The passages of each article's text that are read, the same in training and in use.

        Args:
            question: In plain words.
            texts: `n` articles' texts.
            chooser: Chooses among the passages of a long article; without it the first ones are
                read.

        Returns:
            For each text 1 to `settings.passages` passages.
        """
        most = self.settings.passages
        cut = [self.passages(text) for text in texts]
        if chooser is None:
            return [spans[:most] for spans in cut]
        words = [[text[a:b] for a, b in spans] for text, spans in zip(texts, cut, strict=True)]
        chosen = chooser.choose(question, words, most)
        return [[spans[i] for i in kept] for spans, kept in zip(cut, chosen, strict=True)]

    def as_read(self, text: str) -> str:
        """A question or passage as the encoder's tokenizer reads it: `settings.segmentation`."""
        return text if self.settings.segmentation is None else words_joined(text)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """Score pairs of question and passage, without gradients.

        In float32 a logit depends only on its own pair (to 1e-5), and equals that of
        `CrossEncoder.predict(pairs, activation_fn=torch.nn.Identity())`. If a pair is longer than
        the model reads, the longer text is cut first.

        Args:
            pairs: `n` pairs of texts.

        Returns:
            float32 `[n]` on the CPU; higher is better, 0 is even.

        Raises:
            torch.OutOfMemoryError: One pair alone does not fit.
        """
        if not pairs:
            return torch.empty(0)
        ids = self._token_ids([text for pair in pairs for text in pair])
        rows = [self.tokenizer.row(ids[question], ids[passage]) for question, passage in pairs]
        lengths = np.array([len(row.ids) for row in rows])
        device = self.device

        def score(batch: NDArray[np.int64]) -> Tensor:
            features: dict[str, Any] = {
                name: tensor.to(device, non_blocking=True)
                for name, tensor in self.tokenizer.batch([rows[pair] for pair in batch]).items()
            }
            scores: Tensor = self.encoder({**features, "modality": "text"})["scores"]
            return scores.float().reshape(len(batch))

        with inference([self.encoder], device, resolve_dtype(self.dtype, device)):
            budget = encoding.TokenBudget.for_device(device)
            return encoding.in_batches(score, lengths, budget, device).cpu()

    def score_articles(
        self, question: str, texts: Sequence[str], passages: Sequence[list[Span]]
    ) -> ArticleScores:
        """Score articles for a question; equal texts get equal scores.

        Args:
            question: In plain words.
            texts: `n` articles' texts.
            passages: What is read of each, as returned by `chosen_passages`.

        Raises:
            torch.OutOfMemoryError: One pair alone does not fit.
        """
        given = dict(zip(texts, passages, strict=True))
        pairs = [(question, text[start:end]) for text, kept in given.items() for start, end in kept]
        logits = self.logits(pairs).numpy()
        read = self._read(question, given)
        winners: dict[str, tuple[float, Span]] = {}
        start = 0
        for text, kept in read.items():
            scores = logits[start : start + len(kept)]
            start += len(kept)
            # Of equal passages the first; NaN wins, so that it is noticed.
            best = int(scores.argmax())
            winners[text] = (float(scores[best]), kept[best])
        return ArticleScores(
            logits=torch.tensor([winners[text][0] for text in texts]),
            best=[winners[text][1] for text in texts],
            read=[read[text] for text in texts],
        )

    def _read(self, question: str, given: Mapping[str, list[Span]]) -> dict[str, list[Span]]:
        """The part of each text's passages that fits next to the question, in whole words."""
        words = [text[start:end] for text, spans in given.items() for start, end in spans]
        ids = self._token_ids([question, *words])
        room = self.tokenizer.room

        def read(text: str, span: Span) -> Span:
            passage = text[span.start : span.end]
            tokens = len(ids[passage])
            _, kept = truncated(len(ids[question]), tokens, room)
            if kept == tokens:
                return span
            return Span(span.start, span.start + self.tokenizer.passages(passage, kept)[0].end)

        return {text: [read(text, span) for span in spans] for text, spans in given.items()}

    def _token_ids(self, texts: Sequence[str]) -> dict[str, Ids]:
        return self._ids.get(
            texts, lambda missing: self.tokenizer.token_ids(list(map(self.as_read, missing)))
        )

    @classmethod
    def load(
        cls, name_or_path: str | Path, *, device: str | None = None, dtype: DtypeName = "auto"
    ) -> CrossEncoderRanker:
        """Open a Lexarbor model folder with a ranker, or any sentence-transformers cross-encoder.

        Args:
            name_or_path: Folder, or name on the Hugging Face Hub.
            device: "cpu", "cuda", ...; by default the best available.
            dtype: "auto" computes in bfloat16 where that is fast, else in float32.

        Raises:
            ModelError: The model cannot be found, is not a cross-encoder, is broken, or could only
                be opened by running code that came with it.
        """
        target = resolve_device(device)
        resolve_dtype(dtype, target)  # refuse a wrong name before loading
        folder = find_model(name_or_path)
        manifest = ranker_manifest(folder)
        settings = RankerSettings()
        text_rule: TextRule = "headings_text"
        if manifest is not None:
            folder = folder / RANKER_PART
            settings, text_rule = RankerSettings.load(folder), manifest.text_rule
        encoder = _opened(folder)
        try:
            name = str(name_or_path)
            ranker = cls(encoder, settings, text_rule=text_rule, dtype=dtype, name=name)
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from error
        encoder.eval()
        encoder.to(target)
        return ranker
