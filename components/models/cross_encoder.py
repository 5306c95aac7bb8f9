"""The cross-encoder: reads a question and a passage together and says how well they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy import int64
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder
from torch import Tensor

from components.models.bounded_cache import BoundedCache
from components.models.devices import DtypeName, resolve_device, resolve_dtype
from components.models.errors import ModelError
from components.models.inference import inference
from components.models.locate import find_model
from components.models.manifest import RANKER_PART
from components.models.pair_tokenizer import PairTokenizer, Span
from components.models.pair_tokens import Ids, PairRows, truncated
from components.models.passage_choice import PassageChooser
from components.models.ranker_folder import RankerSettings, ranker_manifest
from components.models.ranker_opening import open_cross_encoder, prepare
from components.models.token_budget import TokenBudget, in_batches
from components.statutes.article import TextRule
from components.statutes.lexical import words_joined

# Kept from question to question: token ids of passages (16 MiB), and where articles are cut.
_TOKENS_KEPT = 2**22
_CUTS_KEPT = 2**18


@dataclass(frozen=True)
class ArticleScores:
    """What a question makes of some articles.

    Attributes:
        logits: float32 `[n_articles]`, each its best passage's.
        best: The characters of that passage.
        read: Of each article the characters of every passage that was read, in their order. Where
            question and passage do not fit into the model together, a passage ends with the last
            whole word that was read.
    """

    logits: Tensor
    best: list[Span]
    read: list[list[Span]]


class CrossEncoderRanker:
    """Scores questions against articles; the score of an article is that of its best passage.

    An article is given as one text, its headings first where `text_rule` says so (`indexed_text`),
    and cut into passages of `passage_tokens` tokens between words, fewer where the model reads too
    little for them and a question; so headings stand in the first
    passage, as they do for the bi-encoder. Scoring is safe in several threads at once.

    Example:
        ```python
        ranker = CrossEncoderRanker.load("cross-encoder/ms-marco-MiniLM-L6-v2")
        question = "Who has to fix a broken boiler?"
        ranker.logits([(question, "The landlord must keep the boiler in repair.")])  # [1]
        ```

    Args:
        encoder: A sentence-transformers cross-encoder with one score a pair; it is not copied, so
            a trainer may measure the model that it trains.
        settings: How it is used on articles.
        text_rule: What of an article is meant to be read.
        dtype: Number format of the Transformer; weights and the last layer are always float32.
        name: Name or path, for messages.

    Raises:
        ModelError: The model is of a kind that does not read pairs of texts, or gives more than one
            score, or holds weights that are not finite.
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
        self.tokenizer = PairTokenizer(*prepare(encoder))
        self.settings = settings or RankerSettings()
        self.text_rule: TextRule = text_rule
        self.dtype: DtypeName = dtype
        self.name = name
        self._ids: BoundedCache[Ids] = BoundedCache(_TOKENS_KEPT)
        self._cuts: BoundedCache[list[Span]] = BoundedCache(_CUTS_KEPT)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.encoder.parameters()).device

    @property
    def passage_tokens(self) -> int:
        """Longest passage in tokens: as asked, or what leaves a question a quarter of the room."""
        room = self.tokenizer.format.room
        return min(self.settings.passage_tokens, room - room // 4)

    def passages(self, text: str) -> list[Span]:
        """Cut an article's text; one that fits into a passage stays whole.

        Returns:
            At least one, in order; what of a very long article lies beyond
            `pair_tokenizer.MOST_PASSAGES` of them is left out.
        """
        spans = self._cuts.get(text)
        if spans is None:
            spans = self.tokenizer.passages(text, self.passage_tokens)
            self._cuts.put(text, spans, len(spans))
        return spans

    def chosen_passages(
        self, question: str, texts: Sequence[str], chooser: PassageChooser | None = None
    ) -> list[list[Span]]:
        """Of each article's text the passages that are read, in training and in use alike.

        Args:
            question: In plain words.
            texts: `n` articles' texts.
            chooser: Chooses among the passages of a long article; without it the first are read.

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

        In float32 a logit depends on its own pair alone (to 1e-5), and is that of
        `CrossEncoder.predict(pairs, activation_fn=torch.nn.Identity())`. Of a pair that is longer
        than the model reads, the longer text is cut first.

        Args:
            pairs: `n` pairs of texts.

        Returns:
            float32 `[n]` on the CPU; the higher the better, 0 is even.

        Raises:
            torch.OutOfMemoryError: One pair alone does not fit.
        """
        if not pairs:
            return torch.empty(0)
        ids = self._token_ids([text for pair in pairs for text in pair])
        rows = PairRows.of([(ids[a], ids[b]) for a, b in pairs], self.tokenizer.format)
        device = self.device

        def score(batch: NDArray[int64]) -> Tensor:
            features: dict[str, Any] = {
                name: tensor.to(device, non_blocking=True)
                for name, tensor in rows.batch(batch).items()
            }
            scores: Tensor = self.encoder({**features, "modality": "text"})["scores"]
            return scores.float().reshape(len(batch))

        with inference([self.encoder], device, resolve_dtype(self.dtype, device)):
            budget = TokenBudget.for_device(device)
            return in_batches(score, rows.lengths, budget, device).cpu()

    def score_articles(
        self, question: str, texts: Sequence[str], passages: Sequence[list[Span]]
    ) -> ArticleScores:
        """Score articles for a question; equal texts get equal scores.

        Args:
            question: In plain words.
            texts: `n` articles' texts.
            passages: What is read of each, as `chosen_passages` gives it.

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
            # Of equal passages the first; one that is not a number wins, so that it shows.
            best = int(scores.argmax())
            winners[text] = (float(scores[best]), kept[best])
        return ArticleScores(
            logits=torch.tensor([winners[text][0] for text in texts]),
            best=[winners[text][1] for text in texts],
            read=[read[text] for text in texts],
        )

    def _read(self, question: str, given: Mapping[str, list[Span]]) -> dict[str, list[Span]]:
        """What of each text's passages is read beside the question, in whole words."""
        words = [text[start:end] for text, spans in given.items() for start, end in spans]
        ids = self._token_ids([question, *words])
        room = self.tokenizer.format.room

        def read(text: str, span: Span) -> Span:
            passage = text[span.start : span.end]
            tokens = len(ids[passage])
            _, kept = truncated(len(ids[question]), tokens, room)
            if kept == tokens:
                return span
            return Span(span.start, span.start + self.tokenizer.passages(passage, kept)[0].end)

        return {text: [read(text, span) for span in spans] for text, spans in given.items()}

    def _token_ids(self, texts: Sequence[str]) -> dict[str, Ids]:
        found: dict[str, Ids] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            ids = self._ids.get(text)
            if ids is None:
                missing.append(text)
            else:
                found[text] = ids
        read = [self.as_read(text) for text in missing]
        for text, ids in zip(missing, self.tokenizer.token_ids(read), strict=True):
            found[text] = ids
            self._ids.put(text, ids, len(ids) + 1)
        return found

    @classmethod
    def load(
        cls,
        name_or_path: str | Path,
        *,
        device: str | None = None,
        dtype: DtypeName = "auto",
    ) -> CrossEncoderRanker:
        """Open a Lexarbor model folder with a ranker, or any sentence-transformers cross-encoder.

        Args:
            name_or_path: Folder, or name on the Hugging Face Hub.
            device: "cpu", "cuda", ...; by default the best there is.
            dtype: "auto" computes in bfloat16 where that is fast, else in float32.

        Raises:
            ModelError: There is no such model within reach, or it is no cross-encoder, or broken,
                or could only be opened by running code that came with it.
        """
        target = resolve_device(device)
        resolve_dtype(dtype, torch.device("cpu"))  # a wrong name is said before loading
        folder = find_model(name_or_path)
        manifest = ranker_manifest(folder)
        settings = RankerSettings()
        text_rule: TextRule = "headings_text"
        if manifest is not None:
            folder = folder / RANKER_PART
            settings, text_rule = RankerSettings.load(folder), manifest.text_rule
        encoder = open_cross_encoder(folder)
        try:
            name = str(name_or_path)
            ranker = cls(encoder, settings, text_rule=text_rule, dtype=dtype, name=name)
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from error
        encoder.eval()
        encoder.to(target)
        return ranker
