"""StatuteRanker: the best candidates, read together with the question."""

import asyncio
import math
import time
from dataclasses import replace
from typing import Any

import torch
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.utils import ComponentDevice

from components.converters.articles import ranks_of
from components.embedders.device import checked_device
from components.models.cross_encoder import (
    Calibration,
    CrossEncoderRanker,
    PassageChooser,
    rank_candidates,
)
from components.models.devices import DtypeName
from components.models.errors import ModelError
from components.models.warming import AsyncWarmUp
from components.rankers.candidate import candidates_of, unranked
from components.rankers.loading import load_ranker
from components.rankers.pacing import Pace
from components.rankers.scoring import Scored, score_in_time
from components.retrievers.top_k import checked_top_k, is_number
from components.statutes.question import clean_question


@component
class StatuteRanker(AsyncWarmUp):
    """Ranks candidates anew with a cross-encoder, which reads question and article together.

    ```python
    from haystack import Document

    from components.rankers.cross_encoder import StatuteRanker

    ranker = StatuteRanker(model="cross-encoder/ms-marco-MiniLM-L6-v2")
    found = [Document(id="12", content="The landlord shall keep the boiler in repair.")]
    ranker.run("Who has to fix a broken boiler?", found)["documents"][0].score
    ```

    Long articles are cut into passages; those that the bi-encoder finds nearest to the question are
    read, and the best of them gives the article its score. It is named in
    `meta["passage"]`, as the characters `start` to `end` of the content. Of an article that was not
    read whole `meta["passages_read"]` lists what was.

    Candidates that are not ranked stand after the ranked ones in the order that they came in, with
    score 0 and without a rank: those beyond the first `candidates`, those that did not fit into the
    time, and those without text. Pinned articles stand above all others, unread.
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
        calibrated: bool = False,
        fuse_with_first_stage: bool | None = None,
        time_budget_ms: float | None = None,
        biencoder: str | None = None,
    ) -> None:
        """Keep the parameters; nothing is loaded.

        Args:
            model: a model folder of Lexarbor's training with a ranker, or any
                sentence-transformers cross-encoder with one score, by name or path. None only
                serves as a place to fill in YAML (`load_pipeline` puts the store's model there).
            device: where it runs; None takes the best there is when it is loaded.
            dtype: what it computes in; "auto" takes bfloat16 where that is fast.
            top_k: how many to return at most.
            candidates: how many of the documents to rank at most, from the first.
            score_threshold: leaves out what scores less; pinned articles stay.
            meta_fields: metadata that is read before the article's headings and text; short ones,
                since they take up the first passage.
            calibrated: whether the score is the probability that the article answers, by the
                calibration in the model's folder, in place of the plain sigmoid.
            fuse_with_first_stage: whether the order in which documents come in counts too, by the
                weight in the model's folder; None where the folder has one. Scores stay the
                ranker's.
            time_budget_ms: time that ranking may take; what does not fit into it is not ranked. At
                the very first question, when no speed is known, one candidate is read whatever it
                takes; so is one after several questions that had time for none.
            biencoder: chooses the passages of long articles, by name or path; None takes the one
                in the model's folder. Without any the first passages are read.

        Raises:
            TypeError: `device` is no ComponentDevice, or `top_k` no whole number.
            ValueError: another parameter is of the wrong kind, or a number out of range.
        """
        self.model = model
        self.device = checked_device("StatuteRanker", device)
        self.dtype = dtype
        self.top_k = checked_top_k("StatuteRanker", top_k, at_least=1)
        self.candidates = candidates
        self.score_threshold = _checked_threshold(score_threshold)
        self.meta_fields = _checked_fields(meta_fields)
        self.calibrated = calibrated
        self.fuse_with_first_stage = fuse_with_first_stage
        self.time_budget_ms = _checked_budget(time_budget_ms)
        self.biencoder = biencoder
        self._models: tuple[CrossEncoderRanker, PassageChooser | None] | None = None
        self._pace = Pace()
        if not isinstance(calibrated, bool):
            raise ValueError(f"StatuteRanker.calibrated must be true or false, got {calibrated!r}.")
        if not (fuse_with_first_stage is None or isinstance(fuse_with_first_stage, bool)):
            raise ValueError(
                "StatuteRanker.fuse_with_first_stage must be true, false or null, got "
                f"{fuse_with_first_stage!r}."
            )
        if type(candidates) is not int or candidates < 1:
            raise ValueError(
                f"StatuteRanker.candidates must be a whole number from 1, got {candidates!r}."
            )

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(
            self,
            model=self.model,
            device=self.device,
            dtype=self.dtype,
            top_k=self.top_k,
            candidates=self.candidates,
            score_threshold=self.score_threshold,
            meta_fields=self.meta_fields,
            calibrated=self.calibrated,
            fuse_with_first_stage=self.fuse_with_first_stage,
            time_budget_ms=self.time_budget_ms,
            biencoder=self.biencoder,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "StatuteRanker":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Load the models, once.

        Raises:
            ModelError: no model is named, one cannot be loaded, or the ranker's folder lacks the
                calibration or the weight that is asked for.
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
            pinned: articles that stand above all others, in this order, with score 1.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            score_threshold: in place of the component's.
            time_budget_ms: in place of the component's.

        Returns:
            `documents`: each once, without embedding. `meta["ranks"]["reranker"]` is the rank by
            score, from 1; equal scores stay in the order in which they came in.
            `best`: the one of the highest score, whatever `top_k`, `score_threshold` and the order
            before it left of the list; empty where nothing was ranked.
            `meta`: `n_candidates` that could be ranked, `n_ranked` of them, `took_ms`.

        Raises:
            QuestionError: the question is empty or too long.
            TypeError: `top_k` is no whole number.
            ValueError: a number is out of range.
            ModelError: as `warm_up`.
        """
        question = clean_question(query)
        k = checked_top_k("StatuteRanker", self.top_k if top_k is None else top_k, at_least=0)
        least = self.score_threshold if score_threshold is None else score_threshold
        budget = self.time_budget_ms if time_budget_ms is None else time_budget_ms
        _checked_threshold(least)
        _checked_budget(budget)
        ranker, chooser = self._loaded()
        started = time.perf_counter()
        above = {document.id: unranked(document) for document in pinned or []}
        listed = {document.id: unranked(document) for document in reversed(documents)}
        others = [listed[id_] for id_ in dict.fromkeys(each.id for each in documents)]
        others = [document for document in others if document.id not in above]
        candidates = candidates_of(others[: self.candidates], ranker.text_rule, self.meta_fields)
        seconds = None if budget is None else budget / 1000
        scored = score_in_time(ranker, chooser, self._pace, question, candidates, seconds)
        found = [
            replace(listed.get(id_, document), score=1.0, embedding=None)
            for id_, document in above.items()
        ]
        in_order = self._in_order(scored)
        found += in_order
        read = {document.id for document in found}
        found += [
            replace(document, score=0.0, embedding=None)
            for document in others
            if document.id not in read
        ]
        if least is not None:
            found = [each for each in found if each.id in above or (each.score or 0.0) >= least]
        took = (time.perf_counter() - started) * 1000
        meta = {"n_candidates": len(candidates), "n_ranked": len(scored), "took_ms": took}
        best = [each for each in in_order if each.meta["ranks"]["reranker"] == 1]
        return {"documents": found[:k], "best": best, "meta": meta}

    @component.output_types(documents=list[Document], best=list[Document], meta=dict[str, Any])
    async def run_async(
        self,
        query: str,
        documents: list[Document],
        pinned: list[Document] | None = None,
        top_k: int | None = None,
        score_threshold: float | None = None,
        time_budget_ms: float | None = None,
    ) -> dict[str, Any]:
        """`run` in a worker thread."""
        return await asyncio.to_thread(
            self.run, query, documents, pinned, top_k, score_threshold, time_budget_ms
        )

    def _in_order(self, scored: list[Scored]) -> list[Document]:
        ranker, _ = self._loaded()
        settings = ranker.settings
        logits = torch.tensor([each.logit for each in scored])
        calibration = settings.calibration if self.calibrated else None
        scores = (calibration or Calibration(1.0, 0.0)).probabilities(logits).tolist()
        ranks = {
            place: rank for rank, place in enumerate(rank_candidates(logits).tolist(), start=1)
        }
        weight = None if self.fuse_with_first_stage is False else settings.fusion_weight
        first_places = [each.candidate.place for each in scored]
        found = []
        for place in rank_candidates(logits, weight, first_places).tolist():
            candidate, _, passage, read = scored[place]
            meta = candidate.document.meta
            meta = {
                **meta,
                "ranks": {**ranks_of(meta), "reranker": ranks[place]},
                "passage": candidate.in_content(passage),
            }
            if not candidate.is_whole(read):
                meta["passages_read"] = [candidate.in_content(each) for each in read]
            document = replace(candidate.document, meta=meta, score=scores[place], embedding=None)
            found.append(document)
        return found

    def _loaded(self) -> tuple[CrossEncoderRanker, PassageChooser | None]:
        if self._models is None:
            models = load_ranker(self.model, self.biencoder, self.device, self.dtype)
            settings = models[0].settings
            for name, asked, there in (
                ("calibrated", self.calibrated, settings.calibration),
                ("fuse_with_first_stage", self.fuse_with_first_stage, settings.fusion_weight),
            ):
                if asked and there is None:
                    raise ModelError(
                        f"StatuteRanker.{name} is true, and {self.model} holds nothing for it: "
                        "training (python -m training.ranker) fits it on dev questions, where it "
                        "has some and the ranker's scores tell answers apart. Set it to false, or "
                        "train with more questions of the split dev."
                    )
            self._models = models
        return self._models


def _checked_threshold(threshold: float | None) -> float | None:
    if threshold is not None and not (is_number(threshold) and 0 <= threshold <= 1):
        raise ValueError(
            f"StatuteRanker.score_threshold must be from 0 to 1, as scores are, got {threshold!r}."
        )
    return threshold


def _checked_fields(names: list[str] | None) -> list[str] | None:
    # A text alone would be read letter by letter.
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise ValueError(f"StatuteRanker.meta_fields must be a list of names, got {names!r}.")
    return names


def _checked_budget(budget: float | None) -> float | None:
    if budget is not None and not (is_number(budget) and 0 < budget < math.inf):
        raise ValueError(f"StatuteRanker.time_budget_ms must be above 0, got {budget!r}.")
    return budget
