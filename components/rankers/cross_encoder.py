"""StatuteRanker: re-ranks candidates by reading each together with the question."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from haystack import Document, component, logging
from haystack.utils import ComponentDevice

from components.converters.articles import headings_of, ranks_of
from components.models.folder import DtypeName, ModelError, find_model
from components.parameters import (
    AsyncWarmUp,
    StatuteComponent,
    check_count,
    check_number,
    checked_device,
    checked_top_k,
)
from components.statutes.article import TextRule, indexed_text
from components.statutes.extras import needs_extra
from components.statutes.fusion import rank_candidates
from components.statutes.provisions import Span
from components.statutes.question import clean_question

with needs_extra("StatuteRanker", "models"):
    import torch

    from components.models.cross_encoder import (
        CrossEncoderRanker,
        PassageChooser,
        ranker_manifest,
    )
    from components.models.registry import shared_model, shared_ranker

# A document as the ranker reads it.


_WRITTEN = ("passage", "passages_read")


@dataclass(frozen=True)
class Candidate:
    """A document and the text that is read of it.

    Attributes:
        document: As it came in.
        place: In the first stage's list, from 0.
        text: Metadata and headings if requested, then the content.
        content_start: Where in `text` the content begins.
    """

    document: Document
    place: int
    text: str
    content_start: int

    def in_content(self, passage: Span) -> dict[str, int]:
        """A passage of the text as characters `start` to `end` of the content."""
        start, end = (max(0, place - self.content_start) for place in passage)
        return {"start": start, "end": end}

    def is_whole(self, read: Sequence[Span]) -> bool:
        """Whether some passages, in order, hold every word of the content."""
        ends = [max(self.content_start, end) for end in (0, *(end for _, end in read))]
        starts = [*(start for start, _ in read), len(self.text)]
        between = zip(ends, starts, strict=True)
        return not any(self.text[end:start].strip() for end, start in between)


def candidates_of(
    documents: Sequence[Document], rule: TextRule, meta_fields: Sequence[str] | None
) -> list[Candidate]:
    """The documents that can be read, leaving out those with blank or no text.

    Args:
        documents: in the first stage's order.
        rule: whether headings are read before the content.
        meta_fields: metadata read before both; a field that a document lacks is left out.
    """
    candidates = []
    for place, document in enumerate(documents):
        content = document.content
        if not content or content.isspace():
            continue
        values = [document.meta.get(name) for name in meta_fields or ()]
        before = [str(value) for value in values if value is not None]
        before += [indexed_text(headings_of(document.meta), "", rule).strip()]
        text = " ".join([*filter(None, before), content])
        candidates.append(Candidate(document, place, text, len(text) - len(content)))
    return candidates


def unranked(document: Document) -> Document:
    """A document without metadata that an earlier ranker, or another question, left in it."""
    meta = {key: each for key, each in document.meta.items() if key not in _WRITTEN}
    if "reranker" in (ranks := ranks_of(meta)):
        others = {stage: rank for stage, rank in ranks.items() if stage != "reranker"}
        meta.pop("ranks")
        meta |= {"ranks": others} if others else {}
    return document if meta == document.meta else replace(document, meta=meta)


# Pace: which candidates can be ranked in the time that is left.


# A new portion counts twice as much as all earlier work of the same size.
_KEPT = 0.5
# Share of the remaining time.
_A_PORTION = 0.5


Portion = tuple[list[int], int]
"""Places of candidates that are ranked together, ascending, and the characters to read for them."""


class Pace:
    """Divides work into portions that end in time, by the speed seen so far.

    Each portion takes about half of the remaining time, so that a wrong guess is noticed while
    there is time to correct it. A candidate that alone would take more is left out: one long
    article does not cost the ranks of fifty. If all are, the shortest is ranked, however long it
    takes, so that a speed measured in a busy moment is corrected. Thread-safe: at worst the speed
    is one portion old.
    """

    def __init__(self) -> None:
        self._work = self._seconds = 0.0

    def portions(
        self, n: int, work_of: Callable[[int], int], seconds: float | None
    ) -> Iterator[Portion]:
        """Portions of `n` candidates; the caller ranks one and reports it before taking the next.

        Args:
            n: How many candidates there are.
            work_of: The work for one of them; called when its turn comes, since the answer may take
                time too, and again if its portion was full.
            seconds: Time limit; None gives one portion of everything.

        Yields:
            Portions, with ascending places. Candidates for which there is no time are in none of
            them.
        """
        if seconds is None:
            if n:
                yield list(range(n)), sum(map(work_of, range(n)))
            return
        end = time.perf_counter() + seconds
        left_out: list[Portion] = []
        place = n_ranked = 0
        while place < n and (place == 0 or time.perf_counter() < end):
            places: list[int] = []
            total = 0
            while place < n and (place == 0 or time.perf_counter() < end):
                work = work_of(place)
                room = (end - time.perf_counter()) * _A_PORTION
                if places and not self._fits(total + work, room):
                    break
                if self._work and not self._fits(work, room):
                    left_out.append(([place], work))
                else:
                    places.append(place)
                    total += work
                place += 1
            if places:
                n_ranked += len(places)
                yield places, total
        if left_out and not n_ranked:
            yield min(left_out, key=lambda portion: portion[1])

    def took(self, work: int, seconds: float) -> None:
        """Learn from a portion."""
        self._work = _KEPT * self._work + work
        self._seconds = _KEPT * self._seconds + seconds

    def _fits(self, work: int, seconds: float) -> bool:
        """Whether the work fits into the time; False until a speed is known."""
        return bool(self._work) and work * self._seconds / self._work <= seconds


# Scoring as many candidates as there is time for.


logger = logging.getLogger(__name__)


class Scored(NamedTuple):
    """A candidate, its logit, the passage that gave it, and every passage that was read."""

    candidate: Candidate
    logit: float
    best: Span
    read: list[Span]


def score_in_time(
    ranker: CrossEncoderRanker,
    chooser: PassageChooser | None,
    pace: Pace,
    question: str,
    candidates: Sequence[Candidate],
    seconds: float | None,
) -> list[Scored]:
    """Score candidates, in order, as far as the time allows.

    Args:
        ranker: Scores.
        chooser: Chooses passages of long articles; without it the first are read.
        pace: Knows the speed of both models, and learns from this.
        question: In plain words.
        candidates: In the first stage's order.
        seconds: Time limit; None reads all.

    Returns:
        Those with a finite logit; others are left out with a warning.
    """
    most = ranker.settings.passages

    def work_of(place: int) -> int:
        """Characters that the models have to read for one candidate."""
        text = candidates[place].text
        spans = ranker.passages(text)
        # Which will be chosen is not known yet: assume the longest.
        lengths = sorted((end - start for start, end in spans), reverse=True)[:most]
        encoded = 0
        if chooser is not None and len(spans) > most:
            encoded = chooser.unread([text[start:end] for start, end in spans])
        return encoded + sum(lengths) + len(question) * len(lengths)

    scored: dict[int, Scored] = {}
    for places, work in pace.portions(len(candidates), work_of, seconds):
        part = [candidates[place] for place in places]
        texts = [each.text for each in part]
        started = time.perf_counter()
        passages = ranker.chosen_passages(question, texts, chooser)
        scores = ranker.score_articles(question, texts, passages)
        pace.took(work, time.perf_counter() - started)
        given = zip(part, scores.logits.tolist(), scores.best, scores.read, strict=True)
        scored |= zip(places, (Scored(*each) for each in given), strict=True)
    found = [scored[place] for place in sorted(scored)]
    finite = [scored for scored in found if math.isfinite(scored.logit)]
    if len(finite) < len(found):
        logger.warning(
            "{model} gave {count} candidates a score that is not finite; they come last.",
            model=ranker.name,
            count=len(found) - len(finite),
        )
    return finite


@component
class StatuteRanker(AsyncWarmUp, StatuteComponent):
    """Re-ranks candidates with a cross-encoder, which reads question and article together.

    ```python
    from haystack import Document

    from components.rankers.cross_encoder import StatuteRanker

    ranker = StatuteRanker(model="cross-encoder/ms-marco-MiniLM-L6-v2")
    found = [Document(id="12", content="The landlord shall keep the boiler in repair.")]
    ranker.run("Who has to fix a broken boiler?", found)["documents"][0].score
    ```

    Long articles are cut into passages; those that the bi-encoder finds nearest to the question are
    read, and the best of them gives the article its score. It is recorded in `meta["passage"]`, as
    the characters `start` to `end` of the content. If an article was not read whole,
    `meta["passages_read"]` lists what was read.

    Candidates that are not ranked follow the ranked ones in their original order, with score 0 and
        without a rank: those beyond the first `candidates`, those that did not fit into the time,
        and those without text. Pinned articles come before all others, unread.
    """

    def __init__(
        self,
        model: str | None = None,
        device: ComponentDevice | None = None,
        dtype: DtypeName = "auto",
        top_k: int = 10,
        candidates: int = 90,
        score_threshold: float | None = None,
        meta_fields: list[str] | None = None,
        fuse_with_first_stage: bool | None = None,
        time_budget_ms: float | None = None,
        biencoder: str | None = None,
    ) -> None:
        """Keep the parameters; nothing is loaded.

        Args:
            model: a model folder of Lexarbor's training with a ranker, or any
                sentence-transformers cross-encoder with one score, by name or path. None is only
                a placeholder in YAML (`load_pipeline` puts the store's model there).
            device: where it runs; None takes the best available when it is loaded.
            dtype: number format; "auto" is bfloat16 where that is fast.
            top_k: how many to return at most.
            candidates: how many documents to rank at most, counted from the first.
            score_threshold: leaves out articles with a lower score; pinned ones stay.
            meta_fields: metadata that is read before the article's headings and text; short ones,
                since they take up the first passage.
            fuse_with_first_stage: whether the documents' original order counts too, by the weight
                in the model's folder (`rank_candidates`). None means yes if the folder has one.
                Scores stay the ranker's.
            time_budget_ms: time that ranking may take; candidates that do not fit are not ranked.
                One candidate is always read, however long it takes.
            biencoder: chooses the passages of long articles, by name or path; None takes the one
                in the model's folder. Without one the first passages are read.

        Raises:
            TypeError: `device` is not a ComponentDevice, or `top_k` is not a whole number.
            ValueError: another parameter is of the wrong kind, or a number out of range.
        """
        self.model = model
        self.device = checked_device("StatuteRanker", device)
        self.dtype = dtype
        self.top_k = checked_top_k("StatuteRanker", top_k, at_least=1)
        self.candidates = candidates
        self.score_threshold = score_threshold
        self.meta_fields = meta_fields
        self.fuse_with_first_stage = fuse_with_first_stage
        self.time_budget_ms = time_budget_ms
        self.biencoder = biencoder
        self._models: tuple[CrossEncoderRanker, PassageChooser | None] | None = None
        self._pace = Pace()
        _check_limits(score_threshold, time_budget_ms)
        check_count("StatuteRanker.candidates", candidates, 1)
        if not isinstance(fuse_with_first_stage, bool | None):
            raise ValueError("StatuteRanker.fuse_with_first_stage must be true, false or null.")
        # A text would be read letter by letter.
        fields = [] if meta_fields is None else meta_fields
        if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
            raise ValueError("StatuteRanker.meta_fields must be a list of names.")

    def warm_up(self) -> None:
        """Load the models, once.

        Raises:
            ModelError: no model is named, one cannot be loaded, or the ranker's folder lacks the
                requested weight.
        """
        self._loaded()

    @component.output_types(documents=list[Document], best=list[Document], meta=dict[str, Any])
    def run(
        self,
        query: str,
        documents: list[Document],
        pinned: list[Document] | None = None,
        top_k: int | None = None,
        score_threshold: float | None = None,
        time_budget_ms: float | None = None,
    ) -> dict[str, Any]:
        """Rank documents for a question.

        Args:
            query: the question.
            documents: the first stage's, best first; a repeated one counts at its first place.
            pinned: articles that come before all others, in this order, with score 1.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            score_threshold: in place of the component's.
            time_budget_ms: in place of the component's.

        Returns:
            `documents`: each once, without embedding. `meta["ranks"]["reranker"]` is the rank by
            score, from 1; equal scores keep their original order.
            `best`: the one with the highest score, regardless of `top_k`, `score_threshold` and the
                original order; empty if nothing was ranked.
            `meta`: `n_candidates` that could be ranked, `n_ranked` of them, `took_ms`.

        Raises:
            QuestionError: the question is empty or too long.
            TypeError: `top_k` is not a whole number.
            ValueError: a number is out of range.
            ModelError: as `warm_up`.
        """
        question = clean_question(query)
        k = checked_top_k("StatuteRanker", self.top_k if top_k is None else top_k, at_least=0)
        least = self.score_threshold if score_threshold is None else score_threshold
        budget = self.time_budget_ms if time_budget_ms is None else time_budget_ms
        _check_limits(least, budget)
        ranker, chooser = self._loaded()
        started = time.perf_counter()
        above = {document.id: unranked(document) for document in pinned or []}
        listed = {document.id: unranked(document) for document in reversed(documents)}
        others = [listed[id_] for id_ in dict.fromkeys(each.id for each in documents)]
        others = [document for document in others if document.id not in above]
        candidates = candidates_of(others[: self.candidates], ranker.text_rule, self.meta_fields)
        seconds = None if budget is None else budget / 1000
        scored = score_in_time(ranker, chooser, self._pace, question, candidates, seconds)
        in_order = self._in_order(scored)
        read = above.keys() | {each.id for each in in_order}
        found = [
            *(
                replace(listed.get(id_, document), score=1.0, embedding=None)
                for id_, document in above.items()
            ),
            *in_order,
            *(replace(each, score=0.0, embedding=None) for each in others if each.id not in read),
        ]
        if least is not None:
            found = [each for each in found if each.id in above or (each.score or 0.0) >= least]
        took = (time.perf_counter() - started) * 1000
        meta = {"n_candidates": len(candidates), "n_ranked": len(scored), "took_ms": took}
        best = [each for each in in_order if each.meta["ranks"]["reranker"] == 1]
        return {"documents": found[:k], "best": best, "meta": meta}

    def _in_order(self, scored: list[Scored]) -> list[Document]:
        """The candidates that were read, best first."""
        ranker, _ = self._loaded()
        logits = [each.logit for each in scored]
        scores = torch.sigmoid(torch.tensor(logits)).tolist()
        ranks = np.argsort(rank_candidates(logits)) + 1
        weight = None if self.fuse_with_first_stage is False else ranker.settings.fusion_weight
        places = [each.candidate.place for each in scored]
        found = []
        for row in rank_candidates(logits, weight, places).tolist():
            candidate, _, passage, read = scored[row]
            meta = {**candidate.document.meta, "passage": candidate.in_content(passage)}
            meta["ranks"] = {**ranks_of(meta), "reranker": int(ranks[row])}
            if not candidate.is_whole(read):
                meta["passages_read"] = [candidate.in_content(each) for each in read]
            found.append(replace(candidate.document, meta=meta, score=scores[row], embedding=None))
        return found

    def _loaded(self) -> tuple[CrossEncoderRanker, PassageChooser | None]:
        """The process's one instance of the ranker, and of what chooses its passages."""
        if self._models is None:
            if self.model is None:
                raise ModelError(
                    "StatuteRanker.model is null. Name a folder with a ranker or a cross-encoder."
                )
            place = self.device.to_torch_str() if self.device else None
            ranker, biencoder = shared_ranker(self.model, place, self.dtype), self.biencoder
            if self.fuse_with_first_stage and ranker.settings.fusion_weight is None:
                raise ModelError(
                    f"StatuteRanker.fuse_with_first_stage is true, and {self.model} has no weight "
                    "for it. Set it to false, or train with questions of the split dev."
                )
            # Warm up the device now, so that its first run does not take a question's time.
            ranker.logits([("law", "law")])
            if biencoder is None:
                manifest = ranker_manifest(find_model(self.model))
                biencoder = self.model if manifest and "biencoder" in manifest.kind else None
            encoder = shared_model(biencoder, place, self.dtype) if biencoder else None
            self._models = ranker, PassageChooser(encoder) if encoder else None
        return self._models


def _check_limits(threshold: float | None, budget: float | None) -> None:
    if threshold is not None:
        name = "StatuteRanker.score_threshold"
        check_number(name, threshold, lambda value: 0 <= value <= 1, "from 0 to 1, as scores are")
    if budget is not None:
        name = "StatuteRanker.time_budget_ms"
        check_number(name, budget, lambda value: 0 < value < math.inf, "above 0")
